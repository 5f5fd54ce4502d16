// Makes many tasks that live and do nothing, in one of several ways, and weighs them: `heap.ts` starts it for each.
import process from "node:process";
import { assign, createActor, setup } from "xstate";
import type { Runner, Tool } from "../src/run/runner.ts";
import { createHost } from "../src/server/mod.ts";
import { Parts } from "../src/server/parts.ts";
import { makeCall } from "../src/server/sdk.ts";
import { answerCommands } from "./lib/commands.ts";
import { usedHeap } from "./lib/memory.ts";
import { callTool, toRequest } from "./lib/requests.ts";

type Make = (index: number) => Promise<void>;

const unlimited = { tasks: Number.POSITIVE_INFINITY, running: Number.POSITIVE_INFINITY };

/** What the waiting handlers wait for. It never comes. */
const never = new Promise<void>(() => {});
const wait = async () => {
  await never;
  return "done";
};

/** A task of a tool, without the SDK's part of the call. */
function taskOf(runner: Runner, handler: Tool["handler"]): Make {
  const tool: Tool = { name: "work", policy: "required", outputSchema: undefined, handler };
  const capabilities = {};
  return async (index) => {
    const call = makeCall({
      principal: undefined,
      capabilities,
      tasks: true,
      arguments: { id: index },
      signal: undefined,
      notifyProgress: undefined,
    });
    const answer = await runner.call(tool, call.arguments, call);
    if (answer.kind !== "task") throw new Error(`The call gave ${answer.kind}.`);
  };
}

const ways: Record<string, () => Make> = {
  handler: () => taskOf(new Parts({ limits: unlimited }).runner, wait),
  external: () => taskOf(new Parts({ limits: unlimited }).runner, (_input, task) => task.external()),
  requests() {
    const host = createHost({ name: "bench", version: "1.0.0", limits: unlimited });
    host.tool("work", { task: "required" }, wait);
    return async (index) => {
      const response = await host.fetch(toRequest(callTool("work", { id: index }, index)));
      const text = await response.text();
      if (!text.includes('"resultType":"task"')) throw new Error(`The call gave ${text}`);
    };
  },
  /** The peer: an actor of the smallest machine that has a context and an end. */
  xstate() {
    const machine = setup({
      types: { context: {} as { id: number; result: string }, events: {} as { type: "complete" } },
    }).createMachine({
      context: { id: 0, result: "" },
      initial: "working",
      states: {
        working: { on: { complete: { target: "completed", actions: assign({ result: "done" }) } } },
        completed: { type: "final" },
      },
    });
    const actors = new Map<number, unknown>();
    return async (index) => {
      const actor = createActor(machine);
      actor.start();
      actors.set(index, actor);
    };
  },
};

const make = ways[process.argv[2] ?? ""]?.();
if (make === undefined) throw new Error(`The ways are ${Object.keys(ways).join(", ")}.`);
let made = 0;
const several = async (tasks: number) => {
  for (let index = 0; index < tasks; index += 1) await make((made += 1));
};

await answerCommands({
  async make({ tasks }: { tasks: number }) {
    // What is made once, by the first tasks, is no task's weight.
    await several(Math.min(tasks, 1_000));
    const before = await usedHeap();
    const start = performance.now();
    await several(tasks);
    const perSecond = (tasks * 1_000) / (performance.now() - start);
    return { bytes: ((await usedHeap()) - before) / tasks, perSecond };
  },
});
