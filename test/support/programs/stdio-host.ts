// A host on stdin and stdout, whose tools do what the tests need: `close` closes it with a grace in milliseconds.
import process from "node:process";
import { setImmediate } from "node:timers";
import { z } from "zod";
import { createHost, memory } from "../../../src/mod.ts";
import type { AbortedError } from "../../../src/mod.ts";

const store = memory();
// With "stuck", the store cannot be closed.
if (process.argv.includes("stuck")) store.close = () => Promise.reject(new Error("the disk is stuck"));

const host = createHost({
  name: "stdio-host",
  version: "1.0.0",
  inlineWithinMs: 50,
  serverOptions: { capabilities: { resources: { subscribe: true, listChanged: true } } },
  limits: { bodyBytes: 100_000, subscriptions: 3 },
  store,
});

const aborted: string[] = [];
const onAbort = (signal: AbortSignal, what: string) => {
  signal.addEventListener("abort", () => aborted.push(`${what}: ${(signal.reason as AbortedError).message}`));
};

host
  .tool("quick", {}, () => "done")
  .tool("external", { task: "required" }, (_input, task) => task.external())
  .tool("asks", { task: "required" }, async (_input, task) => {
    const { name } = await task.elicit("Name?", z.object({ name: z.string() }));
    return `Hello, ${name}`;
  })
  .tool("asks_inline", { task: "forbidden" }, async (_input, task) => {
    const { name } = await task.elicit("Name?", z.object({ name: z.string() }));
    const roots = await task.roots();
    return `Hello, ${name}, at ${roots.map(({ uri }) => uri).join()}`;
  })
  .tool("counts", { task: "forbidden" }, async (_input, task) => {
    for (let done = 1; done <= 3; done += 1) {
      task.progress(done, 3);
      await Promise.resolve();
    }
    return "counted";
  })
  .tool("hangs", { task: "required" }, async (_input, task) => {
    onAbort(task.signal, "hangs");
    await new Promise(() => {});
    return "never";
  })
  .tool("hangs_inline", { task: "forbidden" }, async (_input, task) => {
    onAbort(task.signal, "hangs_inline");
    await new Promise(() => {});
    return "never";
  })
  .tool("sleeps", { task: "required" }, async (_input, task) => {
    await task.sleep("long", 3_600_000);
    return "never";
  })
  .tool("naps", { inputSchema: z.object({ ms: z.number() }), task: "forbidden" }, async ({ ms }, task) => {
    await task.sleep("nap", ms);
    return "rested";
  })
  .tool("ticks", { task: "required" }, async (_input, task) => {
    // Holds the process until its signal fires.
    const timer = setInterval(() => task.status(`tick ${Date.now()}`), 5);
    await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
    clearInterval(timer);
    return "never";
  })
  .tool("shouts", { task: "required" }, async (_input, task) => {
    for (let count = 0; count < 500; count += 1) {
      task.status(`${count} ${"x".repeat(10_000)}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // On another channel than the one that nobody reads.
    process.stderr.write("shouted");
    return "hoarse";
  })
  .tool("aborted", { task: "forbidden" }, () => aborted.join("\n"))
  .tool("tell", { inputSchema: z.object({ taskId: z.string(), status: z.string() }) }, async ({ taskId, status }) => {
    await host.task(taskId).status(status);
  })
  .tool("finish", { inputSchema: z.object({ taskId: z.string(), text: z.string() }) }, async ({ taskId, text }) => {
    await host.task(taskId).complete(text);
  })
  .tool("announce", { inputSchema: z.object({ uri: z.string() }) }, ({ uri }) => {
    host.notify.toolsChanged();
    host.notify.resourceUpdated(uri);
  })
  .tool("close", { inputSchema: z.object({ graceMs: z.number() }), task: "forbidden" }, ({ graceMs }) => {
    void host.close({ graceMs });
    return "closing";
  })
  .tool("long", { inputSchema: z.object({ length: z.number() }) }, ({ length }) => {
    return `${"line\n".repeat(length)}é"\u2028`;
  });

host.stdio();
