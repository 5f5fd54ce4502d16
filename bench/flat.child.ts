// Holds a number of live tasks and times operations among them: `flat.ts` starts it once for each number.
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import type { Tool } from "../src/run/runner.ts";
import { Parts } from "../src/server/parts.ts";
import { makeCall } from "../src/server/sdk.ts";
import type { TaskRecord } from "../src/task/task.ts";
import { toDetailedTask } from "../src/wire/2026-07-28.ts";
import { answerCommands } from "./lib/commands.ts";
import { median } from "./lib/statistics.ts";

const live = Number(process.argv[2]);
const parts = new Parts({ limits: { tasks: Number.POSITIVE_INFINITY } });
const { registry, runner, dispatcher } = parts;
const tool: Tool = {
  name: "work",
  policy: "required",
  outputSchema: undefined,
  handler: (_input, task) => task.external(),
};
const question = {
  method: "elicitation/create",
  params: { mode: "url", message: "Go on?", url: "https://a.example" },
} as const;
const answer = { action: "accept" };

async function create(): Promise<string> {
  const made = await runner.call(
    tool,
    {},
    makeCall({
      principal: undefined,
      capabilities: { elicitation: { url: {} } },
      tasks: true,
      arguments: { id: 1 },
      signal: undefined,
      notifyProgress: undefined,
    }),
  );
  if (made.kind !== "task") throw new Error(`The call gave ${made.kind}.`);
  return made.record.taskId;
}

/** Does something for each of the tasks, and gives the microseconds it took for one. */
async function time(taskIds: readonly string[], work: (taskId: string) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (const taskId of taskIds) await work(taskId);
  return ((performance.now() - start) * 1_000) / taskIds.length;
}

await answerCommands({
  async measure({ operations, rounds }: { operations: number; rounds: number }) {
    const held: string[] = [];
    for (let index = 0; index < live; index += 1) held.push(await create());
    const some = () => Array.from({ length: operations }, () => held[Math.floor(Math.random() * live)] ?? "");
    const fresh = () => Promise.all(Array.from({ length: operations }, create));

    /** The peer: the same records in a bare Map. What this loses among many is the memory's, not Errand's. */
    const bare = new Map<string, TaskRecord>();
    for (const taskId of held) {
      const record = await registry.find(taskId);
      if (record !== undefined) bare.set(taskId, structuredClone(record));
    }

    const times: Record<"get" | "get from a bare Map" | "update" | "cancel" | "create + complete", number[]> = {
      get: [],
      "get from a bare Map": [],
      update: [],
      cancel: [],
      "create + complete": [],
    };
    for (let round = 0; round < rounds; round += 1) {
      times.get.push(await time(some(), (taskId) => dispatcher.get(taskId, undefined)));
      times["get from a bare Map"].push(
        await time(some(), async (taskId) => {
          const record = bare.get(taskId);
          return record === undefined ? undefined : toDetailedTask(record, Date.now());
        }),
      );

      const asked = [...new Set(some())];
      const keys = new Map<string, string>();
      // Each resolves with its answer, below.
      for (const taskId of asked) void parts.task(taskId).ask(question);
      // Asking, with the store in memory, is done within a turn of the event loop.
      await setImmediate();
      for (const taskId of asked) {
        const task = await dispatcher.get(taskId, undefined);
        if (task.status === "input_required") keys.set(taskId, Object.keys(task.inputRequests)[0] ?? "");
      }
      if (keys.size !== asked.length) throw new Error("A question is not there.");
      times.update.push(
        await time(asked, (taskId) => dispatcher.update(taskId, undefined, { [keys.get(taskId) ?? ""]: answer })),
      );

      times.cancel.push(await time(await fresh(), (taskId) => dispatcher.cancel(taskId, undefined)));

      const none = Array.from({ length: operations }, () => "");
      times["create + complete"].push(await time(none, async () => parts.task(await create()).complete("done")));
    }
    return Object.fromEntries(Object.entries(times).map(([operation, each]) => [operation, median(each)]));
  },
});
