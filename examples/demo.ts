// `npm run demo [folder]`: a tool that hashes and counts every file under a folder, served over HTTP, and a client that
// follows it. Without a folder it reads this project's own dependencies.

import { stat } from "node:fs/promises";
import { relative, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { DetailedTask, TaskContext } from "../src/mod.ts";
import { DeclinedError, createHost, createTaskClient, serve } from "../src/mod.ts";
import { Tally, find } from "./support/survey.ts";
import { LiveLine, bar, bold, confirm, dim, green } from "./support/terminal.ts";

const project = fileURLToPath(new URL("..", import.meta.url));
const dependencies = resolve(project, "node_modules");
const folder = resolve(process.argv[2] ?? dependencies);
if (!(await stat(folder).catch(() => undefined))?.isDirectory()) {
  console.error(`${folder} is not a folder. Usage: npm run demo [folder]`);
  process.exit(2);
}

// ---- The server

const totals = z.object({
  files: z.number(),
  folders: z.number(),
  bytes: z.number(),
  unreadable: z.number(),
  sha256: z.string(),
});

const host = createHost({ name: "survey", version: "1.0.0", onError: (error) => console.error(error) });

host.tool(
  "survey",
  {
    description: "Hashes and counts every file under a folder",
    inputSchema: z.object({ folder: z.string(), hidden: z.boolean().optional() }),
    outputSchema: totals,
  },
  async ({ folder, hidden }, task) => {
    const { signal } = task;
    const found = await find([folder], { signal });
    const half = Math.ceil(found.files.length / 2);
    const tally = new Tally(folder, signal);
    await tally.read(found.files.slice(0, half), (done) => task.progress(done, found.files.length, "hashing"));

    const { length } = found.hidden;
    const readsHidden = length > 0 && (hidden ?? (await asksForHidden(task, length)));
    const more = await find(readsHidden ? found.hidden : [], { readHidden: true, signal });
    const rest = [...found.files.slice(half), ...more.files];
    await tally.read(rest, (done) => task.progress(done, half + rest.length, "hashing"));
    return { ...tally.totals, folders: found.folders + more.folders };
  },
);

async function asksForHidden(task: TaskContext, count: number): Promise<boolean> {
  const folders = count === 1 ? "the hidden folder" : `the ${count} hidden folders`;
  try {
    const question = z.object({ hidden: z.boolean().default(true) });
    return (await task.elicit(`Half of it is read. Read ${folders} too?`, question)).hidden;
  } catch (error) {
    if (error instanceof DeclinedError) return false;
    throw error;
  }
}

const served = await serve(host, { port: 0 });

// ---- The client

const client = createTaskClient(served.url, {
  timeoutMs: Number.POSITIVE_INFINITY,
  input: {
    form: async ({ message }, { signal }) => {
      const hidden = await confirm(message, true, signal);
      return hidden === undefined ? { action: "cancel" } : { action: "accept", content: { hidden } };
    },
  },
});
console.log(`${bold("Errand")} ${dim(`on ${runtime()}, ${served.url}`)}`);

console.log(`\n${bold("1  A call becomes a task when it takes long")}`);
const first = await survey({ folder });

console.log(`\n${bold("2  The same call is answered inline when it is quick")}`);
await survey({ folder: resolve(project, "examples") });

console.log(`\n${bold("3  And it stops when it is cancelled half-way")}`);
await survey({ folder: first.files < 1000 ? dependencies : folder, hidden: false }, { cancelAt: 0.5 });

await client.close();
await served.close();

/** Calls the tool and shows how it goes. */
async function survey(
  args: { folder: string; hidden?: boolean },
  { cancelAt = Number.POSITIVE_INFINITY } = {},
): Promise<{ files: number }> {
  const started = performance.now();
  const took = () => {
    const ms = performance.now() - started;
    return ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`;
  };
  const line = new LiveLine();
  let task: DetailedTask | undefined;

  console.log(`   ${dim("survey")} ${nameOf(args.folder)}`);
  const call = client.beginCallTool({ name: "survey", arguments: args });
  const onTaskStatus = async (state: DetailedTask) => {
    if (task === undefined) console.log(`   ${dim("task")} ${state.taskId.slice(0, 8)}… ${dim(`after ${took()}`)}`);
    task = state;
    if (state.status === "input_required") return line.end();
    const { done, of } = progressOf(state);
    if (of === 0) return;
    line.show(`   ${bar(done / of)} ${number(done)}/${number(of)} files ${dim(took())}`, done / of);
    if (done / of >= cancelAt) await call.cancel();
  };
  const outcome = await call.outcome({ onTaskStatus });
  line.end();
  if (outcome.status === "completed") {
    const { files, folders, bytes, unreadable, sha256 } = totals.parse(outcome.result.structuredContent);
    const read = `${count(files, "file")} in ${count(folders, "folder")}, ${size(bytes)}`;
    console.log(`   ${green("✓")} ${read} ${dim(took())}`);
    if (unreadable > 0) console.log(`     ${count(unreadable, "file")} could not be read`);
    console.log(`     sha256 ${sha256}`);
    if (task === undefined) console.log(`     ${dim("no task: one request, one response")}`);
    return { files };
  }
  if (outcome.status === "failed") throw outcome.error;
  console.log(`   ${green("✓")} ${outcome.status} ${dim(took())}`);
  console.log(`     ${dim(outcome.task?.statusMessage ?? "")}`);
  return { files: 0 };
}

/** How far a task is, as its handler's `task.progress` put it into words. */
function progressOf({ statusMessage = "" }: DetailedTask): { done: number; of: number } {
  const [, done = 0, of = 0] = /\((\d+)\/(\d+)\)$/.exec(statusMessage) ?? [];
  return { done: Number(done), of: Number(of) };
}

function nameOf(path: string): string {
  const name = relative(process.cwd(), path);
  return name === "" || name.startsWith("..") ? path : name;
}

function count(value: number, what: string): string {
  return `${number(value)} ${what}${value === 1 ? "" : "s"}`;
}

function number(value: number): string {
  return value.toLocaleString("en-GB");
}

function size(bytes: number): string {
  if (bytes < 1e3) return count(bytes, "byte");
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function runtime(): string {
  const { bun, deno, node } = process.versions;
  if (bun !== undefined) return `Bun ${bun}`;
  return deno === undefined ? `Node ${node}` : `Deno ${deno}`;
}
