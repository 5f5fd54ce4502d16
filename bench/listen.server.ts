// One of the servers that `listen.ts` compares, `errand` or `hono`: a tool `wait` whose tasks end when told to.
import { Hono } from "hono";
import { setTimeout } from "node:timers/promises";
import process from "node:process";
import type { Servable } from "../src/mod.ts";
import { createHost, serve } from "../src/mod.ts";
import { answerCommands, cpu } from "./lib/commands.ts";

/** What a handler does last: it says when that was, in milliseconds since the epoch. */
const lastLine = () => `at ${performance.timeOrigin + performance.now()}`;

/** The work of the tasks that were called for and have not ended, the first to be called first. */
const waiting: (() => void)[] = [];

function errand(): Servable {
  const host = createHost({ name: "bench", version: "1.0.0" });
  return host.tool("wait", { task: "required" }, async () => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return lastLine();
  });
}

/** The floor: the same messages written straight into the streams. */
function hono(): Servable {
  const streams = new Map<string, Set<ReadableStreamDefaultController<Uint8Array>>>();
  const encoder = new TextEncoder();
  const message = (task: object) => {
    const json = JSON.stringify({ jsonrpc: "2.0", method: "notifications/tasks", params: task });
    return encoder.encode(`event: message\ndata: ${json}\n\n`);
  };
  const task = (taskId: string, rest: object) => {
    const now = new Date().toISOString();
    return { taskId, createdAt: now, lastUpdatedAt: now, ttlMs: 3_600_000, pollIntervalMs: 100, ...rest };
  };
  const app = new Hono().post("/mcp", async (c) => {
    const { id, method, params } = await c.req.json<{
      id: number;
      method: string;
      params: { notifications?: { taskIds: string[] } };
    }>();
    if (method === "tools/call") {
      const taskId = crypto.randomUUID();
      const open = new Set<ReadableStreamDefaultController<Uint8Array>>();
      streams.set(taskId, open);
      waiting.push(() => {
        const result = { content: [{ type: "text", text: lastLine() }] };
        const bytes = message(task(taskId, { status: "completed", result }));
        for (const stream of open) {
          stream.enqueue(bytes);
          stream.close();
        }
      });
      return c.json({ jsonrpc: "2.0", id, result: { resultType: "task", taskId, status: "working" } });
    }
    const [taskId = ""] = params.notifications?.taskIds ?? [];
    const body = new ReadableStream<Uint8Array>({
      start(stream) {
        streams.get(taskId)?.add(stream);
        stream.enqueue(message(task(taskId, { status: "working" })));
      },
    });
    return c.body(body, 200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  });
  return { fetch: (request) => app.fetch(request) };
}

const { url } = await serve(process.argv[2] === "errand" ? errand() : hono(), { port: 0 });
await answerCommands({
  start: () => url,
  cpu,
  /** Ends the tasks that wait, one after the other. */
  async finish({ everyMs }: { everyMs: number }) {
    for (const end of waiting.splice(0)) {
      end();
      await setTimeout(everyMs);
    }
  },
});
