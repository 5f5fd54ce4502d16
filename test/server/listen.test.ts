// subscriptions/listen with task ids, over HTTP.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { createTasks, memory, serve } from "../../src/mod.ts";
import type { Host, JsonObject, TaskStore } from "../../src/mod.ts";
import { runningOn } from "../../scripts/lib/runtimes.mjs";
import { FakeClock, turn } from "../support/clock.ts";
import { EventReader } from "../support/events.ts";
import { takeReports, withHost } from "../support/hosting.ts";
import type { Listening } from "../support/rpc.ts";
import { CLIENT_INFO_KEY, Rpc, SERVER_INFO_KEY, SUBSCRIPTION_KEY, TASKS, accept, onlyKey } from "../support/rpc.ts";
import { gate, patiently, until } from "../support/until.ts";

const UNKNOWN = "786512e2-9e0d-44bd-8f29-789f320fe840";

/** Tasks that go on until something else ends them: the test drives them through `host.task`. */
const external = (host: Host) => {
  host.tool("external", { task: "required" }, (_input, task) => task.external());
  host.tool("asks", { task: "required" }, async (_input, task) => JSON.stringify(await task.roots()));
};

/** What a notification says of its task: `working: half-way`. */
function told(message: JsonObject | undefined): string {
  if (message?.["method"] !== "notifications/tasks") return JSON.stringify(message);
  const { status, statusMessage } = message["params"] as { status: string; statusMessage?: string };
  return statusMessage === undefined ? status : `${status}: ${statusMessage}`;
}

/** What the next messages of a subscription say of its task. */
async function tell({ events }: Listening, count: number): Promise<string[]> {
  const said: string[] = [];
  for (let left = count; left > 0; left -= 1) said.push(told(await events.next()));
  return said;
}

