// Every limit of a host, each with the error that says so.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { memory } from "../../src/mod.ts";
import type { Host } from "../../src/mod.ts";
import { withHost } from "../support/hosting.ts";
import { REVISION, accept, envelope, onlyKey, textOf } from "../support/rpc.ts";
import type { Gate } from "../support/until.ts";
import { gate, until } from "../support/until.ts";

const PLAIN = { capabilities: { elicitation: {}, roots: {} } };

const tools = (host: Host) => {
  host.tool("external", { task: "required" }, (_input, task) => task.external());
  host.tool("takes", { inputSchema: z.object({ text: z.string() }) }, ({ text }) => `${text.length}`);
  host.tool("gives", { inputSchema: z.object({ length: z.number() }) }, ({ length }) => "é".repeat(length));
  host.tool("asks", {}, async (_input, task) => (await task.roots()).length.toString());
};

function tooLarge(what: string, bytes: number, limit: number, option: string): object {
  return {
    code: -32602,
    message: `${what}: ${bytes} bytes, where ${limit} are allowed. The server's author can raise \`limits.${option}\`.`,
    data: { reason: "too_large", bytes, limit },
  };
}

function quota(message: string): object {
  return { code: -32603, message, data: { reason: "quota_exceeded", retryable: true } };
}

describe("limits.bodyBytes", () => {
  it(
    "refuses a longer request with 413, to the byte, whether its length was announced or not",
    withHost({ tools, options: { limits: { bodyBytes: 2_000 } } }, async ({ rpc, direct, served }) => {
      for (const method of ["tools/call", "tasks/get"]) {
        const params = { name: "takes", taskId: "nobody", arguments: { text: "" }, _meta: envelope() };
        const bare = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }).length;
        const headers = {
          "mcp-protocol-version": REVISION,
          "mcp-method": method,
          "mcp-name": method === "tools/call" ? "takes" : "nobody",
        };
        const body = (bytes: number) => {
          const text = "x".repeat(bytes - bare);
          return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, arguments: { text } } });
        };
        for (const client of [rpc, direct]) {
          const fits = await client.post(body(2_000), { headers });
          assert.equal(fits.status, 200);
          await fits.body?.cancel();
          const over = await client.post(body(2_001), { headers });
          assert.equal(over.status, 413);
          const { error, id } = (await over.json()) as { error: { message: string }; id: unknown };
          assert.equal(id, null);
          assert.match(error.message, /must not exceed 2000 bytes/);
        }
        const chunks = new ReadableStream({
          start(controller) {
            for (let sent = 0; sent < 4; sent += 1) controller.enqueue(new TextEncoder().encode("x".repeat(1_000)));
            controller.close();
          },
        });
        // What `fetch` wants for a body of unknown length; not all types know it.
        const init: RequestInit & { duplex: string } = { method: "POST", body: chunks, duplex: "half" };
        init.headers = { "content-type": "application/json", ...headers };
        const streamed = await fetch(served.url, init);
        assert.equal(streamed.status, 413);
        await streamed.body?.cancel();
      }
    }),
  );
});

describe("limits.argumentBytes", () => {
  it(
    "refuses a call whose arguments are longer, and makes no task",
    withHost({ tools, options: { limits: { argumentBytes: 100 } } }, async ({ rpc }) => {
      // {"text":"…"} is 11 bytes without the text; two bytes each for what is not ASCII.
      assert.equal(textOf(await rpc.call("takes", { text: "x".repeat(89) })), "89");
      assert.equal(textOf(await rpc.call("takes", { text: "é".repeat(44) })), "44");
      const params = (text: string) => ({ name: "takes", arguments: { text } });
      assert.deepEqual(
        await rpc.error("tools/call", params("x".repeat(90))),
        tooLarge("The arguments", 101, 100, "argumentBytes"),
      );
      assert.deepEqual(
        await rpc.error("tools/call", params("é".repeat(45))),
        tooLarge("The arguments", 101, 100, "argumentBytes"),
      );
      const long = { name: "external", arguments: { more: "x".repeat(200) } };
      assert.equal((await rpc.error("tools/call", long)).code, -32602);
    }),
  );
});

