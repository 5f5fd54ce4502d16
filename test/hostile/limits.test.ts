// What one request may cost.
import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Host } from "../../src/mod.ts";
import { createTasks } from "../../src/mod.ts";
import { Parts } from "../../src/server/parts.ts";
import { turn } from "../support/clock.ts";
import { withHost } from "../support/hosting.ts";
import { TASKS, envelope, textOf } from "../support/rpc.ts";
import { until } from "../support/until.ts";

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}[]${"}".repeat(depth)}`;
}

/** A call of `echo` with a JSON text in its arguments. */
function echo(any: string): string {
  const params = { name: "echo", arguments: { any: "HERE" }, _meta: envelope() };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }).replace('"HERE"', () => any);
}

const CALL = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo" };

const tools = (host: Host) => {
  host.tool("echo", { inputSchema: z.object({ any: z.unknown() }) }, () => "heard");
  host.tool("wait", { task: "required" }, async (_input, task) => task.sleep("for ever", 1e9));
};

describe("a message", () => {
  it(
    "that is nested deeply is refused before anything goes down with it",
    withHost({ tools }, async ({ rpc }) => {
      for (const depth of [300, 5_000, 200_000]) {
        const response = await rpc.post(echo(nested(depth)), { headers: CALL });
        assert.equal(response.status, 400, `${depth} levels`);
        const { error, id } = (await response.json()) as { error: { code: number; message: string }; id: unknown };
        assert.deepEqual([error.code, id], [-32600, null]);
        assert.match(error.message, /256 levels/);
      }
      assert.equal((await rpc.post(echo(nested(200)), { headers: CALL })).status, 200);
    }),
  );

  it(
    "may hold any brackets in its strings",
    withHost({ tools }, async ({ rpc }) => {
      for (const text of ["[".repeat(1_000), '\\"['.repeat(1_000), "\\\\", '\\\\\\"{'.repeat(500), "]".repeat(1_000)]) {
        assert.equal((await rpc.post(echo(`"${text}"`), { headers: CALL })).status, 200, text.slice(0, 20));
      }
      const wide = `[${Array.from({ length: 5_000 }, () => '{"a":["\\\\"]}').join(",")}]`;
      assert.equal((await rpc.post(echo(wide), { headers: CALL })).status, 200);
    }),
  );

  it(
    "is as long as it is, whatever its length is said to be",
    withHost({ tools, options: { limits: { bodyBytes: 10_000 } } }, async ({ host }) => {
      for (const length of ["5", "", "-1", "0x10", "1e1"]) {
        const request = new Request("http://127.0.0.1/mcp", {
          method: "POST",
          headers: { ...CALL, host: "127.0.0.1", "content-type": "application/json" },
          body: echo(`"${"x".repeat(20_000)}"`),
        });
        request.headers.set("content-length", length);
        assert.equal((await host.fetch(request)).status, 413, `a content-length of "${length}"`);
      }
    }),
  );
});

describe("a connection whose client reads slowly", () => {
  it("is sent one message at a time, in order", async () => {
    const tasks = createTasks();
    const sent: unknown[] = [];
    const reads: (() => void)[] = [];
    const transport = tasks.transport({
      start: async () => {},
      close: async () => {},
      send: (message) => {
        sent.push((message as { id?: unknown }).id);
        return new Promise((resolve) => reads.push(resolve));
      },
    });
    await transport.start();
    const ids = Array.from({ length: 50 }, (_none, id) => id);
    const all = Promise.all(ids.map((id) => transport.send({ jsonrpc: "2.0", id, result: {} })));
    for (const id of ids) {
      await turn();
      assert.deepEqual([sent.length, reads.length], [id + 1, 1], "one waits to be read");
      reads.pop()?.();
    }
    await all;
    assert.deepEqual(sent, ids);
    await tasks.close();
  });
});

describe("a subscription", () => {
  it(
    "that nobody reads holds a portion of a long result, and gives it whole to who reads",
    withHost({ tools: (host) => host.tool("elsewhere", { task: "required" }, (_input, task) => task.external()) }, async (given) => {
      const { direct, host } = given;
      const { taskId } = await direct.task("elsewhere");
      const listening = [];
      for (let open = 0; open < 100; open += 1) listening.push(await direct.listen({ taskIds: [taskId] }));
      // Characters of each length in UTF-8, which the end of a portion falls on in every way.
      const text = "a\u00e9\u20ac\u{1f642}b".repeat(250_000);
      const before = process.memoryUsage().rss;
      await host.task(taskId).complete({ content: [{ type: "text", text }] });
      const grown = process.memoryUsage().rss - before;
      assert.ok(grown < 150_000_000, `grown by ${grown} bytes for 100 readers of 2.7 MB`);
      const [first, ...others] = listening;
      const told = await first?.events.rest();
      assert.equal(told?.length, 3);
      const { params } = told[1] as { params?: { result: unknown } };
      assert.ok(textOf(params?.result) === text, "the text is whole");
      assert.equal(host.sizes.subscriptions, 0);
      for (const { events } of others) await events.leave();
    }),
  );

  it(
    "does not hold on to an id that is a text of its own",
    withHost({ tools }, async ({ rpc, host }) => {
      const { taskId } = await rpc.task("wait");
      const error = await rpc.error("subscriptions/listen", { notifications: { taskIds: [taskId] } }, { id: "x".repeat(257) });
      assert.equal(error.code, -32602);
      assert.equal(host.sizes.subscriptions, 0);
    }),
  );

  it("takes the place of an older one of the same id on the same connection", async () => {
    const parts = new Parts({});
    const sent: JSONRPCMessage[] = [];
    const inner: Transport = {
      start: async () => {},
      close: async () => {},
      send: async (message) => void sent.push(message),
    };
    const transport = parts.transport(inner);
    // The SDK's part: to acknowledge.
    transport.onmessage = (message: JSONRPCMessage) => {
      if (!("id" in message) || !("method" in message)) return;
      const params = { notifications: {}, _meta: { "io.modelcontextprotocol/subscriptionId": message.id } };
      void transport.send({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params });
    };
    await transport.start();
    const task = await parts.registry.create({
      taskId: "task-with-a-known-id-0001",
      principal: undefined,
      tool: "wait",
      arguments: {},
      askable: { form: false, url: false, sampling: false, samplingTools: false, roots: false },
      statusMessage: undefined,
      ttlMs: null,
      pollIntervalMs: 100,
    });
    const listen = (id: number): JSONRPCMessage => ({
      jsonrpc: "2.0",
      id,
      method: "subscriptions/listen",
      params: { notifications: { taskIds: [task.taskId] }, _meta: envelope(TASKS) },
    });
    for (let times = 0; times < 50; times += 1) inner.onmessage?.(listen(7));
    inner.onmessage?.(listen(8));
    await until(() => sent.length >= 4, "the subscriptions to be acknowledged");
    assert.equal(parts.sizes.subscriptions, 2);
    for (const requestId of [7, 8]) {
      inner.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
    }
    const { subscriptions, watched } = parts.sizes;
    assert.deepEqual({ subscriptions, watched }, { subscriptions: 0, watched: 0 });
    await parts.close(0);
  });
});
