// One of the servers that `tasks-get.ts` compares: `errand`, `hono` or `sdk`.
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import process from "node:process";
import { z } from "zod";
import type { Servable, Task } from "../src/mod.ts";
import { createHost, serve } from "../src/mod.ts";
import { answerCommands, cpu } from "./lib/commands.ts";
import { callTool, toRequest } from "./lib/requests.ts";

const TASKS = 64;

/** Whatever is served, every answer has the same fields. */
function someTask(taskId: string): Task {
  const now = new Date().toISOString();
  return { taskId, status: "working", createdAt: now, lastUpdatedAt: now, ttlMs: 3_600_000, pollIntervalMs: 100 };
}

function someTasks(): Map<string, Task> {
  const ids = Array.from({ length: TASKS }, (_, index) => `${index}`.padStart(32, "task-"));
  return new Map(ids.map((id) => [id, someTask(id)]));
}

const serverInfo = { name: "bench", version: "1.0.0" };

const servers: Record<string, () => Promise<{ servable: Servable; taskIds: string[] }>> = {
  async errand() {
    const host = createHost(serverInfo);
    host.tool("wait", { task: "required" }, (_input, task) => task.external());
    const taskIds: string[] = [];
    for (let index = 0; index < TASKS; index += 1) {
      const response = await host.fetch(toRequest(callTool("wait", {})));
      const { result } = (await response.json()) as { result: Task };
      taskIds.push(result.taskId);
    }
    return { servable: host, taskIds };
  },

  /** The floor: what it costs to read JSON and answer with JSON. */
  async hono() {
    const tasks = someTasks();
    const app = new Hono().post("/mcp", async (c) => {
      const { id, params } = await c.req.json<{ id: number; params: { taskId: string } }>();
      const meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
      const result = { resultType: "complete", ...tasks.get(params.taskId), _meta: meta };
      return c.json({ jsonrpc: "2.0", id, result });
    });
    return { servable: { fetch: (request) => app.fetch(request) }, taskIds: [...tasks.keys()] };
  },

  /** What a server with ten tools costs that has the SDK answer `tasks/get`. */
  async sdk() {
    const tasks = someTasks();
    const inputSchema = z.object({ id: z.number(), name: z.string().optional() });
    const handler = createMcpHandler(() => {
      const server = new McpServer(serverInfo, {
        capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } },
      });
      for (let index = 0; index < 10; index += 1) {
        server.registerTool(`tool-${index}`, { description: "A tool", inputSchema }, () => ({ content: [] }));
      }
      const params = z.looseObject({ taskId: z.string() });
      server.server.setRequestHandler("tasks/get", { params }, ({ taskId }) => ({ ...tasks.get(taskId) }));
      return server;
    });
    return { servable: { fetch: (request) => handler.fetch(request) }, taskIds: [...tasks.keys()] };
  },
};

const make = servers[process.argv[2] ?? ""];
if (make === undefined) throw new Error(`The servers are ${Object.keys(servers).join(", ")}.`);
const { servable, taskIds } = await make();
const { url } = await serve(servable, { port: 0 });
await answerCommands({ start: () => ({ url, taskIds }), cpu });
