// Runs the official conformance suite against test/conformance/server.ts: `npm run conformance [-- --runtime node]`.
//
// `--requirements` runs the fifty server scenarios of a revision in one process, the Tasks extension's ten included.
// Its exit code leaves extensions out and is 0 when nothing ran, so what counts here is what the `checks.json` files
// say: every scenario must show as many successes as it is known to hold.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { bin, childEnv, root, run, start } from "./lib/command.mjs";
import { runFile, runtimes as allRuntimes, titles, version } from "./lib/runtimes.mjs";

/** @typedef {import("./lib/runtimes.mjs").Runtime} Runtime */
/** @typedef {{ id: string, status: string, errorMessage?: string }} Check */
/** @typedef {{ scenario: string, expected: number, passed: number, problems: string[] }} Verdict */

/**
 * @typedef {object} Report
 * @property {string} title
 * @property {Verdict[]} verdicts
 * @property {string} [trouble] why nothing ran at all
 * @property {string} noise what the server wrote besides its ready line
 */

/** The suite's Tasks scenarios and how many checks each holds, its wire-schema check included: 44. */
const taskScenarios = {
  "tasks-lifecycle": 9,
  "tasks-capability-negotiation": 5,
  "tasks-wire-fields": 4,
  "tasks-request-state-removal": 3,
  "tasks-mrtr-input": 4,
  "tasks-request-headers": 5,
  "tasks-dispatch-and-envelope": 9,
  // The suite cannot listen yet and skips its one check itself.
  "tasks-status-notifications": 0,
  "tasks-required-task-error": 3,
  "tasks-mrtr-composition": 2,
};

/** The suite's forty other server scenarios and how many checks each holds. */
const otherScenarios = {
  "server-stateless": 30,
  "completion-complete": 2,
  "tools-list": 4,
  "tools-call-simple-text": 2,
  "tools-call-image": 2,
  "tools-call-audio": 2,
  "tools-call-embedded-resource": 2,
  "tools-call-mixed-content": 2,
  "tools-call-error": 2,
  "tools-call-with-progress": 2,
  "json-schema-2020-12": 8,
  "server-sse-multiple-streams": 1,
  "resources-list": 2,
  "resources-read-text": 2,
  "resources-read-binary": 2,
  "resources-templates-read": 2,
  "sep-2164-resource-not-found": 4,
  "prompts-list": 2,
  "prompts-get-simple": 2,
  "prompts-get-with-args": 2,
  "prompts-get-embedded-resource": 2,
  "prompts-get-with-image": 2,
  "dns-rebinding-protection": 2,
  caching: 8,
  "http-header-validation": 14,
  "http-custom-header-server-validation": 10,
  "input-required-result-basic-elicitation": 3,
  "input-required-result-basic-sampling": 3,
  "input-required-result-basic-list-roots": 3,
  "input-required-result-request-state": 3,
  "input-required-result-multiple-input-requests": 3,
  "input-required-result-multi-round": 4,
  "input-required-result-missing-input-response": 2,
  "input-required-result-non-tool-request": 3,
  "input-required-result-result-type": 2,
  "input-required-result-unsupported-methods": 2,
  "input-required-result-tampered-state": 2,
  "input-required-result-capability-check": 2,
  "input-required-result-ignore-extra-params": 2,
  "input-required-result-validate-input": 3,
};

const scenarios = { ...taskScenarios, ...otherScenarios };

/** The revision whose scenarios are run, over its wire. */
const revision = "2026-07-28";

