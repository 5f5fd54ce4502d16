// A host on standard input and output, in a real process of the runtime that the tests run on.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runningOn } from "../../scripts/lib/runtimes.mjs";
import type { JsonObject } from "../../src/mod.ts";
import { StdioChild, withChild } from "../support/child.ts";
import { SERVER_INFO_KEY, SUBSCRIPTION_KEY, accept, envelope, onlyKey, textOf } from "../support/rpc.ts";
import { until } from "../support/until.ts";

const UNKNOWN = "786512e2-9e0d-44bd-8f29-789f320fe840";
const WITHOUT_TASKS = { capabilities: { elicitation: {} } };
const META = { [SERVER_INFO_KEY]: { name: "stdio-host", version: "1.0.0" } };

/** Of a subscription's notifications, those of one. */
const of = (id: unknown) => (params: JsonObject) =>
  (params["_meta"] as JsonObject | undefined)?.[SUBSCRIPTION_KEY] === id;

describe("a host on stdio", () => {
  it(
    "answers calls inline and as tasks, and the extension's methods, as over HTTP",
    withChild("stdio-host", async (child) => {
      const { capabilities } = await child.result("server/discover");
      assert.deepEqual((capabilities as JsonObject)["extensions"], { "io.modelcontextprotocol/tasks": {} });
      assert.equal(textOf(await child.call("quick")), "done");
      const created = await child.task("external");
      assert.deepEqual(Object.keys(created).toSorted(), [
        "_meta",
        "createdAt",
        "lastUpdatedAt",
        "pollIntervalMs",
        "resultType",
        "status",
        "taskId",
        "ttlMs",
      ]);
      const { taskId } = created;
      assert.deepEqual((await child.result("tasks/get", { taskId }))["_meta"], META);
      await child.call("finish", { taskId, text: "done elsewhere" });
      assert.equal(textOf(((await child.get(taskId)) as { result: unknown }).result), "done elsewhere");
      assert.deepEqual(await child.result("tasks/cancel", { taskId }), { resultType: "complete", _meta: META });
      assert.deepEqual(await child.error("tasks/get", { taskId: UNKNOWN }), {
        code: -32602,
        message: "Failed to retrieve task: Task not found",
      });
    }),
  );

  it(
    "refuses what needs tasks to a client that does not know them",
    withChild("stdio-host", async (child) => {
      const missing = {
        code: -32021,
        message: "Missing required client capability",
        data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
      };
      const { taskId } = await child.task("external");
      for (const [method, params] of Object.entries({
        "tools/call": { name: "external", arguments: {} },
        "tasks/get": { taskId },
        "tasks/update": { taskId, inputResponses: {} },
        "tasks/cancel": { taskId },
        "subscriptions/listen": { notifications: { taskIds: [taskId] } },
      })) {
        assert.deepEqual(await child.error(method, params, WITHOUT_TASKS), missing, method);
      }
      assert.equal((await child.get(taskId)).status, "working");
    }),
  );

  it(
    "asks in a task, and in rounds of a plain call",
    withChild("stdio-host", async (child) => {
      const { taskId } = await child.task("asks");
      const { inputRequests } = (await child.get(taskId)) as unknown as { inputRequests: object };
      const inputResponses = { [onlyKey(inputRequests)]: accept({ name: "Ann" }) };
      const wrong = { [onlyKey(inputRequests)]: {} };
      const refused = await child.error("tasks/update", { taskId, inputResponses: wrong });
      assert.equal(refused.code, -32602);
      assert.equal((refused.data as JsonObject)["key"], onlyKey(inputRequests));
      await child.result("tasks/update", { taskId, inputResponses });
      assert.equal(textOf(((await child.get(taskId)) as { result: unknown }).result), "Hello, Ann");

      let result = await child.call("asks_inline");
      for (const answer of [accept({ name: "Ann" }), { roots: [{ uri: "file:///home" }] }]) {
        assert.equal(result["resultType"], "input_required");
        const { requestState } = result;
        const inputResponses = { [onlyKey(result["inputRequests"] as object)]: answer };
        result = await child.result("tools/call", { name: "asks_inline", arguments: {}, requestState, inputResponses });
      }
      assert.equal(textOf(result), "Hello, Ann, at file:///home");
    }),
  );

  it(
    "reports the progress of a plain call before its result",
    withChild("stdio-host", async (child) => {
      const id = child.begin("tools/call", { name: "counts", arguments: {} }, { meta: { progressToken: "p" } });
      assert.equal(textOf((await child.response(id))["result"]), "counted");
      assert.deepEqual(
        child.unread.map(({ method, params }) => [method, params]),
        [1, 2, 3].map((progress) => ["notifications/progress", { progressToken: "p", progress, total: 3 }]),
      );
    }),
  );

  it(
    "writes each message on a line of its own, whatever is in it",
    withChild("stdio-host", async (child) => {
      const text = textOf(await child.call("long", { length: 100_000 }));
      assert.equal(text, `${"line\n".repeat(100_000)}é"\u2028`);
    }),
  );

  it(
    "survives what is no message, and answers the next",
    withChild("stdio-host", async (child) => {
      assert.equal(textOf(await child.call("quick")), "done");
      for (const line of ["", "nonsense", "{", "[]", "null", "7", '{"jsonrpc":"2.0"}', '{"id":1}', "\u0000"]) {
        child.write(`${line}\n`);
      }
      child.send({ jsonrpc: "2.0", id: "response", result: {} });
      child.send({ jsonrpc: "2.0", method: "notifications/cancelled" });
      child.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: {} } });
      child.send({ jsonrpc: "2.0", method: "notifications/unknown" });
      assert.equal(textOf(await child.call("quick")), "done");
    }),
  );

  it(
    "takes many calls at once, in pieces that end anywhere",
    withChild("stdio-host", async (child) => {
      const quick = { name: "quick", arguments: {} };
      const ids = Array.from({ length: 50 }, (_, at) => child.begin("tools/call", quick, { id: `c${at}` }));
      for (const id of ids.toReversed()) assert.equal(textOf((await child.response(id))["result"]), "done");
      const torn = { jsonrpc: "2.0", id: "torn", method: "server/discover", params: { _meta: envelope() } };
      const text = `${JSON.stringify(torn)}\n`;
      for (let at = 0; at < text.length; at += 7) child.write(text.slice(at, at + 7));
      assert.ok("result" in (await child.response("torn")));
    }),
  );
});