describe("a subscription to tasks", () => {
  it(
    "is acknowledged with the ids of tasks there are, once each, and gets their present states right after",
    withHost({ tools: external }, async ({ rpc, host }) => {
      const first = await rpc.task("external");
      const second = await rpc.task("asks");
      await host.task(first.taskId).status("half-way");
      const taskIds = [second.taskId, UNKNOWN, first.taskId, second.taskId];
      const listening = await rpc.listen({ taskIds }, { id: 7 });
      assert.deepEqual(listening.acknowledged.notifications, { taskIds: [second.taskId, first.taskId] });
      assert.deepEqual(await tell(listening, 2), ["input_required", "working: half-way"]);
      assert.equal(listening.response.headers.get("x-accel-buffering"), "no");
      assert.match(String(listening.response.headers.get("cache-control")), /no-cache/);
      await listening.events.leave();
    }),
  );

  it(
    "gets every change once, in order, to the end, and then its own",
    withHost({ tools: external }, async ({ rpc, host }) => {
      const { taskId } = await rpc.task("external");
      const task = host.task(taskId);
      const listening = await rpc.listen({ taskIds: [taskId] }, { id: "sub" });
      assert.deepEqual(await tell(listening, 1), ["working"]);
      const steps = Array.from({ length: 20 }, (_, step) => `step ${step}`);
      for (const step of steps) await task.status(step);
      await task.status("step 19");
      await task.complete("done");
      await task.status("too late");
      assert.deepEqual(await tell(listening, 21), [...steps.map((step) => `working: ${step}`), "completed"]);
      assert.deepEqual(await listening.events.rest(), [
        {
          jsonrpc: "2.0",
          id: "sub",
          result: {
            resultType: "complete",
            _meta: { [SERVER_INFO_KEY]: { name: "test-host", version: "1.2.3" }, [SUBSCRIPTION_KEY]: "sub" },
          },
        },
      ]);
    }),
  );

  it(
    "sees a question asked, answered in part and in whole, and the task go on",
    withHost(
      {
        tools: (host) =>
          host.tool("asks_two", { task: "required" }, async (_input, task) => {
            await task.sleep("first", 10);
            await Promise.all([task.roots(), task.roots()]);
            await task.sleep("then", 10);
            return "answered";
          }),
      },
      async ({ rpc, clock }) => {
        const { taskId } = await rpc.task("asks_two");
        const listening = await rpc.listen({ taskIds: [taskId] });
        await clock.advance(10);
        const open = async () => {
          const { params } = (await listening.events.next()) as { params: { inputRequests?: object } };
          return Object.keys(params.inputRequests ?? {});
        };
        assert.deepEqual(await open(), []);
        let keys = await open();
        // The two questions are one change or two, as the store had time for.
        if (keys.length === 1) keys = await open();
        const [first = "", second = ""] = keys;
        await rpc.update(taskId, { [second]: { roots: [] } });
        assert.deepEqual(await open(), [first]);
        await rpc.update(taskId, { [first]: { roots: [] } });
        assert.deepEqual(await tell(listening, 1), ["working"]);
        await clock.advance(10);
        assert.deepEqual(await tell(listening, 1), ["completed"]);
      },
    ),
  );

  it(
    "opened after the task ended gets its end, and then its own",
    withHost({ tools: external }, async ({ rpc, host, direct }) => {
      const ends = {
        completed: (id: string) => host.task(id).complete("done"),
        failed: (id: string) => host.task(id).fail(new Error("secret")),
        cancelled: (id: string) => rpc.cancel(id),
      };
      const taskIds: string[] = [];
      for (const end of Object.values(ends)) {
        const { taskId } = await rpc.task("external");
        await end(taskId);
        taskIds.push(taskId);
      }
      for (const client of [rpc, direct]) {
        const { events, acknowledged } = await client.listen({ taskIds });
        assert.deepEqual(acknowledged.notifications, { taskIds });
        const messages = await events.rest();
        assert.ok("result" in (messages.pop() ?? {}));
        assert.deepEqual(
          messages.map(({ params }) => (params as { status: string }).status),
          Object.keys(ends),
        );
      }
    }),
  );

  it(
    "to nothing that there is ends at once, and so says nothing of why",
    withHost({ tools: external, options: { ttlMs: 1_000, retainMs: 1 } }, async ({ rpc, clock }) => {
      const { taskId } = await rpc.task("external");
      await clock.advance(1_001);
      for (const taskIds of [[], [UNKNOWN], [taskId], ["", "constructor", "a".repeat(10_000)]]) {
        const { events, acknowledged } = await rpc.listen({ taskIds });
        assert.deepEqual(acknowledged.notifications, {});
        const [end, ...more] = await events.rest();
        assert.ok(end !== undefined && "result" in end);
        assert.deepEqual(more, []);
      }
    }),
  );

  it(
    "ends by itself only when the last of its tasks has ended",
    withHost({ tools: external }, async ({ rpc, host }) => {
      const tasks = [await rpc.task("external"), await rpc.task("external"), await rpc.task("external")];
      const listening = await rpc.listen({ taskIds: tasks.map(({ taskId }) => taskId) });
      assert.deepEqual(await tell(listening, 3), ["working", "working", "working"]);
      for (const { taskId } of tasks) {
        await host.task(taskId).complete(taskId);
        assert.equal(told(await listening.events.next()), "completed");
      }
      assert.equal((await listening.events.rest()).length, 1);
    }),
  );

  it(
    "hears of a task's expiry",
    withHost({ tools: external, options: { ttlMs: 1_000 } }, async ({ rpc, clock }) => {
      const { taskId } = await rpc.task("external");
      const listening = await rpc.listen({ taskIds: [taskId] });
      await clock.advance(1_000);
      assert.deepEqual(await tell(listening, 2), ["working", "failed: Task has expired"]);
      assert.equal((await listening.events.rest()).length, 1);
    }),
  );

  it(
    "is one of many: each gets its own id on every message, over the same or another client",
    withHost({ tools: external }, async ({ rpc, host }) => {
      const { taskId } = await rpc.task("external");
      const ids = [1, "1", 0, "", "a b", Number.MAX_SAFE_INTEGER];
      const all = await Promise.all(ids.map((id) => rpc.listen({ taskIds: [taskId] }, { id })));
      await host.task(taskId).status("all of you");
      await host.task(taskId).complete();
      for (const [at, { acknowledged, events }] of all.entries()) {
        assert.deepEqual(acknowledged._meta, { [SUBSCRIPTION_KEY]: ids[at] });
        const messages = await events.rest();
        assert.equal(messages.length, 4);
        for (const message of messages) {
          const { _meta } = (message["params"] ?? message["result"]) as { _meta: JsonObject };
          assert.equal(_meta[SUBSCRIPTION_KEY], ids[at]);
        }
      }
    }),
  );

  it(
    "is refused for a filter that is none, saying so",
    withHost({}, async ({ rpc }) => {
      for (const taskIds of [null, "a", {}, 7, [7], ["a", null], [["a"]]]) {
        const params = { notifications: { taskIds } };
        const { status, message } = await rpc.request("subscriptions/listen", params, { id: 9 });
        assert.equal(status, 200);
        assert.deepEqual(message, {
          jsonrpc: "2.0",
          id: 9,
          error: { code: -32602, message: "Invalid params: notifications.taskIds must be an array of strings" },
        });
      }
    }),
  );

  it("misses no change that falls between its request and its start", async () => {
    const inner = memory();
    const looking = gate();
    const looked = gate();
    let slow = false;
    const store: TaskStore = Object.assign(Object.create(inner) as TaskStore, {
      create: inner.create.bind(inner),
      put: inner.put.bind(inner),
      delete: inner.delete.bind(inner),
      due: inner.due.bind(inner),
      nextDue: inner.nextDue.bind(inner),
      close: inner.close.bind(inner),
      get: async (taskId: string) => {
        const task = await inner.get(taskId);
        if (slow) {
          looking.open();
          await looked.opened;
        }
        return task;
      },
    });
    const other = { taskId: "" };
    await withHost({ tools: external, options: { store } }, async ({ rpc, host }) => {
      // An ended task is read from the store, which takes its time; meanwhile the live one goes on.
      other.taskId = (await rpc.task("external")).taskId;
      await rpc.cancel(other.taskId);
      const { taskId } = await rpc.task("external");
      slow = true;
      const listen = rpc.listen({ taskIds: [other.taskId, taskId] });
      await looking.opened;
      await host.task(taskId).status("meanwhile");
      looked.open();
      slow = false;
      const listening = await listen;
      const said = (await tell(listening, 2)).map((text) => text.replace(/cancelled.*/, "cancelled"));
      assert.deepEqual(said.toSorted(), ["cancelled", "working: meanwhile"]);
      await host.task(taskId).complete();
      assert.deepEqual(await tell(listening, 1), ["completed"]);
    })();
  });

  it("is refused when the store fails, rather than told that there are no such tasks", async () => {
    const store = memory();
    const failing = Object.assign(Object.create(store) as TaskStore, {
      create: store.create.bind(store),
      put: store.put.bind(store),
      due: store.due.bind(store),
      nextDue: store.nextDue.bind(store),
      close: store.close.bind(store),
      get: async () => {
        throw new Error("no disk");
      },
    });
    await withHost({ tools: external, options: { store: failing } }, async ({ rpc, reported }) => {
      const error = await rpc.error("subscriptions/listen", { notifications: { taskIds: [UNKNOWN] } });
      assert.deepEqual(error, { code: -32603, message: "Internal error" });
      assert.deepEqual(takeReports(reported), ["-: no disk"]);
    })();
  });
});

