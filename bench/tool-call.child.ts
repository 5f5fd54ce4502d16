// The same trivial tool, called in process in every way that it can be answered.
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { z } from "zod";
import { createHost } from "../src/server/mod.ts";
import { answerCommands } from "./lib/commands.ts";
import { callTool, toRequest } from "./lib/requests.ts";

type Way = "plain" | "inline" | "task" | "sdk";

const identity = { name: "bench", version: "1.0.0" };
const inputSchema = z.object({ id: z.number() });
const work = ({ id }: { id: number }) => `did ${id}`;

const host = createHost({ ...identity, limits: { tasks: Number.POSITIVE_INFINITY } });
host.tool("plain", { inputSchema, task: "forbidden" }, work);
host.tool("inline", { inputSchema, task: "optional" }, work);
host.tool("task", { inputSchema, task: "required" }, work);

const sdk = createMcpHandler(() => {
  const server = new McpServer(identity);
  server.registerTool("sdk", { inputSchema }, (input) => ({ content: [{ type: "text", text: work(input) }] }));
  return server;
});

const fetches: Record<Way, (request: Request) => Response | Promise<Response>> = {
  plain: (request) => host.fetch(request),
  inline: (request) => host.fetch(request),
  task: (request) => host.fetch(request),
  sdk: (request) => sdk.fetch(request),
};

await answerCommands({
  /** The microseconds that one call takes, of a number of calls one after the other. */
  async time({ way, calls }: { way: Way; calls: number }) {
    const expected = `"resultType":"${way === "task" ? "task" : "complete"}"`;
    const start = performance.now();
    for (let index = 0; index < calls; index += 1) {
      const response = await fetches[way](toRequest(callTool(way, { id: index }, index)));
      const text = await response.text();
      if (!text.includes(expected)) throw new Error(`The call gave ${text}`);
    }
    return ((performance.now() - start) * 1_000) / calls;
  },
});