describe("limits.resultBytes", () => {
  it(
    "fails a call, and a task, whose result is longer",
    withHost({ tools, options: { limits: { resultBytes: 1_000 } } }, async ({ rpc, host }) => {
      const bare = JSON.stringify({ content: [{ type: "text", text: "" }] }).length;
      const length = Math.floor((1_000 - bare) / 2);
      assert.equal(textOf(await rpc.call("gives", { length })).length, length);
      const error = await rpc.error("tools/call", { name: "gives", arguments: { length: length + 1 } });
      assert.match(error.message, /^The result: \d+ bytes, where 1000 are allowed\./);
      assert.match(error.message, /limits\.resultBytes/);
      const { taskId } = await rpc.task("external");
      await host.task(taskId).complete("x".repeat(1_000));
      const task = (await rpc.get(taskId)) as { status: string; error: { message: string } };
      assert.equal(task.status, "failed");
      assert.match(task.error.message, /^The result: \d+ bytes, where 1000 are allowed\./);
    }),
  );
});

describe("limits.answerBytes", () => {
  it(
    "refuses longer answers whole, in an update and in a round, and the question stays open",
    withHost({ tools, options: { limits: { answerBytes: 200 } } }, async ({ rpc }) => {
      const roots = (length: number) => ({ roots: [{ uri: `file:///${"x".repeat(length)}` }] });
      const { taskId } = await rpc.task("asks");
      const key = onlyKey(await rpc.questions(taskId));
      const error = await rpc.error("tasks/update", { taskId, inputResponses: { [key]: roots(200) } });
      assert.match(error.message, /^The answers: \d+ bytes, where 200 are allowed\. .*limits\.answerBytes/);
      assert.equal(error.code, -32602);
      assert.equal(onlyKey(await rpc.questions(taskId)), key);
      const padding = { [key]: roots(1), other: accept({ padding: "x".repeat(200) }) };
      assert.equal((await rpc.error("tasks/update", { taskId, inputResponses: padding })).code, -32602);
      await rpc.update(taskId, { [key]: roots(1) });
      assert.equal((await rpc.get(taskId)).status, "completed");

      const first = await rpc.call("asks", {}, PLAIN);
      const inRound = onlyKey(first["inputRequests"] as object);
      const retry = (length: number) => ({
        name: "asks",
        arguments: {},
        requestState: first["requestState"],
        inputResponses: { [inRound]: roots(length) },
      });
      assert.match((await rpc.error("tools/call", retry(200), PLAIN)).message, /limits\.answerBytes/);
      assert.equal(textOf(await rpc.result("tools/call", retry(1), PLAIN)), "1");
    }),
  );
});

describe("limits.tasks", () => {
  const store = memory();
  it(
    "refuses one more task in words that say to try again, which then leaves nothing and harms no call",
    withHost(
      { tools, options: { store, limits: { tasks: 2 }, ttlMs: 1_000, retainMs: 1, tombstoneMs: 1_000 } },
      async ({ rpc, clock }) => {
        await rpc.task("external");
        const { taskId } = await rpc.task("external");
        const full = quota("The server holds as many tasks as it may. Try again later.");
        assert.deepEqual(await rpc.error("tools/call", { name: "external" }), full);
        // A question would make a task, too.
        assert.deepEqual(await rpc.error("tools/call", { name: "asks" }), full);
        assert.equal(textOf(await rpc.call("takes", { text: "" })), "0");
        assert.equal(await store.count(), 2);
        // An ended task still counts; a forgotten one does not.
        await rpc.cancel(taskId);
        assert.deepEqual(await rpc.error("tools/call", { name: "external" }), full);
        await clock.advance(1_100);
        await rpc.task("external");
      },
    ),
  );
});

