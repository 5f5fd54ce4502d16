import { McpServer, acceptedContent, createMcpHandler, inputRequired } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Host, HostOptions, Tasks, TasksOptions } from "../../src/mod.ts";
import { ProtocolError, createHost, createTasks } from "../../src/mod.ts";
import { systemClock } from "../../src/task/clock.ts";

const BRIEF = { ttlMs: 60_000, retainMs: 1_000, tombstoneMs: 1_000, roundTtlMs: 30_000 };

const anything = z.looseObject({ text: z.string().optional(), any: z.unknown().optional() });
const person = z.object({ name: z.string().max(100), age: z.number().int().optional(), kind: z.enum(["a", "b"]).optional() });

/** A host with a tool of every kind, to be pelted. */
export function targetHost(options: Partial<HostOptions> = {}): Host {
  const host = createHost({ name: "target", version: "1.0.0", ...BRIEF, ...options });
  host.tool("echo", { inputSchema: anything }, (input) => JSON.stringify(input));
  host.tool("brief", { inputSchema: anything, task: "required" }, (input) => JSON.stringify(input));
  host.tool("wait", { task: "required" }, (_input, task) => task.sleep("for ever", 1e9));
  host.tool("slow", { inputSchema: anything }, async (_input, task) => {
    task.progress(1, 2, "half-way");
    await task.sleep("a while", 1_000);
    task.progress(2, 2);
    return "done";
  });
  host.tool("rounds", { inputSchema: anything, task: "forbidden" }, async (_input, task) => {
    const first = await task.elicit("Who is there?", person);
    const second = await task.ask({
      ["__proto__"]: { method: "roots/list" },
      constructor: { method: "elicitation/create", params: { mode: "form", message: "?", requestedSchema: {} } },
    });
    return JSON.stringify([first, second]);
  });
  host.tool("asks", { inputSchema: anything }, async (_input, task) => {
    const [who, model, roots] = await Promise.all([
      task.elicit("Who is there?", person),
      task.sample({ messages: [], maxTokens: 5 }),
      task.roots(),
    ]);
    await task.elicitUrl("Look at this", "https://example.com/");
    return JSON.stringify([who, model, roots]);
  });
  host.tool("elsewhere", { inputSchema: anything, task: "required" }, (_input, task) => task.external());
  host.tool("structured", { inputSchema: anything, outputSchema: z.looseObject({}) }, (input) => input);
  host.tool("refuses", { inputSchema: anything }, () => {
    throw new ProtocolError(-32005, "Not today", { why: "closed" });
  });
  host.tool("strict", { inputSchema: z.strictObject({ id: z.number(), tags: z.array(z.string()).max(3) }) }, ({ id }) => `${id}`);
  return host;
}

/** What is pelted: a host, or what does as one. */
export interface Target {
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly sizes: Host["sizes"];
  close(): Promise<void>;
}

/** A server of the SDK's own with tools of the same names, which was given tasks. */
export function targetAdopted(options: TasksOptions & { limits?: { bodyBytes?: number } }): Target {
  const tasks = createTasks({ ...BRIEF, ...options });
  const { bodyBytes } = options.limits ?? {};
  const handler = tasks.wrap(
    createMcpHandler(() => adopted(tasks, options), { ...(bodyBytes !== undefined && { maxRequestBodySize: bodyBytes }) }),
  );
  return {
    fetch: (request) => handler.fetch(request),
    get sizes() {
      return tasks.sizes;
    },
    close: () => handler.close(),
  };
}

function adopted(tasks: Tasks, { clock = systemClock }: TasksOptions): McpServer {
  const server = new McpServer({ name: "adopted", version: "1.0.0" }, { capabilities: { logging: {} } });
  const text = (said: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(said) ?? "" }] });
  const config = { inputSchema: anything };
  for (const name of ["echo", "brief", "elsewhere"]) server.registerTool(name, config, (input) => text(input));
  server.registerTool("wait", {}, (ctx) => {
    return new Promise((resolve) => {
      ctx.mcpReq.signal.addEventListener("abort", () => resolve(text("aborted")), { once: true });
    });
  });
  server.registerTool("slow", config, async (_input, ctx) => {
    await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken: 1, progress: 1, total: 2 } });
    await new Promise<void>((resolve) => clock.setTimeout(resolve, 1_000));
    return text("done");
  });
  for (const name of ["rounds", "asks"]) {
    server.registerTool(name, config, (_input, ctx) => {
      const given = acceptedContent(ctx.mcpReq.inputResponses, "constructor", person);
      if (given !== undefined) return text(given);
      const asked = inputRequired.elicit({ message: "Who is there?", requestedSchema: person });
      return inputRequired({ inputRequests: { constructor: asked, ["__proto__"]: inputRequired.listRoots() } });
    });
  }
  server.registerTool("structured", { ...config, outputSchema: z.looseObject({}) }, (input) => ({
    ...text(input),
    structuredContent: input,
  }));
  server.registerTool("refuses", config, () => {
    throw new Error("Not today");
  });
  server.registerTool("strict", { inputSchema: z.strictObject({ id: z.number() }) }, ({ id }) => text(id));
  return tasks.adopt(server, {
    brief: "required",
    wait: "required",
    slow: "optional",
    asks: "required",
    rounds: { mode: "optional", inlineWithinMs: Number.POSITIVE_INFINITY },
    structured: "optional",
    refuses: "optional",
    strict: () => "optional",
  });
}