describe("a subscription by an unusual client", () => {
  const clients: { [what: string]: Parameters<Rpc["as"]>[0] } = {
    "whose capabilities hold more than objects": {
      capabilities: { ...TASKS, roots: { listChanged: true }, experimental: { a: { b: 1 } } },
    },
    "that says more of itself": {
      meta: { [CLIENT_INFO_KEY]: { name: "c", version: "1", websiteUrl: "https://example.com", icons: [] } },
    },
    "that does not say who it is": { meta: { [CLIENT_INFO_KEY]: undefined } },
    "that traces its requests": { meta: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" } },
    "that asks for progress": { meta: { progressToken: 1 } },
    "that asks for log messages": { meta: { "io.modelcontextprotocol/logLevel": "debug" } },
  };
  for (const [what, variation] of Object.entries(clients)) {
    it(
      `${what} is a subscription like any other`,
      withHost({ tools: external }, async ({ rpc, host }) => {
        const { taskId } = await rpc.task("external");
        const unusual = rpc.as(variation);
        assert.equal((await unusual.get(taskId)).status, "working");
        const listening = await unusual.listen({ taskIds: [taskId, UNKNOWN] }, { id: 5 });
        assert.deepEqual(listening.acknowledged.notifications, { taskIds: [taskId] });
        assert.deepEqual(await tell(listening, 1), ["working"]);
        await host.task(taskId).complete();
        assert.deepEqual(await tell(listening, 1), ["completed"]);
        const [end, ...more] = await listening.events.rest();
        assert.deepEqual([end?.["id"], more], [5, []]);
      }),
    );
  }

  it(
    "that does not know tasks is refused all the same",
    withHost({}, async ({ rpc }) => {
      for (const variation of Object.values(clients)) {
        const { extensions: _no, ...capabilities } = { extensions: undefined, ...variation.capabilities };
        const reply = await rpc.request(
          "subscriptions/listen",
          { notifications: { taskIds: [UNKNOWN] } },
          { ...variation, capabilities },
        );
        assert.deepEqual([reply.status, (reply.message["error"] as JsonObject)["code"]], [400, -32021]);
      }
    }),
  );
});

describe("a subscription to tasks and more", () => {
  const options = { serverOptions: { capabilities: { resources: { subscribe: true, listChanged: true } } } };

  it(
    "gets both, each when it happens, and goes on when its tasks have ended",
    withHost({ tools: external, options }, async ({ rpc, host }) => {
      const { taskId } = await rpc.task("external");
      const uri = "file:///config.json";
      const filter = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [uri] };
      const { events, acknowledged } = await rpc.listen({ taskIds: [taskId], ...filter }, { id: "both" });
      // Prompts are nothing this server announces.
      assert.deepEqual(acknowledged.notifications, {
        toolsListChanged: true,
        resourceSubscriptions: [uri],
        taskIds: [taskId],
      });
      assert.equal(told(await events.next()), "working");
      host.notify.toolsChanged();
      const changed = await events.next();
      assert.equal(changed?.["method"], "notifications/tools/list_changed");
      assert.deepEqual((changed?.["params"] as JsonObject | undefined)?.["_meta"], { [SUBSCRIPTION_KEY]: "both" });
      host.notify.resourceUpdated("file:///other.json");
      host.notify.resourceUpdated(uri);
      assert.equal(((await events.next())?.["params"] as JsonObject | undefined)?.["uri"], uri);
      await host.task(taskId).complete();
      assert.equal(told(await events.next()), "completed");
      host.notify.toolsChanged();
      assert.equal((await events.next())?.["method"], "notifications/tools/list_changed");
      await events.leave();
    }),
  );

  it(
    "is refused in the SDK's words where the rest of its filter is none",
    withHost({ tools: external }, async ({ rpc }) => {
      const { taskId } = await rpc.task("external");
      const filter = { taskIds: [taskId], toolsListChanged: "yes" };
      const { code, message } = await rpc.error("subscriptions/listen", { notifications: filter });
      assert.equal(code, -32602);
      assert.match(message, /SubscriptionFilter/);
    }),
  );

  it(
    "of which nothing but tasks is honoured ends with them",
    withHost({ tools: external }, async ({ rpc, host }) => {
      const { taskId } = await rpc.task("external");
      const { events, acknowledged } = await rpc.listen({ taskIds: [taskId], promptsListChanged: true, unknown: 1 });
      assert.deepEqual(acknowledged.notifications, { taskIds: [taskId] });
      assert.equal(told(await events.next()), "working");
      await host.task(taskId).complete();
      assert.equal(told(await events.next()), "completed");
      assert.equal((await events.rest()).length, 1);
    }),
  );

  it(
    "without tasks is the SDK's alone",
    withHost({ tools: external }, async ({ rpc, host }) => {
      const { events, acknowledged } = await rpc.listen({ toolsListChanged: true }, { capabilities: {} });
      assert.deepEqual(acknowledged.notifications, { toolsListChanged: true });
      host.notify.toolsChanged();
      assert.equal((await events.next())?.["method"], "notifications/tools/list_changed");
      await events.leave();
    }),
  );

  it(
    "gives the SDK's part back, too, when its reader leaves",
    withHost({ tools: external, options: { limits: { subscriptions: 1 } } }, async ({ rpc, direct, host }) => {
      const { taskId } = await rpc.task("external");
      // One place for each of the two: a subscription that is not given back refuses the next.
      for (let times = 0; times < 3; times += 1) {
        const { events, acknowledged } = await direct.listen({ taskIds: [taskId], toolsListChanged: true });
        assert.deepEqual(acknowledged.notifications, { toolsListChanged: true, taskIds: [taskId] });
        assert.equal(told(await events.next()), "working");
        await events.leave();
        await turn(3);
      }
      // And so does one that is refused by us after the SDK took it.
      const busy = await direct.listen({ taskIds: [taskId] });
      const error = await direct.error("subscriptions/listen", {
        notifications: { taskIds: [taskId], toolsListChanged: true },
      });
      assert.deepEqual(error, { code: -32603, message: "Subscription limit reached" });
      await turn(3);
      const { events } = await direct.listen({ toolsListChanged: true });
      host.notify.toolsChanged();
      assert.equal((await events.next())?.["method"], "notifications/tools/list_changed");
      await events.leave();
      await busy.events.leave();
    }),
  );
});

