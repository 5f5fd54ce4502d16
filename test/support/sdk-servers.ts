// A server of the official SDK, as somebody wrote it, and the same with Errand's tasks.
import type { ServerContext } from "@modelcontextprotocol/server";
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Served, Tasks } from "../../src/mod.ts";
import { createTasks, serve } from "../../src/mod.ts";

const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });
const Name = z.object({ name: z.string() });

/** Tools that answer, ask, fail and hang. */
export function buildPlainServer(): McpServer {
  const server = new McpServer({ name: "plain", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: z.object({ words: z.string() }) }, ({ words }) => text(words));
  server.registerTool("greet", {}, (ctx: ServerContext) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "name", Name);
    if (answer !== undefined) return text(`Hello, ${answer.name}`);
    const name = inputRequired.elicit({ message: "Name?", requestedSchema: Name });
    return inputRequired({ inputRequests: { name } });
  });
  server.registerTool("breaks", {}, () => ({ ...text("broken"), isError: true }));
  server.registerTool("hangs", {}, () => new Promise(() => {}));
  return server;
}

export function createPlainTasks(): Tasks {
  return createTasks({ inlineWithinMs: 20, pollIntervalMs: 20 });
}

export function adoptPlainServer(tasks: Tasks): McpServer {
  return tasks.adopt(buildPlainServer(), { greet: "required", breaks: "required", hangs: "optional" });
}

/** The server on a port of its own, without tasks or with them. */
export async function servePlain(withTasks: boolean): Promise<Served> {
  if (!withTasks) return serve(createMcpHandler(buildPlainServer), { port: 0 });
  const tasks = createPlainTasks();
  return serve(tasks.wrap(createMcpHandler(() => adoptPlainServer(tasks))), { port: 0 });
}
