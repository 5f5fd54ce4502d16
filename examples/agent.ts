// An agent that runs three long tools side by side, shows how each is doing, answers what one of them asks, and goes on
// where it was after a restart half-way. Its tools are served here too, over HTTP, as if they were elsewhere.
//
//   node examples/agent.ts [folder]

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { CallParams, Outcome, TaskClient, TaskContext } from "../src/mod.ts";
import { createHost, createRegistry, createTaskClient, serve } from "../src/mod.ts";
import { Board } from "./support/board.ts";
import { find } from "./support/survey.ts";
import { bold, dim } from "./support/terminal.ts";

const folder = resolve(process.argv[2] ?? fileURLToPath(new URL("../node_modules", import.meta.url)));

// ---- The tools

const host = createHost({ name: "audit", version: "1.0.0", onError: (error) => console.error(error) });
const tool = { inputSchema: z.object({ folder: z.string() }), task: "required" } as const;

host.tool("count_lines", tool, async (input, task) => {
  let lines = 0;
  await read(input.folder, /\.[cm]?[jt]s$/, task, (content) => (lines += content.toString().split("\n").length));
  return `${lines} lines of code`;
});

host.tool("fingerprint", tool, async (input, task) => {
  const hashes: string[] = [];
  await read(input.folder, /./, task, (content) => hashes.push(createHash("sha256").update(content).digest("hex")));
  return `SHA-256 ${createHash("sha256").update(hashes.toSorted().join("")).digest("hex").slice(0, 16)}… of ${hashes.length} files`;
});

host.tool("licences", tool, async (input, task) => {
  const counts = new Map<string, number>();
  await read(input.folder, /[\\/]package\.json$/, task, (content) => {
    const licence = /"license"\s*:\s*"([^"]+)"/.exec(content.toString())?.[1] ?? "none";
    counts.set(licence, (counts.get(licence) ?? 0) + 1);
  });
  if (counts.size === 0) return "no licences";
  const { all } = await task.elicit(`${counts.size} licences are named. List all?`, z.object({ all: z.boolean() }));
  const listed = [...counts].toSorted(([, one], [, other]) => other - one).slice(0, all ? counts.size : 3);
  return listed.map(([licence, count]) => `${count} × ${licence}`).join(", ");
});

/** Hands the files under a folder whose paths fit to `use`, one after the other, and tells how far it is. */
async function read(folder: string, fits: RegExp, task: TaskContext, use: (content: Buffer) => void): Promise<void> {
  const { files } = await find([folder], { readHidden: true, signal: task.signal });
  const wanted = files.filter((path) => fits.test(path));
  for (const [at, path] of wanted.entries()) {
    await task.step(path, async () => use(await readFile(path)));
    task.progress(at + 1, wanted.length, "reading");
  }
}

const served = await serve(host, { port: 0 });

// ---- The agent

type Turn = { readonly calls: readonly CallParams[] } | { readonly say: string };

/** Stands in for a model: three calls at first, and when it has their results, an answer made of them. */
function decide(results: readonly string[]): Turn {
  if (results.length > 0) return { say: `${basename(folder)} has ${results.join("; ")}.` };
  return { calls: ["count_lines", "fingerprint", "licences"].map((name) => ({ name, arguments: { folder } })) };
}

const board = new Board();
// One place that hears of every task, whichever client waits for it.
const registry = createRegistry();
registry.watch(({ tool = "", task }) => board.show(tool, task.status, task.statusMessage));

function connect(): TaskClient {
  return createTaskClient(served.url, {
    registry,
    timeoutMs: Number.POSITIVE_INFINITY,
    input: {
      form: ({ message }) => {
        board.say(`   ${dim("it asks:")} ${message} ${dim("No.")}`);
        return { action: "accept", content: { all: false } };
      },
    },
  });
}

/** Makes calls side by side, and gives how they end, in order. In between the agent restarts; the tasks do not mind. */
async function callAll(calls: readonly CallParams[]): Promise<Outcome[]> {
  const before = connect();
  const begun = calls.map((call) => before.beginCallTool(call));
  await Promise.all(begun.map(({ created }) => created));
  // All that outlives the restart. From a file, another process could go on.
  const notes = JSON.stringify(begun.map((call) => call.reference()));
  await before.close();
  board.say(dim(`   restarted with ${calls.length} references`));

  const after = connect();
  const resumed = (JSON.parse(notes) as string[]).map((reference) => after.resume(reference));
  const outcomes = await Promise.all(resumed.map((call) => call.outcome()));
  await after.close();
  board.end();
  return outcomes;
}

/** What a model is told of a call. */
function tell(outcome: Outcome): string {
  if (outcome.status === "completed") return outcome.result.content.map((block) => block["text"]).join("\n");
  return outcome.status === "failed" ? `an error: ${outcome.error.message}` : outcome.status;
}

console.log(bold(`What is in ${folder}?`));
const results: string[] = [];
for (;;) {
  const turn = decide(results);
  if ("say" in turn) {
    console.log(bold(turn.say));
    break;
  }
  results.push(...(await callAll(turn.calls)).map(tell));
}
await served.close();
