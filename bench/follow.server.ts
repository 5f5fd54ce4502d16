// The server whose tasks `follow.ts` has clients follow: its tool `wait` ends when told to. It counts what it is asked.
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { createHost, serve } from "../src/server/mod.ts";
import { answerCommands } from "./lib/commands.ts";
import { now } from "./lib/time.ts";

/** The work of the tasks that were called for and have not ended. */
const waiting: (() => void)[] = [];
/** How many requests came, by method. */
let requests: Record<string, number> = {};

const many = Number.POSITIVE_INFINITY;
const host = createHost({
  name: "bench",
  version: "1.0.0",
  pollIntervalMs: Number(process.argv[2]),
  limits: { tasks: many, tasksPerPrincipal: many, running: many },
}).tool("wait", { task: "required" }, async () => {
  await new Promise<void>((resolve) => waiting.push(resolve));
  return `at ${now()}`;
});

const { url } = await serve(
  {
    path: host.path,
    fetch(request, info) {
      const method = request.headers.get("mcp-method") ?? "other";
      requests[method] = (requests[method] ?? 0) + 1;
      return host.fetch(request, info);
    },
  },
  { port: 0 },
);

await answerCommands({
  start: () => url,
  /** What was asked since the last time. */
  asked() {
    const counted = requests;
    requests = {};
    return counted;
  },
  /** Ends the tasks that wait, in no order, some at a time so that it takes `overMs` milliseconds. */
  async finish({ overMs }: { overMs: number }) {
    const ending = waiting
      .splice(0)
      .map((end) => ({ end, at: Math.random() }))
      .toSorted((a, b) => a.at - b.at);
    const start = performance.now();
    for (let ended = 0; ended < ending.length; ) {
      const due = Math.ceil(((performance.now() - start) / overMs) * ending.length);
      for (; ended < Math.min(due, ending.length); ended += 1) ending[ended]?.end();
      await setTimeout(1);
    }
  },
});