/** Tasks of an SDK server, served, with what they hold laid open. */
async function withTasks(
  options: Parameters<typeof createTasks>[0],
  test: (given: { tasks: ReturnType<typeof createTasks>; rpc: Rpc; direct: Rpc; clock: FakeClock }) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  const tasks = createTasks({ clock, ...options });
  const handler = tasks.wrap(
    createMcpHandler(() => {
      const server = new McpServer({ name: "sdk", version: "1" });
      server.registerTool("external", {}, (ctx) => {
        const task = tasks.context(ctx);
        return new Promise((resolve) => {
          const id = String(task?.taskId);
          ends.set(id, () => resolve({ content: [] }));
        });
      });
      return tasks.adopt(server, { external: "required" });
    }),
  );
  const ends = new Map<string, () => void>();
  const served = await serve(handler, { port: 0 });
  try {
    await patiently(() => test({ tasks, clock, rpc: new Rpc(served.url), direct: new Rpc(handler) }));
  } finally {
    await served.close();
  }
  assert.deepEqual([tasks.sizes.subscriptions, tasks.sizes.watched], [0, 0]);
}

describe("a reader", () => {
  it("that goes is forgotten at once, over HTTP and without", () =>
    withTasks({}, async ({ tasks, rpc, direct }) => {
      const { taskId } = await rpc.task("external");
      const watched = tasks.sizes.watched;
      for (const client of [rpc, direct]) {
        const all = await Promise.all([1, 2, 3].map(() => client.listen({ taskIds: [taskId] })));
        assert.equal(tasks.sizes.subscriptions, 3);
        for (const { events } of all) await events.next();
        for (const { events } of all) await events.leave();
        await until(() => tasks.sizes.subscriptions === 0, "the subscriptions to be dropped");
      }
      assert.equal(tasks.sizes.watched, watched);
    }));

  it("whose request is aborted is forgotten at once", () =>
    withTasks({}, async ({ tasks, rpc, direct }) => {
      const { taskId } = await rpc.task("external");
      for (const client of [rpc, direct]) {
        const abort = new AbortController();
        const { events } = await client.listen({ taskIds: [taskId] }, { signal: abort.signal });
        await events.next();
        abort.abort();
        await events.next().catch(() => {});
        await until(() => tasks.sizes.subscriptions === 0, "the subscription to be dropped");
      }
    }));

  it("that has gone before the answer leaves nothing", () =>
    withTasks({}, async ({ tasks, direct, rpc }) => {
      const { taskId } = await rpc.task("external");
      const response = await direct.send(
        "subscriptions/listen",
        { notifications: { taskIds: [taskId] } },
        { signal: AbortSignal.abort() },
      );
      await response.body?.cancel();
      assert.equal(tasks.sizes.subscriptions, 0);
    }));

  it("that is slow gets the newest state of each task, and what waits for it is bounded", () =>
    withTasks({}, async ({ tasks, direct, rpc }) => {
      const { taskId: loud } = await rpc.task("external");
      const { taskId: quiet } = await rpc.task("external");
      const response = await direct.send("subscriptions/listen", { notifications: { taskIds: [loud, quiet] } });
      assert.ok(response.body !== null);
      // Nothing is read: the stream fills up, and then only the newest state of each waits.
      const filler = "x".repeat(10_000);
      for (let count = 0; count < 200; count += 1) {
        await tasks.task(loud).status(`${count} ${filler}`);
        if (count === 100) await tasks.task(quiet).status("said once");
      }
      const events = new EventReader(response.body);
      const acknowledged = await events.next();
      assert.equal(acknowledged?.["method"], "notifications/subscriptions/acknowledged");
      const said: string[] = [];
      const wanted = new Set([`working: 199 ${filler}`, "working: said once"]);
      let bytes = 0;
      while (wanted.size > 0) {
        const text = told(await events.next());
        bytes += text.length;
        wanted.delete(text);
        said.push(text.slice(0, 30));
      }
      // 64 KiB may wait in the stream, and one state of each task beside it.
      assert.ok(bytes < 64 * 1024 + 3 * 10_100, `${bytes} bytes were kept: ${said.join(" | ")}`);
      const numbers = said.map((text) => Number(/^working: (\d+) /.exec(text)?.[1])).filter((number) => number >= 0);
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
        "in order",
      );
      // It keeps up again, and gets each change.
      await tasks.task(loud).status("again");
      await tasks.task(loud).status("and again");
      assert.equal(told(await events.next()), "working: again");
      assert.equal(told(await events.next()), "working: and again");
      await tasks.task(loud).complete();
      await tasks.task(quiet).complete();
      assert.equal((await events.rest()).length, 3);
    }));

  it("that is slow gets the end of its task, and of its subscription, once it reads", () =>
    withTasks({}, async ({ tasks, direct, rpc }) => {
      const { taskId } = await rpc.task("external");
      const response = await direct.send("subscriptions/listen", { notifications: { taskIds: [taskId] } });
      assert.ok(response.body !== null);
      for (let count = 0; count < 50; count += 1) await tasks.task(taskId).status(`${count} ${"x".repeat(10_000)}`);
      await tasks.task(taskId).complete("done");
      assert.equal(tasks.sizes.subscriptions, 1, "it still waits for its reader");
      const messages = await new EventReader(response.body).rest();
      assert.ok("result" in (messages.pop() ?? {}));
      assert.equal(told(messages.pop()), "completed");
      assert.equal(tasks.sizes.subscriptions, 0);
    }));

  it("of very many tasks gets all their states, however long that is", () =>
    withTasks({}, async ({ tasks, rpc }) => {
      const taskIds: string[] = [];
      const filler = "x".repeat(2_000);
      for (let count = 0; count < 100; count += 1) {
        const { taskId } = await rpc.task("external");
        await tasks.task(taskId).status(`${count} ${filler}`);
        taskIds.push(taskId);
      }
      const listening = await rpc.listen({ taskIds });
      assert.deepEqual(listening.acknowledged.notifications["taskIds"], taskIds);
      assert.deepEqual(
        await tell(listening, 100),
        taskIds.map((_, count) => `working: ${count} ${filler}`),
      );
      await listening.events.leave();
      await until(() => tasks.sizes.subscriptions === 0, "the subscription to be dropped");
    }));
});

