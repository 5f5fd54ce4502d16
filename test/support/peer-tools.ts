import { z } from "zod";
import type { Host } from "../../src/mod.ts";
import { ProtocolError, createHost } from "../../src/mod.ts";
import type { Gate } from "./until.ts";
import { gate } from "./until.ts";

const Name = z.object({ name: z.string() });
const City = z.object({ city: z.string() });
const TaskId = z.object({ taskId: z.string() });

/** The host that the peers meet, on whatever transport. What a tool waits for, another brings about. */
export function createPeerHost(): Host {
  const host = createHost({ name: "peer-host", version: "1.0.0", pollIntervalMs: 20 });
  addWork(host);
  addQuestions(host);
  addElsewhere(host);
  return host;
}

function addWork(host: Host): void {
  const ends = new Map<string, Gate>();
  const endOf = (taskId: string) => {
    const end = ends.get(taskId) ?? gate();
    ends.set(taskId, end);
    return end;
  };
  host.tool("quick", { inputSchema: z.object({ a: z.number() }) }, ({ a }) => `got ${a}`);
  host.tool("required", { task: "required" }, async (_input, task) => {
    task.progress(1, 2, "half");
    await task.sleep("work", 30);
    return "worked";
  });
  host.tool("hangs", { task: "required" }, async (_input, task) => {
    await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
    endOf(task.taskId).open();
    return "never";
  });
  // Answers once the work of a task that hangs has heard of its end.
  host.tool("stopped", { inputSchema: TaskId, task: "forbidden" }, async ({ taskId }) => {
    await endOf(taskId).opened;
    return "stopped";
  });
  host.tool("fails", { task: "required" }, () => {
    throw new ProtocolError(-32050, "Out of paper", { tray: 2 });
  });
  host.tool("errs", { task: "required" }, () => ({ content: [{ type: "text", text: "no such file" }], isError: true }));
  host.tool("counts", { task: "required", outputSchema: z.object({ count: z.number() }) }, () => ({ count: 3 }));
}

function addQuestions(host: Host): void {
  host.tool("asks", { task: "required" }, async (_input, task) => {
    const { name } = await task.elicit("Name?", Name);
    return `Hello, ${name}`;
  });
  host.tool("asks_inline", { task: "forbidden" }, async (_input, task) => {
    task.progress(1, 2);
    const { name } = await task.elicit("Name?", Name);
    task.progress(2, 2);
    return `Hello, ${name}`;
  });
  host.tool("asks_twice", { task: "required" }, async (_input, task) => {
    const { name } = await task.elicit("Name?", Name);
    const { city } = await task.elicit(`Where do you live, ${name}?`, City);
    return `${name} of ${city}`;
  });
  host.tool("asks_both", { task: "required" }, async (_input, task) => {
    const [{ name }, { city }] = await Promise.all([task.elicit("Name?", Name), task.elicit("City?", City)]);
    return `${name} of ${city}`;
  });
  host.tool("asks_all_kinds", { task: "required" }, async (_input, task) => {
    const [{ name }, { model }, roots] = await Promise.all([
      task.elicit("Name?", Name),
      task.sample({ messages: [{ role: "user", content: { type: "text", text: "A motto?" } }], maxTokens: 20 }),
      task.roots(),
    ]);
    return `${name}, ${model}, ${roots.map(({ uri }) => uri).join()}`;
  });
}

function addElsewhere(host: Host): void {
  host.tool("external", { task: "required" }, (_input, task) => task.external());
  host.tool("slow_poll", { task: { mode: "required", pollIntervalMs: 600_000 } }, (_input, task) => task.external());
  host.tool("tell", { inputSchema: TaskId.extend({ status: z.string() }) }, async ({ taskId, status }) => {
    await host.task(taskId).status(status);
  });
  host.tool("ask", { inputSchema: TaskId, task: "forbidden" }, ({ taskId }) => {
    const task = host.task(taskId);
    // The answer goes into the task; this call only asks.
    task.elicit("Name?", Name).then(
      ({ name }) => task.complete(`asked ${name}`),
      (error: unknown) => task.fail(error),
    );
  });
  host.tool("finish", { inputSchema: TaskId.extend({ text: z.string() }) }, async ({ taskId, text }) => {
    await host.task(taskId).status("nearly");
    await host.task(taskId).complete(text);
  });
}
