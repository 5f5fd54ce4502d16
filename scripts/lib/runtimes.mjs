// Where Node >= 22, Bun and Deno are, and which of them called.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { bin, run } from "./command.mjs";

/** @typedef {"node" | "bun" | "deno"} Runtime */

/** @type {readonly Runtime[]} */
export const runtimes = ["node", "bun", "deno"];

/** What a user calls them. */
export const titles = { node: "Node", bun: "Bun", deno: "Deno" };

/** The oldest Node that runs Errand. */
export const oldestNode = 22;

/** The runtime that this process is. @returns {Runtime} */
export function runningOn() {
  if (process.versions["deno"] !== undefined) return "deno";
  return process.versions["bun"] === undefined ? "node" : "bun";
}

/**
 * The runtime whose user called: `bun run demo` runs a script through Node where there is one, but means Bun.
 * @returns {Runtime}
 */
export function calledBy() {
  const own = runningOn();
  if (own !== "node") return own;
  const agent = process.env["npm_config_user_agent"] ?? "";
  return agent.startsWith("bun/") ? "bun" : agent.startsWith("deno/") ? "deno" : "node";
}

/**
 * The program of a runtime: this very process if it is one, else the one on the PATH (Bun, Deno), else the development
 * dependency. Node is never an older one than 22.
 * @param {Runtime} runtime
 * @returns {string}
 * @throws {Error} when it is nowhere
 */
export function program(runtime) {
  if (runtime === runningOn() && (runtime !== "node" || major(process.versions.node) >= oldestNode))
    return process.execPath;
  const onPath =
    runtime === "node" ? [] : (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, runtime));
  const places = [...onPath, join(bin, runtime)];
  const found = places.find(isProgram);
  if (found === undefined) throw new Error(`${titles[runtime]} is not here: run \`npm ci\`, which brings it.`);
  return found;
}

/**
 * The command that runs a TypeScript or JavaScript file on a runtime, with every permission.
 * @param {Runtime} runtime
 * @param {string} file
 * @param {readonly string[]} [args]
 * @returns {[string, ...string[]]}
 */
export function runFile(runtime, file, args = []) {
  const flags = runtime === "deno" ? ["run", "--allow-all", "--no-check", "--quiet"] : [];
  return [program(runtime), ...flags, file, ...args];
}

/** The version of a runtime, such as `22.23.3`. @param {Runtime} runtime @returns {Promise<string>} */
export async function version(runtime) {
  const { stdout } = await run([program(runtime), "--version"], { minutes: 1 });
  return /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? "?";
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} text a version */
function major(text) {
  return Number(text.split(".")[0]);
}
