// Brings `node_modules` to what `package-lock.json` says, when it is not.
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bin, machineEnv, root, run } from "./command.mjs";
import { program, runFile, runningOn } from "./runtimes.mjs";

const modules = join(root, "node_modules");
/** What npm itself wrote down of its last install. */
const installedLock = join(modules, ".package-lock.json");
/** The hash of the lock file that was last installed from here, with whichever installer. */
const stamp = join(modules, ".errand-lock");

/**
 * Installs from the lock file unless that is already done.
 * @returns {Promise<boolean>} whether `node_modules` is as the lock file says
 */
export async function ensureInstalled() {
  if (isInstalled()) return true;
  const how = await installer();
  process.stderr.write(`Installing what the lock file says, with ${how.name}: once, about 500 MB …\n`);
  const done = await run(how.command, { env: machineEnv() });
  if (!done.ok) {
    process.stderr.write(`${done.output}\nThe install failed: \`${how.command.join(" ")}\`.\n`);
    return false;
  }
  await how.complete();
  writeFileSync(stamp, lockHash());
  return true;
}

/** Whether `node_modules` is as the lock file says. */
export function isInstalled() {
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lockHash()) return true;
  if (!existsSync(installedLock)) return false;
  const present = packagesOf(installedLock);
  return Object.entries(packagesOf(join(root, "package-lock.json"))).every(([path, { version, optional }]) => {
    const there = present[path];
    // An optional package is one for another platform when it is not there.
    return path === "" || (there === undefined ? optional === true : there.version === version);
  });
}

function lockHash() {
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
}

/**
 * @param {string} file a lock file of npm
 * @returns {Record<string, { version?: string, optional?: boolean }>}
 */
function packagesOf(file) {
  return JSON.parse(readFileSync(file, "utf8")).packages ?? {};
}

/**
 * npm where there is one, as the lock file is its own; else Bun, which reads that file too; else Deno, which has only
 * package.json's exact versions.
 * @returns {Promise<{ name: string, command: [string, ...string[]], complete: () => Promise<void> }>}
 */
async function installer() {
  if ((await run(["npm", "--version"], { env: machineEnv() })).ok) {
    return { name: "npm", command: ["npm", "ci", "--no-audit", "--no-fund"], complete: async () => {} };
  }
  if (runningOn() === "bun") {
    const bun = program("bun");
    return { name: "Bun", command: [bun, "install", "--frozen-lockfile"], complete: () => bringNode(bun) };
  }
  const deno = program("deno");
  return {
    name: "Deno",
    command: [deno, "install"],
    async complete() {
      await bringNode(deno);
      // Deno would run the packages' install scripts with the Node that only now is there.
      await run(runFile("deno", "install.js"), { cwd: realpathSync(join(modules, "bun")), env: machineEnv() });
      // A task of Deno's finds its own name among the dependencies' programs first.
      rmSync(join(bin, "deno"), { force: true });
      symlinkSync(deno, join(bin, "deno"));
    },
  };
}

/**
 * The npm package `node` fetches its program with npm. Without npm, that program's own package is installed aside and
 * the program put where npm would have linked it.
 * @param {string} installerProgram Bun or Deno
 */
async function bringNode(installerProgram) {
  const { version } = JSON.parse(readFileSync(join(modules, "node", "package.json"), "utf8"));
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const aside = mkdtempSync(join(tmpdir(), "errand-node-"));
  try {
    writeFileSync(join(aside, "package.json"), JSON.stringify({ dependencies: { [name]: version } }));
    const done = await run([installerProgram, "install"], { cwd: aside, env: machineEnv() });
    const from = join(aside, "node_modules", name, "bin", "node");
    if (!done.ok || !existsSync(from)) {
      process.stderr.write(`${done.output}\nNode ${version} could not be brought: what needs it will say so.\n`);
      return;
    }
    rmSync(join(bin, "node"), { force: true });
    copyFileSync(from, join(bin, "node"));
    chmodSync(join(bin, "node"), 0o755);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}