describe("cancelling on stdio", () => {
  it(
    "by notification stops a plain call: its signal fires, and nothing more is said of it",
    withChild("stdio-host", async (child) => {
      const id = child.begin("tools/call", { name: "hangs_inline", arguments: {} });
      // Another call goes by, so that the first has started.
      await child.call("quick");
      child.notify("notifications/cancelled", { requestId: id, reason: "changed my mind" });
      assert.equal(textOf(await child.call("aborted")), "hangs_inline: The request was cancelled");
      assert.deepEqual(child.unread, []);
    }),
  );

  it(
    "by notification does nothing to a task, whose call was answered long ago",
    withChild("stdio-host", async (child) => {
      const id = child.begin("tools/call", { name: "hangs", arguments: {} });
      const { taskId } = (await child.response(id))["result"] as { taskId: string };
      child.notify("notifications/cancelled", { requestId: id });
      assert.equal((await child.get(taskId)).status, "working");
      assert.equal(textOf(await child.call("aborted")), "");
      await child.result("tasks/cancel", { taskId });
      assert.equal((await child.get(taskId)).status, "cancelled");
      assert.equal(textOf(await child.call("aborted")), "hangs: The task was cancelled by request.");
    }),
  );
});

describe("listening on stdio", () => {
  it(
    "gets the acknowledgement, the present states, every change in order, and its end",
    withChild("stdio-host", async (child) => {
      const first = (await child.task("external")).taskId;
      const second = (await child.task("external")).taskId;
      const filter = { taskIds: [first, UNKNOWN, second] };
      const listen = child.begin("subscriptions/listen", { notifications: filter }, { id: "sub" });
      for (let step = 0; step < 5; step += 1) await child.call("tell", { taskId: first, status: `step ${step}` });
      await child.call("finish", { taskId: second, text: "second" });
      await child.call("finish", { taskId: first, text: "first" });
      const end = await child.response(listen);
      assert.deepEqual(end, {
        jsonrpc: "2.0",
        id: "sub",
        result: { resultType: "complete", _meta: { ...META, [SUBSCRIPTION_KEY]: "sub" } },
      });
      const [acknowledged, ...states] = child.unread;
      assert.deepEqual(acknowledged, {
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: { notifications: { taskIds: [first, second] }, _meta: { [SUBSCRIPTION_KEY]: "sub" } },
      });
      const told = (taskId: string) =>
        states
          .map(({ params }) => params as JsonObject)
          .filter((params) => params["taskId"] === taskId)
          .map(({ status, statusMessage }) => [status, statusMessage].filter(Boolean).join(" "));
      const steps = [0, 1, 2, 3, 4].map((step) => `working step ${step}`);
      assert.deepEqual(told(first), ["working", ...steps, "completed"]);
      assert.deepEqual(told(second), ["working", "completed"]);
      assert.ok(states.every(({ method }) => method === "notifications/tasks"));
      assert.ok(states.every(({ params }) => of("sub")(params as JsonObject)));
    }),
  );

  it(
    "after the task's end gets the end right away",
    withChild("stdio-host", async (child) => {
      const { taskId } = await child.task("external");
      await child.call("finish", { taskId, text: "done" });
      const listen = child.begin("subscriptions/listen", { notifications: { taskIds: [taskId] } });
      assert.ok("result" in (await child.response(listen)));
      assert.deepEqual(
        child.unread.map(({ method, params }) => [method, (params as JsonObject)["status"]]),
        [
          ["notifications/subscriptions/acknowledged", undefined],
          ["notifications/tasks", "completed"],
        ],
      );
    }),
  );

  it(
    "may be mixed with what the SDK announces, which goes on when the tasks have ended",
    withChild("stdio-host", async (child) => {
      const { taskId } = await child.task("external");
      const others = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["file:///a"] };
      child.begin("subscriptions/listen", { notifications: { taskIds: [taskId], ...others } }, { id: 77 });
      const acknowledged = await child.notification("notifications/subscriptions/acknowledged", of(77));
      assert.deepEqual(acknowledged["notifications"], {
        toolsListChanged: true,
        resourceSubscriptions: ["file:///a"],
        taskIds: [taskId],
      });
      assert.equal((await child.notification("notifications/tasks", of(77)))["status"], "working");
      await child.call("finish", { taskId, text: "done" });
      assert.equal((await child.notification("notifications/tasks", of(77)))["status"], "completed");
      await child.call("announce", { uri: "file:///other" });
      await child.call("announce", { uri: "file:///a" });
      await child.notification("notifications/tools/list_changed", of(77));
      await child.notification("notifications/tools/list_changed", of(77));
      assert.equal((await child.notification("notifications/resources/updated", of(77)))["uri"], "file:///a");
      child.notify("notifications/cancelled", { requestId: 77 });
      await child.call("announce", { uri: "file:///a" });
      assert.deepEqual(child.unread, []);
    }),
  );

  it(
    "ends without another word when it is cancelled, and gives its place back",
    withChild("stdio-host", async (child) => {
      const { taskId } = await child.task("external");
      const filter = { notifications: { taskIds: [taskId] } };
      for (let round = 0; round < 5; round += 1) {
        const id = child.begin("subscriptions/listen", filter);
        await child.notification("notifications/tasks", of(id));
        child.notify("notifications/cancelled", { requestId: id });
        await child.call("tell", { taskId, status: `round ${round}` });
      }
      const unread = child.unread.filter(({ method }) => method !== "notifications/subscriptions/acknowledged");
      assert.deepEqual(unread, []);
      // Cancelled before it was begun, as it were.
      const early = child.begin("subscriptions/listen", filter);
      child.notify("notifications/cancelled", { requestId: early });
      await child.call("tell", { taskId, status: "early" });
      // Three fit, and not a fourth.
      for (let count = 0; count < 3; count += 1) {
        const id = child.begin("subscriptions/listen", filter);
        await child.notification("notifications/tasks", of(id));
      }
      assert.deepEqual(await child.error("subscriptions/listen", filter), {
        code: -32603,
        message: "Subscription limit reached",
      });
    }),
  );

  it(
    "under an id that is in use already takes the place of the older one",
    withChild("stdio-host", async (child) => {
      const first = (await child.task("external")).taskId;
      const second = (await child.task("external")).taskId;
      for (const taskId of [first, second]) {
        child.begin("subscriptions/listen", { notifications: { taskIds: [taskId] } }, { id: "same" });
        await child.notification("notifications/tasks", of("same"));
      }
      await child.call("tell", { taskId: first, status: "unheard" });
      await child.call("tell", { taskId: second, status: "heard" });
      const { statusMessage } = await child.notification("notifications/tasks", of("same"));
      assert.equal(statusMessage, "heard");
    }),
  );

  it("tells a client that reads nothing for a while the newest state, and keeps no more", async () => {
    const child = new StdioChild("stdio-host");
    try {
      const { taskId } = await child.task("external");
      const id = child.begin("subscriptions/listen", { notifications: { taskIds: [taskId] } });
      await child.notification("notifications/tasks", of(id));
      const shouting = await child.task("shouts");
      const listen = child.begin("subscriptions/listen", { notifications: { taskIds: [shouting.taskId] } });
      const shouted = () => until(() => child.stderr === "shouted", "the shouting to end");
      // Deno's writes wait for their reader, and all else with them: there, nothing can pile up.
      await (runningOn() === "deno" ? shouted() : child.withoutReading(shouted));
      assert.ok("result" in (await child.response(listen)));
      const states = child.unread.filter(({ params }) => (params as JsonObject)["taskId"] === shouting.taskId);
      const said = states.map(({ params }) => {
        const { status, statusMessage = "" } = params as { status: string; statusMessage?: string };
        return status === "working" ? Number(statusMessage.split(" ")[0]) : status;
      });
      assert.equal(said.pop(), "completed");
      // 5 MB were shouted; what a pipe and the streams at its ends hold is a small part of it.
      if (runningOn() !== "deno") assert.ok(said.length < 250, `${said.length} of 500 were kept`);
      const numbers = said.map(Number);
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
      // The other subscription heard nothing of it, and is as it was.
      await child.call("finish", { taskId, text: "done" });
      assert.equal((await child.notification("notifications/tasks", of(id)))["status"], "completed");
    } finally {
      await child.kill();
    }
  });

  it(
    "is refused for a filter that is none",
    withChild("stdio-host", async (child) => {
      for (const taskIds of [null, "a", [7], {}]) {
        const { code, message } = await child.error("subscriptions/listen", { notifications: { taskIds } });
        assert.deepEqual(
          [code, message],
          [-32602, "Invalid params: notifications.taskIds must be an array of strings"],
        );
      }
      const notifications = { taskIds: [], toolsListChanged: 1 };
      assert.equal((await child.error("subscriptions/listen", { notifications })).code, -32602);
    }),
  );
});

