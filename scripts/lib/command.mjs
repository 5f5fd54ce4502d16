// Runs other programs for the scripts here. No dependencies: this runs before anything is installed.
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const root = fileURLToPath(new URL("../../", import.meta.url)).replace(/[/\\]$/, "");

/** Where npm, Bun and Deno link the programs of the dependencies. */
export const bin = join(root, "node_modules", ".bin");

/**
 * The environment for a child on this terminal: the dependencies' own programs come first on the PATH.
 * @param {Record<string, string>} [extra]
 * @returns {NodeJS.ProcessEnv}
 */
export function childEnv(extra = {}) {
  return { ...process.env, PATH: [bin, process.env["PATH"] ?? ""].join(delimiter), ...extra };
}

/**
 * The same for a child whose words are read here: without colours.
 * @param {NodeJS.ProcessEnv} [from]
 * @returns {NodeJS.ProcessEnv}
 */
export function plainEnv(from = childEnv()) {
  const { FORCE_COLOR: _, ...env } = from;
  return { ...env, NO_COLOR: "1" };
}

/** The environment without anybody's `node_modules/.bin`: what the machine itself offers. */
export function machineEnv() {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return {
    ...process.env,
    PATH: folders.filter((folder) => !/node_modules[/\\]\.bin[/\\]?$/.test(folder)).join(delimiter),
  };
}

/**
 * @typedef {object} Finished
 * @property {boolean} ok         it ended by itself, with 0
 * @property {number | null} code its exit code; null when a signal or the time limit ended it
 * @property {string} output      what it wrote on stdout and stderr, as it came
 * @property {string} stdout      what it wrote on stdout alone
 * @property {number} seconds     how long it took
 */

/**
 * Runs a program to its end and keeps what it wrote. It never throws: a program that cannot be started has failed.
 * @param {readonly [string, ...string[]]} command
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, minutes?: number, show?: boolean }} [options]
 *   `minutes`: when to kill it and all it started (15); `show`: also pass its output on as it comes
 * @returns {Promise<Finished>}
 */
export function run(command, { cwd = root, env = plainEnv(), minutes = 15, show = false } = {}) {
  const started = performance.now();
  return new Promise((resolve) => {
    const [program, ...args] = command;
    // A group of its own, so that the time limit ends the whole family.
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    let stdout = "";
    /** @type {(isStdout: boolean) => (chunk: string) => void} */
    const keep = (isStdout) => (chunk) => {
      output += chunk;
      if (isStdout) stdout += chunk;
      if (show) process.stdout.write(chunk);
    };
    child.stdout.setEncoding("utf8").on("data", keep(true));
    child.stderr.setEncoding("utf8").on("data", keep(false));
    const limit = setTimeout(() => {
      output += `\n(ended after ${minutes} minutes without finishing)\n`;
      signalFamily(child.pid, "SIGTERM");
      limits.push(setTimeout(() => signalFamily(child.pid, "SIGKILL"), graceMilliseconds));
    }, minutes * 60_000);
    const limits = [limit];
    const forget = endWith(child.pid);
    /** @param {number | null} code */
    const finish = (code) => {
      limits.forEach(clearTimeout);
      forget();
      resolve({ ok: code === 0, code, output, stdout, seconds: (performance.now() - started) / 1000 });
    };
    child.on("error", (error) => {
      output += `${program} could not be started: ${error.message}\n`;
      finish(null);
    });
    child.on("close", finish);
  });
}

/**
 * Runs a program on this terminal, its input and output included, and gives its exit code.
 * @param {readonly [string, ...string[]]} command
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<number>}
 */
export function runHere(command, { cwd = root, env = childEnv() } = {}) {
  return new Promise((resolve) => {
    const [program, ...args] = command;
    const child = spawn(program, args, { cwd, env, stdio: "inherit" });
    // The terminal sends an interrupt to both; this one waits for the other's exit code.
    const wait = () => {};
    process.on("SIGINT", wait);
    child.on("error", (error) => {
      process.stderr.write(`${program} could not be started: ${error.message}\n`);
      resolve(1);
    });
    child.on("close", (code) => {
      process.off("SIGINT", wait);
      resolve(code ?? 1);
    });
  });
}

/**
 * Starts a program that goes on until it is ended.
 * @param {readonly [string, ...string[]]} command
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 */
export function start(command, { cwd = root, env = plainEnv() } = {}) {
  const [program, ...args] = command;
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let output = "";
  let running = true;
  child.stdout.setEncoding("utf8").on("data", (/** @type {string} */ chunk) => (output += chunk));
  child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ chunk) => (output += chunk));
  const forget = endWith(child.pid);
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    const finish = () => {
      running = false;
      forget();
      resolve();
    };
    child.on("error", finish);
    child.on("close", finish);
  });
  return {
    output: () => output,
    running: () => running,
    async end() {
      if (running) signalFamily(child.pid, "SIGKILL");
      await ended;
    },
  };
}

/** How long a program that ran out of time has to end what it started itself. */
const graceMilliseconds = 5_000;

/**
 * @param {number | undefined} pid the program that leads the family
 * @param {NodeJS.Signals} signal
 */
function signalFamily(pid, signal) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended by itself.
  }
}

/** @type {Set<number>} */
const families = new Set();

/**
 * Ends a family of processes with this one: they are not in the terminal's group, so an interrupt does not reach them.
 * @param {number | undefined} pid
 * @returns {() => void} call it once the family has ended
 */
function endWith(pid) {
  if (pid === undefined) return () => {};
  if (families.size === 0) {
    for (const [signal, code] of /** @type {const} */ ([
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ])) {
      if (process.listenerCount(signal) > 0) continue;
      process.once(signal, () => {
        for (const family of families) signalFamily(family, "SIGTERM");
        process.exit(code);
      });
    }
  }
  families.add(pid);
  return () => void families.delete(pid);
}
