// The launcher behind `npm run demo|test|conformance|bench|build` and their twins on Bun and Deno. It installs what the
// lock file says when that is not there, then runs. It works on Node >= 20, Bun and Deno, and needs nothing installed.
import process from "node:process";
import { build } from "./lib/build.mjs";
import { runHere } from "./lib/command.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { calledBy, runFile } from "./lib/runtimes.mjs";
import { test } from "./lib/test.mjs";

/** @type {Record<string, (args: string[]) => Promise<number>>} */
const commands = {
  demo: (args) => runHere(runFile(calledBy(), "examples/demo.ts", args)),
  bench: (args) => runHere(runFile(calledBy(), "bench/main.ts", args)),
  conformance: (args) => runHere(runFile("node", "scripts/conformance.mjs", args)),
  test,
  async build() {
    const { ok, output } = await build();
    process.stdout.write(output);
    return ok ? 0 : 1;
  },
};

const [name = "", ...args] = process.argv.slice(2);
const command = commands[name];
if (command === undefined) {
  process.stderr.write(`run.mjs knows ${Object.keys(commands).join(", ")}; not "${name}".\n`);
  process.exitCode = 2;
} else if (await ensureInstalled()) {
  // Deno passes the `--` before a script's arguments on; npm and Bun do not.
  process.exitCode = await command(args[0] === "--" ? args.slice(1) : args);
} else {
  process.exitCode = 1;
}
