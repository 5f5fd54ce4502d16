// Closing: no new work, a grace for what runs, an end for the rest, and nothing left.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHost, memory, serve } from "../../src/mod.ts";
import type { Host, JsonObject, TaskStore } from "../../src/mod.ts";
import { FakeClock, turn } from "../support/clock.ts";
import type { HostingOptions } from "../support/hosting.ts";
import { withHost } from "../support/hosting.ts";
import { Rpc, onlyKey, textOf } from "../support/rpc.ts";
import type { Gate } from "../support/until.ts";
import { gate, patiently, until } from "../support/until.ts";

const PLAIN = { capabilities: { roots: {} } };
const SHUT_DOWN = "The server shut down before the work was done";
const REFUSED = {
  code: -32603,
  message: "The server is shutting down and takes no new work. Try again later.",
  data: { reason: "shutting_down", retryable: true },
};

/** Tools whose handlers wait for a gate, look at their signal, or ask. */
function waiting(): HostingOptions & { go: Gate; aborted: unknown[]; started: string[] } {
  const go = gate();
  const aborted: unknown[] = [];
  const started: string[] = [];
  const tools = (host: Host) => {
    for (const [name, task] of [
      ["works", "required"],
      ["works_inline", "forbidden"],
    ] as const) {
      host.tool(name, { task }, async (_input, context) => {
        context.signal.addEventListener("abort", () => aborted.push(context.signal.reason));
        started.push(name);
        await go.opened;
        return "worked";
      });
    }
    host.tool("asks", {}, async (_input, task) => String((await task.roots()).length));
  };
  return { go, aborted, started, tools };
}

describe("a host that closes with a grace", () => {
  it("refuses new work, and new work alone", async () => {
    const { go, ...given } = waiting();
    await withHost(given, async ({ host, rpc, clock }) => {
      const { taskId } = await rpc.task("works");
      const asking = await rpc.task("asks");
      const round = await rpc.call("asks", {}, PLAIN);
      let closed = false;
      const closing = host.close({ graceMs: 60_000 }).then(() => (closed = true));
      await turn(3);
      for (const name of ["works", "works_inline", "asks"]) {
        assert.deepEqual(await rpc.error("tools/call", { name }), REFUSED);
      }
      const retry = {
        name: "asks",
        arguments: {},
        requestState: round["requestState"],
        inputResponses: { [onlyKey(round["inputRequests"] as object)]: { roots: [] } },
      };
      assert.deepEqual(await rpc.error("tools/call", retry, PLAIN), REFUSED);
      assert.equal((await rpc.result("tools/list"))["resultType"], "complete");

      // What runs may still be looked at, answered, cancelled and listened to.
      assert.equal((await rpc.get(taskId)).status, "working");
      await rpc.update(asking.taskId, { [onlyKey(await rpc.questions(asking.taskId))]: { roots: [] } });
      assert.equal((await rpc.get(asking.taskId)).status, "completed");
      const { events } = await rpc.listen({ taskIds: [taskId] });
      go.open();
      const states = (await events.rest()).map((message) => (message["params"] as JsonObject | undefined)?.["status"]);
      assert.deepEqual(states, ["working", "completed", undefined]);
      assert.equal(textOf(((await rpc.get(taskId)) as { result: unknown }).result), "worked");
      assert.equal(closed, false, "the call that waits for answers still has its grace");
      await clock.advance(60_000);
      await closing;
    })();
  });

  it("refuses a grace that is none, and stays open", async () => {
    const { go, ...given } = waiting();
    await withHost(given, async ({ host, rpc }) => {
      for (const graceMs of [-1, Number.NaN, "5000" as unknown as number, null as unknown as number]) {
        await assert.rejects(host.close({ graceMs }), /^RangeError: close: graceMs takes milliseconds/);
      }
      const { taskId } = await rpc.task("works");
      go.open();
      assert.equal((await rpc.get(taskId)).status, "completed");
    })();
  });

  it("closes as soon as the last work has ended, however long the grace", async () => {
    const { go, ...given } = waiting();
    await withHost(given, async ({ host, rpc }) => {
      const { taskId } = await rpc.task("works");
      const inline = rpc.call("works_inline");
      await until(() => given.started.length === 2, "both handlers to start");
      const { events } = await rpc.listen({ taskIds: [taskId] });
      const closing = host.close({ graceMs: 60_000 });
      go.open();
      assert.equal(textOf(await inline), "worked");
      await closing;
      const last = (await events.rest()).at(-2);
      assert.equal((last?.["params"] as JsonObject | undefined)?.["status"], "completed");
      assert.deepEqual(given.aborted, []);
    })();
  });

  it("fails what is still at work once the grace is over, aborts it, and tells whoever waits", async () => {
    const { go, ...given } = waiting();
    await withHost(given, async ({ host, rpc, clock }) => {
      const { taskId } = await rpc.task("works");
      const inline = rpc.error("tools/call", { name: "works_inline" });
      await until(() => given.started.length === 2, "both handlers to start");
      const { events } = await rpc.listen({ taskIds: [taskId] });
      const closing = host.close({ graceMs: 1_000 });
      await clock.advance(999);
      assert.deepEqual(given.aborted, []);
      assert.equal((await rpc.get(taskId)).status, "working");
      await clock.advance(1);
      await closing;
      assert.deepEqual(await inline, { code: -32603, message: SHUT_DOWN });
      assert.deepEqual(
        given.aborted.map((reason) => (reason as Error).message),
        [SHUT_DOWN, SHUT_DOWN],
      );
      const messages = await events.rest();
      assert.ok("result" in (messages.pop() ?? {}));
      const { params } = messages.pop() as { params: { status: string; error: unknown } };
      assert.deepEqual([params.status, params.error], ["failed", { code: -32603, message: SHUT_DOWN }]);
      go.open();
    })();
  });
});