const suite = join(root, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");

/**
 * Runs the whole suite on each runtime, side by side (it mostly waits), and prints what it found.
 * @param {readonly Runtime[]} runtimes
 * @returns {Promise<number>} how many checks failed; one that was not made counts as failed
 */
async function runConformance(runtimes) {
  const reports = await Promise.all(runtimes.map(judge));
  process.stdout.write(reports.map(table).join("\n\n"));
  const verdicts = reports.flatMap((report) => report.verdicts);
  const passed = sum(verdicts, (verdict) => verdict.passed);
  const failed = sum(verdicts, failures);
  process.stdout.write(`\n\n${passed} checks passed, ${failed} failed.\n`);
  return failed;
}

/**
 * Starts the server on one runtime, runs every scenario against it, and reads the results.
 * @param {Runtime} runtime
 * @returns {Promise<Report>}
 */
async function judge(runtime) {
  const started = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "errand-conformance-"));
  const env = childEnv({ NO_COLOR: "1", FORCE_COLOR: "0", PORT: "0" });
  const server = start(runFile(runtime, join(root, "test", "conformance", "server.ts")), { env });
  try {
    const url = await urlOf(server);
    const output = url === undefined ? server.output() : await runSuite(url, folder);
    const results = await readResults(folder);
    const verdicts = Object.entries(scenarios).map(([scenario, expected]) =>
      verdictOn(scenario, expected, results.get(scenario), output),
    );
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const title = `${titles[runtime]} ${await version(runtime)} (${seconds} s)`;
    // A host logs nothing by itself: what else the server wrote is shown.
    const noise = server.output().replace(/^listening on .*$/m, "").trim();
    return { title, verdicts, noise, ...(results.size === 0 && { trouble: output }) };
  } finally {
    await server.end();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The address in the server's ready line; undefined when there is none within half a minute.
 * @param {ReturnType<typeof start>} server
 * @returns {Promise<string | undefined>}
 */
async function urlOf(server) {
  const limit = performance.now() + 30_000;
  while (server.running() && performance.now() < limit) {
    const url = /listening on (\S+)/.exec(server.output())?.[1];
    if (url !== undefined) return url;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return undefined;
}

/**
 * Runs the suite, which does not start on Node 20, on Bun.
 * @param {string} url
 * @param {string} folder where the results go
 * @returns {Promise<string>} what it wrote
 */
async function runSuite(url, folder) {
  const options = ["--url", url, "--output-dir", folder, "--requirements", revision];
  const { output } = await run([join(bin, "bun"), suite, "server", ...options], { minutes: 5 });
  return output;
}

/**
 * Reads `server-<scenario>-<time>/checks.json` of every scenario that ran.
 * @param {string} folder
 * @returns {Promise<Map<string, Check[]>>}
 */
async function readResults(folder) {
  /** @type {Map<string, Check[]>} */
  const results = new Map();
  for (const name of await readdir(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d{2}-\d{2}T/.exec(name)?.[1];
    if (scenario === undefined) continue;
    // A harness that was ended makes the folder and not the file: that scenario did not run.
    const text = await readFile(join(folder, name, "checks.json"), "utf8").catch(() => undefined);
    if (text !== undefined) results.set(scenario, JSON.parse(text));
  }
  return results;
}

/**
 * @param {string} scenario
 * @param {number} expected
 * @param {Check[] | undefined} checks undefined when the scenario did not run to its end
 * @param {string} output the suite's, which then says why
 * @returns {Verdict}
 */
function verdictOn(scenario, expected, checks, output) {
  if (checks === undefined || checks.length === 0) {
    const why = output.split(`Failed to run scenario ${scenario}:`)[1]?.split("\n")[0] ?? "";
    return { scenario, expected, passed: 0, problems: [`did not run:${why}`.replace(/:$/, "")] };
  }
  const passed = checks.filter(({ status }) => status === "SUCCESS").length;
  // A warning is a SHOULD that does not hold: this server holds them all.
  const problems = checks
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .map(({ id, status, errorMessage = "no message" }) => `${status} ${id}: ${errorMessage}`);
  if (passed < expected && problems.length === 0) problems.push(`${expected - passed} of its checks were not made`);
  return { scenario, expected, passed, problems };
}

/** How many checks of a scenario failed or are missing. @param {Verdict} verdict */
function failures({ expected, passed, problems }) {
  return Math.max(expected - passed, problems.length);
}

/**
 * One line for each Tasks scenario, for every other that failed, and for the two kinds together.
 * @param {Report} report
 */
function table({ title, verdicts, trouble, noise }) {
  if (trouble !== undefined) return `${title}\n  nothing ran:\n${indented(trouble)}`;
  const isTask = (/** @type {Verdict} */ { scenario }) => scenario in taskScenarios;
  const tasks = verdicts.filter(isTask);
  const others = verdicts.filter((verdict) => !isTask(verdict));
  const shown = [
    ...tasks,
    total(`${tasks.length} Tasks scenarios`, tasks),
    ...others.filter((verdict) => failures(verdict) > 0),
    total(`${others.length} other scenarios at ${revision}`, others),
  ];
  const said = noise === "" ? [] : ["  the server wrote:", indented(noise)];
  return [title, ...shown.flatMap(linesOf), ...said].join("\n");
}

/** @param {string} text */
function indented(text) {
  return text.trim().replaceAll(/^/gm, "    ");
}

/** @param {Verdict} verdict @returns {string[]} */
function linesOf({ scenario, expected, passed, problems }) {
  const pair = `${String(passed).padStart(3)} of ${String(expected).padStart(3)}`;
  const count = expected === 0 ? "skipped by the suite" : pair;
  return [`  ${scenario.padEnd(42)} ${count}`, ...problems.map((problem) => `    ${problem}`)];
}

/**
 * @param {string} scenario
 * @param {Verdict[]} verdicts
 * @returns {Verdict}
 */
function total(scenario, verdicts) {
  const expected = sum(verdicts, (verdict) => verdict.expected);
  return { scenario, expected, passed: sum(verdicts, (verdict) => verdict.passed), problems: [] };
}

/**
 * @template Item
 * @param {readonly Item[]} items
 * @param {(item: Item) => number} value
 */
function sum(items, value) {
  return items.reduce((so, item) => so + value(item), 0);
}

async function main() {
  const { values } = parseArgs({ options: { runtime: { type: "string", multiple: true } } });
  const unknown = values.runtime?.find((name) => !(/** @type {readonly string[]} */ (allRuntimes).includes(name)));
  if (unknown !== undefined) {
    process.stderr.write(`There is no runtime ${unknown}: --runtime takes ${allRuntimes.join(", ")}.\n`);
    return 2;
  }
  const failed = await runConformance(/** @type {Runtime[] | undefined} */ (values.runtime) ?? allRuntimes);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
