// npm run bench -- [--json] [--quick] [--runtime node|bun|deno|all]… [part of a measurement's name]…
import { availableParallelism, cpus } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { calledBy, runtimes, titles, version } from "../scripts/lib/runtimes.mjs";
import { flat } from "./flat.ts";
import { follow } from "./follow.ts";
import { heap } from "./heap.ts";
import type { Report } from "./lib/report.ts";
import { format } from "./lib/report.ts";
import { listen } from "./listen.ts";
import { sizes } from "./sizes.ts";
import { tasksGet } from "./tasks-get.ts";
import { toolCall } from "./tool-call.ts";

const measurements = { "tasks-get": tasksGet, heap, flat, "tool-call": toolCall, listen, follow };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    /** For the test that this runs. */
    tiny: { type: "boolean", default: false },
    runtime: { type: "string", multiple: true, default: [calledBy()] },
  },
});
const size = sizes[values.tiny ? "tiny" : values.quick ? "quick" : "full"];
const chosenRuntimes = runtimes.filter((name) => values.runtime.includes(name) || values.runtime.includes("all"));
const chosen = Object.entries(measurements).filter(
  ([name]) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
);
if (chosenRuntimes.length === 0 || chosen.length === 0) {
  process.stderr.write(
    `The runtimes are ${runtimes.join(", ")} and all; the measurements ${Object.keys(measurements).join(", ")}.\n`,
  );
  process.exit(2);
}

const say = (text: string) => {
  if (!values.json) process.stdout.write(`${text}\n`);
};

const results: { runtime: string; version: string; reports: Report[] }[] = [];
for (const runtime of chosenRuntimes) {
  const result = { runtime, version: await version(runtime), reports: [] as Report[] };
  results.push(result);
  const processor = cpus()[0]?.model ?? "unknown processor";
  say(`${titles[runtime]} ${result.version} on ${availableParallelism()} × ${processor}\n`);
  for (const [, measure] of chosen) {
    const report = await measure(runtime, size);
    result.reports.push(report);
    say(`${format(report)}\n`);
  }
}
if (values.json) process.stdout.write(`${JSON.stringify(results, undefined, 2)}\n`);
