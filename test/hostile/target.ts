import type { Host, HostOptions } from "../../src/mod.ts";
import { ProtocolError, createHost } from "../../src/mod.ts";
import { z } from "zod";

/** A host with a tool of every kind, to be pelted. */
export function targetHost(options: Partial<HostOptions> = {}): Host {
  const host = createHost({
    name: "target",
    version: "1.0.0",
    ttlMs: 60_000,
    retainMs: 1_000,
    tombstoneMs: 1_000,
    roundTtlMs: 30_000,
    ...options,
  });
  const anything = z.looseObject({ text: z.string().optional(), any: z.unknown().optional() });
  host.tool("echo", { inputSchema: anything }, (input) => JSON.stringify(input));
  host.tool("brief", { inputSchema: anything, task: "required" }, (input) => JSON.stringify(input));
  host.tool("wait", { task: "required" }, (_input, task) => task.sleep("for ever", 1e9));
  host.tool("slow", { inputSchema: anything }, async (_input, task) => {
    task.progress(1, 2, "half-way");
    await task.sleep("a while", 1_000);
    task.progress(2, 2);
    return "done";
  });
  const form = z.object({ name: z.string().max(100), age: z.number().int().optional(), kind: z.enum(["a", "b"]).optional() });
  host.tool("rounds", { inputSchema: anything, task: "forbidden" }, async (_input, task) => {
    const first = await task.elicit("Who is there?", form);
    const second = await task.ask({
      __proto__: { method: "roots/list" },
      constructor: { method: "elicitation/create", params: { mode: "form", message: "?", requestedSchema: {} } },
    } as never);
    return JSON.stringify([first, second]);
  });
  host.tool("asks", { inputSchema: anything }, async (_input, task) => {
    const [person, model, roots] = await Promise.all([
      task.elicit("Who is there?", form),
      task.sample({ messages: [], maxTokens: 5 }),
      task.roots(),
    ]);
    await task.elicitUrl("Look at this", "https://example.com/");
    return JSON.stringify([person, model, roots]);
  });
  host.tool("elsewhere", { inputSchema: anything, task: "required" }, (_input, task) => task.external());
  host.tool("structured", { inputSchema: anything, outputSchema: z.looseObject({}) }, (input) => input);
  host.tool("refuses", { inputSchema: anything }, () => {
    throw new ProtocolError(-32005, "Not today", { why: "closed" });
  });
  host.tool("strict", { inputSchema: z.strictObject({ id: z.number(), tags: z.array(z.string()).max(3) }) }, ({ id }) => `${id}`);
  return host;
}
