import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { createTasks } from "../../src/mod.ts";
import { withHost } from "../support/hosting.ts";
import { accept, onlyKey, Rpc, textOf } from "../support/rpc.ts";

const Confirm = z.object({ ok: z.boolean() });

describe("a host's rounds and an SDK tool's requestState", () => {
  it(
    "a host's key to its rounds never gets past the verifier of an author's own tools",
    withHost(
      {
        options: {
          serverOptions: {
            requestState: {
              verify: (state) => {
                if (state !== "signed") throw new Error("tampered");
                return state;
              },
            },
          },
          setup: (server) => {
            server.registerTool("signed", {}, (ctx) => ({
              content: [{ type: "text", text: `state: ${String(ctx.mcpReq.requestState())}` }],
            }));
          },
        },
        tools: (host) =>
          host.tool("ask", { task: { mode: "optional", inlineWithinMs: Infinity } }, async (_input, task) => {
            const { ok } = await task.elicit("Sure?", Confirm);
            return ok ? "yes" : "no";
          }),
      },
      async ({ direct }) => {
        const first = await direct.call("ask");
        assert.equal(first["resultType"], "input_required");
        const requestState = first["requestState"] as string;
        const stolen = await direct.error("tools/call", { name: "signed", arguments: {}, requestState });
        assert.equal(stolen.code, -32602);
        assert.equal(textOf(await direct.result("tools/call", { name: "signed", arguments: {}, requestState: "signed" })), "state: signed");
        // The other way round, a state of the author's is none of the host's.
        const foreign = await direct.error("tools/call", { name: "ask", arguments: {}, requestState: "signed" });
        assert.equal(foreign.code, -32602);
        const key = onlyKey(first["inputRequests"] as object);
        const inputResponses = { [key]: accept({ ok: true }) };
        assert.equal(
          textOf(await direct.result("tools/call", { name: "ask", arguments: {}, requestState, inputResponses })),
          "yes",
        );
      },
    ),
  );
});

describe("an adopted tool that asks by its result", () => {
  it("goes on with each round of answers after its call became a task", async () => {
    const tasks = createTasks();
    const factory = () => {
      const server = new McpServer({ name: "adopted", version: "1.0.0" });
      server.registerTool("steps", {}, (ctx) => {
        const { inputResponses } = ctx.mcpReq;
        const round = Number(ctx.mcpReq.requestState() ?? 0);
        if (round === 2) return { content: [{ type: "text", text: `done ${JSON.stringify(inputResponses)}` }] };
        return inputRequired({
          inputRequests: { sure: inputRequired.elicit({ message: `Round ${round}?`, requestedSchema: Confirm }) },
          requestState: String(round + 1),
        });
      });
      return tasks.adopt(server, { steps: { mode: "optional", inlineWithinMs: 0 } });
    };
    const handler = tasks.wrap(createMcpHandler(factory));
    const rpc = new Rpc(handler);
    const { taskId } = await rpc.task("steps");
    for (let round = 0; round < 2; round += 1) {
      let task = await rpc.get(taskId);
      while (task.status === "working") task = await rpc.get(taskId);
      assert.equal(task.status, "input_required");
      const key = onlyKey((task as { inputRequests: object }).inputRequests);
      await rpc.update(taskId, { [key]: accept({ ok: true }) });
    }
    let task = await rpc.get(taskId);
    while (task.status === "working") task = await rpc.get(taskId);
    assert.equal(task.status, "completed");
    assert.equal(textOf((task as { result: unknown }).result), 'done {"sure":{"action":"accept","content":{"ok":true}}}');
    await handler.close();
  });
});
