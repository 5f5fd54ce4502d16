// `npm test`: every check there is, each counted, two at a time at most.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { root, run } from "./command.mjs";
import { program, runFile, runtimes, titles, version } from "./runtimes.mjs";
import { bunCount, denoCount, lineCount, nodeCount, settle } from "./summary.mjs";

/** @typedef {import("./runtimes.mjs").Runtime} Runtime */
/** @typedef {import("./summary.mjs").Count} Count */
/** @typedef {{ name: string, run: () => Promise<Count & { output: string, seconds: number }> }} Step */

const kinds = /** @type {const} */ (["check", "unit", "conformance", "pack"]);

/** Milliseconds one test may take, on the runners that can be told. */
const testLimit = 120_000;

const usage = `npm test -- [--only check|unit|conformance|pack]… [--runtime node|bun|deno]… [--verbose]
            [part of a test file's path]…`;

/**
 * Runs the checks and prints a line for each, what a failed one wrote, and at the end `N passed, N failed`.
 * @param {string[]} args
 * @returns {Promise<number>} the exit code
 */
export async function test(args) {
  const chosen = choose(args);
  if (chosen === undefined) {
    process.stderr.write(`${usage}\n`);
    return 2;
  }
  const { only, on, parts, verbose } = chosen;
  const scratch = mkdtempSync(join(tmpdir(), "errand-test-"));
  let passed = 0;
  let failed = 0;
  /** @param {Step[]} steps */
  const doAll = (steps) =>
    inTwos(steps, async (step) => {
      const result = await step.run();
      passed += result.passed;
      failed += result.failed;
      report(step.name, result, verbose);
    });
  try {
    if (only.has("check")) await doAll(checks);
    if (only.has("check") || only.has("pack")) await doAll([{ name: "build", run: () => single(build()) }]);
    await doAll([
      ...(only.has("unit") ? on.map((runtime) => suite(runtime, testFiles(parts), scratch)) : []),
      ...(only.has("pack") ? [script("packed tarball", "scripts/pack-test.mjs", runtimeArgs(on))] : []),
    ]);
    // It starts a server and a harness for each scenario: it has the machine for itself.
    if (only.has("conformance")) await doAll([script("conformance", "scripts/conformance.mjs", runtimeArgs(on))]);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

/** @type {Step[]} */
const checks = [
  { name: "type check", run: () => single(run(["tsc", "-p", "tsconfig.json"])) },
  { name: "lint", run: () => single(run(["oxlint", "--format=unix"])) },
  { name: "import rules", run: () => single(run(runFile("node", "scripts/check-imports.mjs"))) },
];

/**
 * The one suite on one runtime.
 * @param {Runtime} runtime
 * @param {string[]} files
 * @param {string} scratch a folder for a runner's report
 * @returns {Step}
 */
function suite(runtime, files, scratch) {
  return {
    name: `suite on ${titles[runtime]}`,
    async run() {
      const junit = join(scratch, `${runtime}.xml`);
      /** @type {Record<Runtime, string[]>} */
      const flags = {
        node: ["--test", "--test-reporter=spec", `--test-timeout=${testLimit}`],
        bun: ["test", `--timeout=${testLimit}`],
        deno: ["test", "--allow-all", "--no-check", "--quiet", `--junit-path=${junit}`],
      };
      const { ok, output, seconds } = await run([
        program(runtime),
        ...flags[runtime],
        ...files.map((file) => `./${file}`),
      ]);
      const count = {
        node: () => nodeCount(output),
        bun: () => bunCount(output),
        deno: () => (existsSync(junit) ? denoCount(readFileSync(junit, "utf8")) : undefined),
      }[runtime]();
      return { ...settle(count, ok), output: `${titles[runtime]} ${await version(runtime)}\n${output}`, seconds };
    },
  };
}

/**
 * A script of its own, whose last line is its count.
 * @param {string} name
 * @param {string} file
 * @param {string[]} args
 * @returns {Step}
 */
function script(name, file, args) {
  return {
    name,
    async run() {
      const { ok, output, stdout, seconds } = await run(runFile("node", file, args), { minutes: 30 });
      return { ...settle(lineCount(stdout), ok), output, seconds };
    },
  };
}

/**
 * A command that is one check.
 * @param {Promise<import("./command.mjs").Finished>} finished
 * @returns {Promise<Count & { output: string, seconds: number }>}
 */
async function single(finished) {
  const { ok, output, seconds } = await finished;
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, output, seconds };
}

/**
 * @param {string[]} args
 * @returns {{ only: Set<string>, on: Runtime[], parts: string[], verbose: boolean } | undefined}
 *   undefined when they are not what `usage` says
 */
function choose(args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        only: { type: "string", multiple: true, default: [] },
        runtime: { type: "string", multiple: true, default: [] },
        verbose: { type: "boolean", default: false },
      },
    });
    const only = values.only.flatMap((value) => value.split(","));
    const on = values.runtime.flatMap((value) => value.split(","));
    const isKnown =
      only.every((kind) => kinds.some((one) => one === kind)) &&
      on.every((name) => runtimes.some((one) => one === name));
    if (!isKnown) return undefined;
    return {
      // Naming a test file means the suite alone.
      only: new Set(only.length > 0 ? only : positionals.length > 0 ? ["unit"] : kinds),
      on: runtimes.filter((runtime) => on.length === 0 || on.includes(runtime)),
      parts: positionals,
      verbose: values.verbose,
    };
  } catch {
    return undefined;
  }
}

/** @param {Runtime[]} on */
function runtimeArgs(on) {
  return on.length === runtimes.length ? [] : on.flatMap((runtime) => ["--runtime", runtime]);
}

/**
 * The suite's files, the same for every runner.
 * @param {string[]} parts only the files with one of these in their path, if there are any
 * @returns {string[]} from the root, with `/`
 */
function testFiles(parts) {
  return readdirSync(join(root, "test"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
    .toSorted();
}

/**
 * Does the work of all items in their order, two at a time: this is meant to run on two cores.
 * @template Item
 * @param {Item[]} items
 * @param {(item: Item) => Promise<void>} work
 */
async function inTwos(items, work) {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all([worker(), worker()]);
}

/**
 * @param {string} name
 * @param {Count & { output: string, seconds: number }} result
 * @param {boolean} verbose also show what a good one wrote
 */
function report(name, { passed, failed, note, output, seconds }, verbose) {
  const counts =
    failed === 0 ? `${passed} passed` : `${passed} passed, ${failed} failed${note === undefined ? "" : ` (${note})`}`;
  const line = `${failed === 0 ? "ok  " : "FAIL"}  ${name.padEnd(16)}  ${counts}  (${seconds.toFixed(1)} s)\n`;
  process.stdout.write(failed > 0 || verbose ? `${indent(output)}${line}` : line);
}

/** Moves what another wrote to the right: none of its lines shall be taken for one of ours. @param {string} text */
function indent(text) {
  return text.replace(/^(?=.)/gm, "    ").replace(/\n*$/, "\n");
}