describe("a host that has closed", () => {
  it("answers every request with 503 and a clear error", async () => {
    const { go: _go, ...given } = waiting();
    await withHost(given, async ({ host, rpc, direct }) => {
      const { taskId } = await rpc.task("works");
      await host.close();
      for (const client of [rpc, direct]) {
        for (const [method, params] of Object.entries({
          "tools/call": { name: "works" },
          "tools/list": {},
          "tasks/get": { taskId },
          "tasks/cancel": { taskId },
          "subscriptions/listen": { notifications: { taskIds: [taskId] } },
        })) {
          const { status, message } = await client.request(method, params);
          assert.deepEqual([status, message["error"]], [503, REFUSED], method);
        }
      }
      await assert.rejects(host.task(taskId).complete("late"), { code: "HOST_CLOSED" });
    })();
  });

  it("holds nothing: no run, no actor, no stream, no timer", async () => {
    const clock = new FakeClock();
    const host = createHost({ name: "a", version: "1", clock });
    const { tools } = waiting();
    tools?.(host);
    const rpc = new Rpc(host);
    const { taskId } = await rpc.task("works");
    await rpc.task("asks");
    await rpc.call("asks", {}, PLAIN);
    const inline = rpc.error("tools/call", { name: "works_inline" });
    const { events } = await rpc.listen({ taskIds: [taskId], toolsListChanged: true });
    assert.notEqual(host.sizes.runs, 0);
    await host.close();
    await inline;
    await events.rest();
    const { ignored: _ignored, ...held } = host.sizes;
    assert.deepEqual(
      Object.entries(held).filter(([, size]) => size !== 0),
      [],
    );
    // The streams' one timer may be on its way; it sets no other.
    await clock.advance(60_000);
    assert.equal(clock.pending, 0);
  });

  it("closes once, however often it is told to", async () => {
    let closes = 0;
    const inner = memory();
    const store: TaskStore = Object.assign(Object.create(inner) as TaskStore, {
      nextDue: inner.nextDue.bind(inner),
      close: async () => {
        closes += 1;
      },
    });
    const host = createHost({ name: "a", version: "1", store });
    const served = await serve(host, { port: 0 });
    await Promise.all([host.close(), host.close({ graceMs: 1_000 }), served.close(), served.close()]);
    await host[Symbol.asyncDispose]();
    assert.equal(closes, 1);
  });

  it("closes all there is to close even when its store does not", async () => {
    const inner = memory();
    const store: TaskStore = Object.assign(Object.create(inner) as TaskStore, {
      nextDue: inner.nextDue.bind(inner),
      close: async () => {
        throw new Error("the disk is stuck");
      },
    });
    const host = createHost({ name: "a", version: "1", store });
    const served = await serve(host, { port: 0 });
    const { events } = await new Rpc(served.url).listen({ toolsListChanged: true }, { capabilities: {} });
    await patiently(async () => {
      await assert.rejects(served.close(), /the disk is stuck/);
      const [end, ...more] = await events.rest();
      assert.ok(end !== undefined && "result" in end);
      assert.deepEqual(more, []);
      await assert.rejects(fetch(served.url, { method: "POST" }));
    });
  });
});
