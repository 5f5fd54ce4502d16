// A server that was there before, with the SDK's own `McpServer`. Three lines give its tool tasks: they are marked.
//
//   node examples/existing-server.ts
//   node src/cli/main.ts call http://127.0.0.1:3000/mcp report '{"pages":20}'

import { serve } from "@hono/node-server";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createTasks } from "../src/mod.ts"; // added

function buildServer(): McpServer {
  const server = new McpServer({ name: "reports", version: "1.0.0" });
  server.registerTool(
    "report",
    { description: "Writes a report", inputSchema: z.object({ pages: z.int().positive() }) },
    async ({ pages }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let page = 1; page <= pages; page += 1) {
        await delay(20, undefined, { signal: mcpReq.signal });
        if (progressToken === undefined) continue;
        const params = { progressToken, progress: page, total: pages, message: "writing" };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      return { content: [{ type: "text", text: `A report of ${pages} pages` }] };
    },
  );
  return server;
}

const tasks = createTasks(); // added
const handler = tasks.wrap(createMcpHandler(() => tasks.adopt(buildServer(), { report: "optional" }))); // changed

const app = new Hono();
app.all("/mcp", (c) => handler.fetch(c.req.raw));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) }, ({ port }) => {
  console.log(`Reports are written at http://127.0.0.1:${port}/mcp`);
});