describe("a program on stdio", () => {
  it("ends by itself when its input ends, though tasks and calls go on", async () => {
    const child = new StdioChild("stdio-host");
    try {
      const taskIds: string[] = [];
      for (const tool of ["external", "hangs", "sleeps", "ticks", "asks"]) {
        taskIds.push((await child.task(tool)).taskId);
      }
      const id = child.begin("subscriptions/listen", { notifications: { taskIds, toolsListChanged: true } });
      for (const _ of taskIds) await child.notification("notifications/tasks", of(id));
      child.begin("tools/call", { name: "hangs_inline", arguments: {} });
      await child.call("asks_inline");
      assert.equal(await child.end(), 0);
      assert.deepEqual([child.garbage, child.stderr], [[], ""]);
    } finally {
      await child.kill();
    }
  });

  it("ends when its input ends before a word was said, or in the middle of one", async () => {
    const children = ["", '\n{"jsonrpc":"2.0","id":1,'].map((text) => {
      const child = new StdioChild("stdio-host");
      child.write(text);
      return child;
    });
    try {
      assert.deepEqual(await Promise.all(children.map((child) => child.end())), [0, 0]);
      for (const child of children) assert.deepEqual([child.garbage, child.stderr], [[], ""]);
    } finally {
      for (const child of children) await child.kill();
    }
  });

  it("ends in good order even when its store does not", async () => {
    const child = new StdioChild("stdio-host", ["stuck"]);
    try {
      await child.task("hangs");
      assert.equal(await child.end(), 0);
      assert.deepEqual([child.garbage, child.stderr], [[], ""]);
    } finally {
      await child.kill();
    }
  });

  it("ends when the host is closed, having told how its tasks and subscriptions ended", async () => {
    const child = new StdioChild("stdio-host");
    try {
      const ids: string[] = [];
      for (const tool of ["hangs", "hangs", "asks"]) ids.push((await child.task(tool)).taskId);
      const listen = child.begin("subscriptions/listen", { notifications: { taskIds: ids } });
      for (const _ of ids) await child.notification("notifications/tasks", of(listen));
      const inline = child.begin("tools/call", { name: "hangs_inline", arguments: {} });
      await child.call("quick");
      child.begin("tools/call", { name: "close", arguments: { graceMs: 0 } });
      for (const _ of ids) {
        const { status, error } = await child.notification("notifications/tasks", of(listen));
        assert.deepEqual(
          [status, error],
          ["failed", { code: -32603, message: "The server shut down before the work was done" }],
        );
      }
      assert.ok("result" in (await child.response(listen)));
      assert.deepEqual((await child.response(inline))["error"], {
        code: -32603,
        message: "The server shut down before the work was done",
      });
      assert.equal(await child.end(), 0);
      assert.deepEqual([child.garbage, child.stderr], [[], ""]);
    } finally {
      await child.kill();
    }
  });

  it("refuses new work while it closes, and lets what runs end", async () => {
    const child = new StdioChild("stdio-host");
    try {
      const { taskId } = await child.task("asks");
      const { inputRequests } = (await child.get(taskId)) as unknown as { inputRequests: object };
      await child.call("close", { graceMs: 60_000 });
      const { code, data } = await child.error("tools/call", { name: "quick", arguments: {} });
      assert.deepEqual([code, data], [-32603, { reason: "shutting_down", retryable: true }]);
      const listen = child.begin("subscriptions/listen", { notifications: { taskIds: [taskId] } });
      await child.notification("notifications/tasks", of(listen));
      const inputResponses = { [onlyKey(inputRequests)]: accept({ name: "Ann" }) };
      await child.result("tasks/update", { taskId, inputResponses });
      assert.equal((await child.notification("notifications/tasks", of(listen)))["status"], "working");
      assert.equal((await child.notification("notifications/tasks", of(listen)))["status"], "completed");
      assert.equal(await child.end(), 0);
    } finally {
      await child.kill();
    }
  });

  it("gives up on a message that is longer than it may be", async () => {
    const child = new StdioChild("stdio-host");
    try {
      assert.equal(textOf(await child.call("quick")), "done");
      child.write("x".repeat(300_000));
      assert.equal(await child.end(), 0);
      assert.deepEqual([child.garbage, child.stderr], [[], ""]);
    } finally {
      await child.kill();
    }
  });
});