describe("a silent subscription", () => {
  it("shows a sign of life as often as the host says, and none once it is over", () =>
    withTasks({ keepAliveMs: 5_000 }, async ({ tasks, rpc, clock }) => {
      const { taskId } = await rpc.task("external");
      const { events } = await rpc.listen({ taskIds: [taskId] });
      assert.equal(told(await events.next()), "working");
      for (let times = 0; times < 3; times += 1) {
        await clock.advance(4_999);
        await tasks.task(taskId).status(`still ${times}`);
        assert.equal(told(await events.next()), `working: still ${times}`);
        await clock.advance(1);
        assert.deepEqual(await events.frame(), { kind: "comment", text: ": keepalive" });
      }
      await tasks.task(taskId).complete();
      assert.equal(told(await events.next()), "completed");
      assert.equal((await events.rest()).length, 1);
      await clock.advance(5_000);
      const { untilNext = 10 ** 9 } = clock;
      assert.ok(untilNext > 60_000, `no timer but the task's own is left: ${untilNext}`);
    }));

  it("shows none where the host says never", () =>
    withTasks({ keepAliveMs: 0 }, async ({ tasks, rpc, clock }) => {
      const { taskId } = await rpc.task("external");
      const { events } = await rpc.listen({ taskIds: [taskId] });
      await clock.advance(60_000);
      await tasks.task(taskId).complete();
      const frames = [await events.frame(), await events.frame()];
      assert.deepEqual(
        frames.map((frame) => frame?.kind),
        ["message", "message"],
      );
    }));

  it("does not pile up signs of life for a reader that takes none", () =>
    withTasks({ keepAliveMs: 1 }, async ({ tasks, rpc, direct, clock }) => {
      const { taskId } = await rpc.task("external");
      const response = await direct.send("subscriptions/listen", { notifications: { taskIds: [taskId] } });
      assert.ok(response.body !== null);
      await clock.advance(20_000);
      await tasks.task(taskId).complete();
      let bytes = 0;
      const reader: { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> } = response.body.getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) bytes += read.value?.length ?? 0;
      assert.ok(bytes < 70 * 1024, `${bytes} bytes`);
    }));

  if (runningOn() === "bun") {
    it("outlives Bun's idle timeout of ten seconds, for real", async () => {
      const tasks = createTasks({});
      const handler = tasks.wrap(
        createMcpHandler(() => {
          const server = new McpServer({ name: "sdk", version: "1" });
          server.registerTool("hangs", {}, () => new Promise(() => {}));
          return tasks.adopt(server, { hangs: "required" });
        }),
      );
      const served = await serve(handler, { port: 0 });
      try {
        const rpc = new Rpc(served.url);
        const { taskId } = await rpc.task("hangs");
        const { events } = await rpc.listen({ taskIds: [taskId] });
        assert.equal(told(await events.next()), "working");
        const silent = Date.now();
        const comments: string[] = [];
        while (Date.now() - silent < 11_000) {
          const frame = await events.frame();
          assert.equal(frame?.kind, "comment");
          comments.push(frame.text);
        }
        assert.ok(comments.length >= 2);
        await rpc.cancel(taskId);
        assert.match(told(await events.next()), /^cancelled/);
      } finally {
        await served.close();
      }
    });
  }
});