describe("limits.running", () => {
  const gates: Gate[] = [];
  it(
    "lets no more handlers work at once; the rest wait in line, and their tasks say so",
    withHost(
      {
        options: { limits: { running: 2 } },
        tools: (host) =>
          host.tool("works", { task: "required" }, async () => {
            const go = gate();
            gates.push(go);
            await go.opened;
            return "worked";
          }),
      },
      async ({ rpc }) => {
        const ids: string[] = [];
        for (let count = 0; count < 4; count += 1) ids.push((await rpc.task("works")).taskId);
        const said = async () => Promise.all(ids.map(async (id) => (await rpc.get(id)).statusMessage ?? "-"));
        const waiting = "Waiting for a free slot";
        assert.equal(gates.length, 2);
        assert.deepEqual(await said(), ["-", "-", waiting, waiting]);
        gates[1]?.open();
        await until(() => gates.length === 3, "the third to start");
        assert.deepEqual(await said(), ["-", "-", "-", waiting]);
        assert.equal((await rpc.get(String(ids[1]))).status, "completed");
        // One that is cancelled in line never starts, and one that is cancelled at work makes room.
        await rpc.cancel(String(ids[3]));
        await rpc.cancel(String(ids[0]));
        ids.push((await rpc.task("works")).taskId);
        await until(() => gates.length === 4, "the fifth to start in the place of the first");
        for (const go of gates) go.open();
        await until(() => gates.length === 4, "nobody else to start");
        assert.equal((await rpc.get(String(ids[3]))).status, "cancelled");
      },
    ),
  );
});

describe("limits.rounds", () => {
  it(
    "refuses one more call that asks, and takes it once there is room",
    withHost({ tools, options: { limits: { rounds: 1 } }, client: PLAIN }, async ({ rpc }) => {
      const first = await rpc.call("asks");
      assert.deepEqual(
        await rpc.error("tools/call", { name: "asks" }),
        quota("The server waits for as many answers as it may. Try again later."),
      );
      await rpc.result("tools/call", {
        name: "asks",
        arguments: {},
        requestState: first["requestState"],
        inputResponses: { [onlyKey(first["inputRequests"] as object)]: { roots: [] } },
      });
      assert.equal((await rpc.call("asks"))["resultType"], "input_required");
    }),
  );
});

describe("limits.subscriptions", () => {
  it(
    "refuses one more subscription, and takes it once there is room",
    withHost({ tools, options: { limits: { subscriptions: 2 } } }, async ({ rpc, host }) => {
      const { taskId } = await rpc.task("external");
      const first = await rpc.listen({ taskIds: [taskId] });
      const second = await rpc.listen({ taskIds: [taskId] });
      const filter = { notifications: { taskIds: [taskId] } };
      assert.deepEqual(await rpc.error("subscriptions/listen", filter), {
        code: -32603,
        message: "Subscription limit reached",
      });
      // One that ends takes no place; neither does one that had nothing to listen to.
      await host.task(taskId).complete();
      await first.events.rest();
      await second.events.rest();
      for (let times = 0; times < 3; times += 1) await (await rpc.listen({ taskIds: ["nobody"] })).events.rest();
      await (await rpc.listen({ taskIds: [taskId] })).events.rest();
    }),
  );
});

describe("limits.taskIdsPerSubscription", () => {
  it(
    "refuses a longer filter, counting each id once",
    withHost({ tools, options: { limits: { taskIdsPerSubscription: 3 } } }, async ({ rpc }) => {
      const { taskId } = await rpc.task("external");
      const { events } = await rpc.listen({ taskIds: [taskId, "a", taskId, "b", "a"] });
      await events.leave();
      const filter = { notifications: { taskIds: [taskId, "a", "b", "c"] } };
      assert.deepEqual(await rpc.error("subscriptions/listen", filter), {
        code: -32602,
        message: "Invalid params: notifications.taskIds may name 3 tasks, not 4",
      });
    }),
  );
});