describe("a client of an older revision on stdio", () => {
  it(
    "is served plain results, and is asked by the SDK in our place",
    withChild("stdio-host", async (child) => {
      const legacy = (id: number, method: string, params: JsonObject) => {
        child.send({ jsonrpc: "2.0", id, method, params });
      };
      const clientInfo = { name: "old", version: "1" };
      const capabilities = { elicitation: {}, roots: {} };
      legacy(1, "initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
      assert.equal(((await child.response(1))["result"] as JsonObject)["protocolVersion"], "2025-11-25");
      child.notify("notifications/initialized");
      legacy(2, "tools/call", { name: "quick", arguments: {} });
      assert.equal(textOf((await child.response(2))["result"]), "done");
      legacy(3, "tools/call", { name: "external", arguments: {} });
      assert.equal(((await child.response(3))["error"] as JsonObject)["code"], -32021);
      legacy(4, "tools/call", { name: "asks_inline", arguments: {} });
      for (const [method, result] of [
        ["elicitation/create", accept({ name: "Ann" })],
        ["roots/list", { roots: [{ uri: "file:///home" }] }],
      ] as const) {
        const { id } = await child.next((message) => message["method"] === method);
        child.send({ jsonrpc: "2.0", id, result });
      }
      assert.equal(textOf((await child.response(4))["result"]), "Hello, Ann, at file:///home");
    }),
  );
});