describe("a host that closes", () => {
  it("tells every reader how its tasks ended, and ends every stream", () =>
    withTasks({}, async ({ tasks, rpc }) => {
      const ids = [await rpc.task("external"), await rpc.task("external"), await rpc.task("external")].map(
        ({ taskId }) => taskId,
      );
      const all = await Promise.all(ids.map((taskId) => rpc.listen({ taskIds: [taskId, ...ids] }, { id: taskId })));
      const closing = tasks.close();
      for (const [at, { events }] of all.entries()) {
        const messages = await events.rest();
        assert.equal(messages.pop()?.["id"], ids[at]);
        const last = new Map<unknown, string>();
        for (const message of messages) last.set((message["params"] as JsonObject)["taskId"], told(message));
        assert.deepEqual(
          ids.map((taskId) => last.get(taskId)),
          ids.map(() => "failed: The server shut down before the work was done"),
        );
      }
      await closing;
      assert.equal(tasks.sizes.subscriptions, 0);
    }));

  it("tells even a slow reader the last of each task", () =>
    withTasks({}, async ({ tasks, direct, rpc }) => {
      const ids = [(await rpc.task("external")).taskId, (await rpc.task("external")).taskId];
      const response = await direct.send("subscriptions/listen", { notifications: { taskIds: ids } });
      assert.ok(response.body !== null);
      for (let count = 0; count < 20; count += 1) {
        for (const taskId of ids) await tasks.task(taskId).status(`${count} ${"x".repeat(10_000)}`);
      }
      await tasks.close();
      const messages = await new EventReader(response.body).rest();
      assert.ok("result" in (messages.pop() ?? {}));
      const ends = messages.slice(-2).map(told);
      assert.deepEqual(ends, ids.map(() => "failed: The server shut down before the work was done"));
    }));
});

describe("an update", () => {
  it(
    "is seen by a listener no later than its acknowledgement by tasks/get",
    withHost({ tools: external }, async ({ rpc }) => {
      const { taskId } = await rpc.task("asks");
      const listening = await rpc.listen({ taskIds: [taskId] });
      assert.deepEqual(await tell(listening, 1), ["input_required"]);
      const key = onlyKey(await rpc.questions(taskId));
      await rpc.update(taskId, { [key]: { roots: [] }, other: accept() });
      assert.equal((await rpc.get(taskId)).status, "completed");
      const said = (await listening.events.rest()).slice(0, -1).map(told);
      assert.equal(said.at(-1), "completed");
    }),
  );
});
