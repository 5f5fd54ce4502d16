// A client that follows many tasks at once on one connection, in one of several ways: `follow.ts` starts it for each.
import process from "node:process";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import type { FollowMode } from "../src/client/mod.ts";
import { createTaskClient } from "../src/client/mod.ts";
import { answerCommands, cpu } from "./lib/commands.ts";
import { openSession } from "./lib/ext-tasks.ts";
import { usedHeap } from "./lib/memory.ts";
import { now } from "./lib/time.ts";

/** Calls the tool and resolves once that is a task, with what resolves to its result's text. */
type Begin = () => Promise<{ text: Promise<string> }>;

function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]?.text ?? "";
}

async function errand(url: string, mode: FollowMode): Promise<Begin> {
  const client = createTaskClient(url, { mode, timeoutMs: Number.POSITIVE_INFINITY });
  await client.connect();
  return async () => {
    const pending = client.beginCallTool({ name: "wait" });
    await pending.created;
    return { text: pending.result().then(textOf) };
  };
}

async function extTasks(url: string): Promise<Begin> {
  const session = await openSession(url);
  return async () => {
    const execution = await session.callTool("wait");
    if (execution.kind !== "task") throw new Error("The call was answered at once.");
    return { text: execution.settle().then(({ outcome }) => textOf(resultFromTaskOutcome(outcome))) };
  };
}

/** An error with what caused it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${reasonOf(error.cause)}`;
}

const way = process.argv[2] ?? "";
let begin: Begin;
/** From a task's last line to its result here, in milliseconds. */
let delays: Promise<number>[] = [];
/** Bytes that were in use before the tasks were there. */
let idleHeap = 0;

await answerCommands({
  cpu,

  async connect({ url }: { url: string }) {
    begin = await (way === "ext-tasks" ? extTasks(url) : errand(url, way as FollowMode));
  },

  /** Makes and follows tasks, so many calls at a time. */
  async follow({ tasks, calls }: { tasks: number; calls: number }) {
    idleHeap = await usedHeap();
    delays = [];
    let left = tasks;
    const callAgain = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const { text } = await begin();
        const delay = text.then((said) => now() - Number(said.replace("at ", "")));
        delay.catch(() => {}); // `collect` tells of it.
        delays.push(delay);
      }
    };
    await Promise.all(Array.from({ length: calls }, callAgain));
  },

  /** What a task that is followed weighs, in bytes. */
  weigh: async () => ((await usedHeap()) - idleHeap) / delays.length,

  /** Waits for every result, and gives each delay, and why the tasks that have none were given up. */
  async collect() {
    const settled = await Promise.allSettled(delays);
    return {
      delays: settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
      lost: settled.flatMap((one) => (one.status === "rejected" ? [reasonOf(one.reason)] : [])),
    };
  },
});
