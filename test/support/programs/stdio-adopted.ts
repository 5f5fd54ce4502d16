// An SDK server on stdio that somebody wrote, with three lines of tasks.
import type { ServerContext } from "@modelcontextprotocol/server";
import { McpServer, acceptedContent, inputRequired } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { createTasks } from "../../../src/mod.ts";

const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });
const Name = z.object({ name: z.string() });
let aborted = 0;

async function report({ rows }: { rows: number }, ctx: ServerContext) {
  const answer = acceptedContent(ctx.mcpReq.inputResponses, "name", Name);
  if (answer !== undefined) return text(`${rows} rows for ${answer.name}`);
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (let progress = 1; progress <= rows; progress += 1) {
    if (progressToken === undefined) break;
    const params = { progressToken, progress, total: rows, message: "reading" };
    await ctx.mcpReq.notify({ method: "notifications/progress", params });
  }
  return inputRequired({
    inputRequests: { name: inputRequired.elicit({ message: "Name?", requestedSchema: Name }) },
  });
}

function buildServer(): McpServer {
  const server = new McpServer({ name: "existing", version: "1.0.0" });
  server.registerTool("report", { inputSchema: z.object({ rows: z.number() }) }, report);
  server.registerTool("hangs", {}, (ctx) => {
    ctx.mcpReq.signal.addEventListener("abort", () => (aborted += 1));
    return new Promise(() => {});
  });
  server.registerTool("aborted", {}, () => text(String(aborted)));
  server.registerTool("untouched", {}, () => text("untouched"));
  return server;
}

const tasks = createTasks({ inlineWithinMs: 20 });
const factory = () => tasks.adopt(buildServer(), { report: "required", hangs: "optional" });
serveStdio(factory, { transport: tasks.transport(new StdioServerTransport()) });
