// An error that says why saves an hour.
import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { z } from "zod";
import type { RequestFailedError, WaitTimeoutError } from "../../src/mod.ts";
import { createHost, createTaskClient } from "../../src/mod.ts";

describe("An error of the client says why", () => {
  it("of a command that ended at once", async () => {
    const client = createTaskClient({ command: process.execPath, args: ["--version"], stderr: "ignore" });
    await assert.rejects(client.callTool({ name: "any" }), { code: "REQUEST_FAILED", message: /The command ended before/ });
    await client.close();
  });

  it("of a command that there is not", async () => {
    const client = createTaskClient({ command: "no-such-command-anywhere" });
    await assert.rejects(client.callTool({ name: "any" }), { code: "REQUEST_FAILED", message: /no-such-command-anywhere/ });
    await client.close();
  });

  it("of a wait for a task whose server was never there", async () => {
    // Nothing listens there, and nobody may.
    const client = createTaskClient("http://127.0.0.1:1/mcp");
    await assert.rejects(client.follow("some-task", { timeoutMs: 200 }).result(), (error: WaitTimeoutError) => {
      assert.equal(error.code, "TIMED_OUT");
      assert.match(error.message, /never seen.*200 ms\. The last look at it failed: /);
      assert.doesNotMatch(error.message, /keeps running/);
      assert.equal((error.cause as RequestFailedError).code, "REQUEST_FAILED");
      return true;
    });
    await client.close();
  });

  for (const [kind, name] of [
    ["elicit", /elicitation by form/],
    ["elicitUrl", /elicitation by URL/],
    ["sample", /sampling/],
    ["roots", /roots/],
  ] as const) {
    it(`of a tool that asks (${kind}) a client that answers nothing`, async () => {
      const host = createHost({ name: "asks", version: "1.0.0" });
      host.tool("ask", { task: "required" }, async (_: unknown, task) => {
        if (kind === "elicit") await task.elicit("Who?", z.object({ who: z.string() }));
        if (kind === "elicitUrl") await task.elicitUrl("Here", "https://example.com/");
        if (kind === "sample") await task.sample({ messages: [], maxTokens: 1 });
        if (kind === "roots") await task.roots();
        return "asked";
      });
      const client = createTaskClient(host);
      await assert.rejects(client.callTool({ name: "ask" }), { code: "TASK_FAILED", rpcCode: -32021, message: name });
      await client.close();
      await host.close();
    });
  }
});
