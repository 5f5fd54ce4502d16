// Faults that other implementations had about calls, questions and stores, turned round.
import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { z } from "zod";
import type { Host, JsonObject, StoredTask, TaskStore } from "../../src/mod.ts";
import { createHost, memory } from "../../src/mod.ts";
import { watchForNoise } from "../hostile/quiet.ts";
import { FakeClock, turn } from "../support/clock.ts";
import { withHost } from "../support/hosting.ts";
import type { Rpc } from "../support/rpc.ts";
import { Rpc as Client, TASKS, accept, onlyKey, textOf } from "../support/rpc.ts";
import { gate, until } from "../support/until.ts";

const Name = z.object({ name: z.string() });

describe("bad arguments", () => {
  it("return their own error, and make no task and no run (typescript-sdk#1385)", async () => {
    let calls = 0;
    const store = memory();
    await withHost(
      {
        options: { store },
        tools: (host) =>
          host.tool("strict", { inputSchema: z.object({ id: z.number() }), task: "required" }, () => {
            calls += 1;
          }),
      },
      async ({ rpc, host }) => {
        for (const args of [{}, { id: "7" }, { id: null }]) {
          const result = await rpc.call("strict", args);
          assert.equal(result["isError"], true);
          assert.notEqual(result["resultType"], "task");
          assert.match(textOf(result), /Invalid arguments for tool strict: id: /);
        }
        const { message } = await rpc.request("tools/call", { name: "strict", arguments: "none" });
        assert.equal((message["error"] as { code: number }).code, -32602);
        const { ignored: _ignored, ...sizes } = host.sizes;
        assert.ok(Object.values(sizes).every((size) => size === 0), JSON.stringify(sizes));
        assert.deepEqual([calls, await store.count()], [0, 0]);
      },
    )();
  });
});

describe("a handler that goes on after a question", () => {
  it("has the arguments of its call: another's or none never reach it (fastmcp#5143)", async () => {
    const ran: unknown[] = [];
    await withHost(
      {
        tools: (host) =>
          host.tool("books", { inputSchema: z.object({ seat: z.string().default("none") }), task: "forbidden" }, async (input, task) => {
            ran.push(["began", { ...input }]);
            const { name } = await task.elicit("For whom?", Name);
            ran.push(["went on", { ...input }]);
            return `${input.seat} for ${name}`;
          }),
      },
      async ({ rpc }) => {
        const asked = await rpc.call("books", { seat: "12A" });
        const inputResponses = { [onlyKey(asked["inputRequests"] as object)]: accept({ name: "Ada" }) };
        const { requestState } = asked;
        for (const args of [undefined, {}, { seat: "1A" }, { seat: "12A", extra: 1 }]) {
          const params = { name: "books", ...(args !== undefined && { arguments: args }), requestState, inputResponses };
          const error = await rpc.error("tools/call", params);
          assert.deepEqual([error.code, error.data], [-32602, { reason: "invalid_request_state" }]);
        }
        const params = { name: "books", arguments: { seat: "12A" }, requestState, inputResponses };
        assert.equal(textOf(await rpc.result("tools/call", params)), "12A for Ada");
      },
    )();
    assert.deepEqual(ran, [
      ["began", { seat: "12A" }],
      ["went on", { seat: "12A" }],
    ]);
  });
});

describe("a question", () => {
  it(
    "reaches the client with the very next look at its task (typescript-sdk#1185)",
    withHost(
      { tools: (host) => host.tool("asks", { task: "required" }, async (_input, task) => (await task.elicit("Who?", Name)).name) },
      async ({ rpc, clock, host }) => {
        const { taskId, pollIntervalMs = 0 } = await rpc.task("asks");
        await until(() => host.sizes.taken === 0, "the question");
        assert.deepEqual(Object.values(await rpc.questions(taskId)).map(({ params }) => params?.["message"]), ["Who?"]);
        assert.ok(pollIntervalMs <= 5_000);
        assert.equal(clock.now(), Date.UTC(2026, 0, 1), "no time has gone by");
      },
    ),
  );

  it("is put once: its key never comes again, answered or not (inspector#1073)", async () => {
    await withHost(
      {
        tools: (host) =>
          host.tool("insists", { task: "required" }, async (_input, task) => {
            const names: string[] = [];
            for (let times = 0; times < 4; times += 1) names.push((await task.elicit("Who?", Name)).name);
            return names.join();
          }),
      },
      async ({ rpc, host }) => {
        const { taskId } = await rpc.task("insists");
        const keys: string[] = [];
        for (let times = 0; times < 4; times += 1) {
          await until(() => host.sizes.taken === 0, "the question");
          const key = onlyKey(await rpc.questions(taskId));
          assert.ok(!keys.includes(key), `${key} is new`);
          keys.push(key);
          // Two answers to one question: the first counts, also while the next is open already.
          await rpc.update(taskId, { [key]: accept({ name: `n${times}` }) });
          await rpc.update(taskId, Object.fromEntries(keys.map((old) => [old, accept({ name: "again" })]).slice(0, times)));
          await until(() => host.sizes.taken === 0, "the handler to go on");
        }
        const task = (await rpc.get(taskId)) as unknown as JsonObject;
        assert.equal(textOf(task["result"]), "n0,n1,n2,n3");
      },
    )();
  });
});

describe("a call", () => {
  it("is answered while another's task goes on, polled and listened to (inspector#1077)", async () => {
    const go = gate();
    await withHost(
      {
        tools: (host) =>
          host
            .tool("long", { task: "required" }, async () => go.opened)
            .tool("echo", { inputSchema: z.object({ text: z.string() }) }, ({ text }) => text),
      },
      async ({ rpc }) => {
        const { taskId } = await rpc.task("long");
        const { events } = await rpc.listen({ taskIds: [taskId] });
        const [polls, echoes] = await Promise.all([
          Promise.all(Array.from({ length: 20 }, () => rpc.get(taskId))),
          Promise.all(Array.from({ length: 20 }, (_none, at) => rpc.call("echo", { text: `${at}` }))),
        ]);
        assert.ok(polls.every(({ status }) => status === "working"));
        assert.deepEqual(echoes.map(textOf), polls.map((_poll, at) => `${at}`));
        go.open();
        assert.equal((await events.rest()).length, 3);
      },
    )();
  });

  it(
    "of a `forbidden` tool is never a task, whatever the client asks (ext-tasks#21)",
    withHost(
      {
        tools: (host) =>
          host.tool("plain", { task: "forbidden" }, async (_input, task) => {
            await task.begin();
            await task.sleep("long", 10_000);
            await task.begin();
            return `a task: ${task.isTask}`;
          }),
      },
      async ({ rpc, host, clock }) => {
        const call = rpc.request("tools/call", { name: "plain", arguments: {}, task: { ttl: 1_000 } });
        await until(() => host.sizes.runs === 1 && host.sizes.taken === 0, "the sleep");
        await clock.advance(10_000);
        const { message } = await call;
        assert.equal(textOf(message["result"]), "a task: false");
        assert.equal(host.sizes.live, 0);
      },
    ),
  );

  it("may be left, and its task taken up again with the id alone (vscode#308961)", async () => {
    const go = gate<string>();
    await withHost(
      { tools: (host) => host.tool("long", { task: "required" }, () => go.opened) },
      async ({ served, rpc }) => {
        const { taskId } = await rpc.task("long", {}, { headers: { connection: "close" } });
        go.open("still here");
        const other: Rpc = new Client(served.url);
        await untilSeen(async () => (await other.get(taskId)).status === "completed");
        assert.equal(textOf(((await other.get(taskId)) as { result?: unknown }).result), "still here");
      },
    )();
  });
});

/** Looks again and again until there is what is looked for. */
async function untilSeen(look: () => Promise<boolean>): Promise<void> {
  while (!(await look())) await turn();
}

/** A store of an author's own: JSON texts in a table, each call some turns of the event loop long. */
class TextStore implements TaskStore {
  readonly rows = new Map<string, string>();
  readonly #calls: string[];

  constructor(calls: string[]) {
    this.#calls = calls;
  }

  #read(): StoredTask[] {
    return [...this.rows.values()].map((row) => JSON.parse(row) as StoredTask);
  }

  async #called(name: string): Promise<void> {
    this.#calls.push(name);
    await new Promise((resolve) => setImmediate(resolve));
  }

  create: TaskStore["create"] = async (record, { tasks }) => {
    await this.#called("create");
    assert.ok(this.rows.size < tasks);
    this.rows.set(record.taskId, JSON.stringify(record));
  };

  get: TaskStore["get"] = async (taskId) => {
    await this.#called("get");
    const row = this.rows.get(taskId);
    return row === undefined ? undefined : (JSON.parse(row) as StoredTask);
  };

  put: TaskStore["put"] = async (task) => {
    await this.#called("put");
    if (!this.rows.has(task.taskId)) return;
    this.rows.set(task.taskId, JSON.stringify(task));
  };

  delete: TaskStore["delete"] = async (taskId) => {
    await this.#called("delete");
    this.rows.delete(taskId);
  };

  due: TaskStore["due"] = async (at, limit) => {
    await this.#called("due");
    const due = this.#read().filter(({ dueAt }) => dueAt !== null && dueAt <= at);
    return due.toSorted((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0)).slice(0, limit);
  };

  nextDue: TaskStore["nextDue"] = async () => {
    await this.#called("nextDue");
    const times = this.#read().flatMap(({ dueAt }) => dueAt ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  };

  count: TaskStore["count"] = async () => this.#read().filter(({ status }) => status !== "expired").length;

  close: TaskStore["close"] = async () => {
    await this.#called("close");
  };
}

function workload(host: Host): void {
  host.tool("asks", { task: "required" }, async (_input, task) => (await task.elicit("Who?", Name)).name);
}

describe("another store", () => {
  it("is swapped in with one option, and serves all the same; an idle host asks it nothing and logs nothing (fastmcp#4435)", async () => {
    const { noises, end } = watchForNoise();
    const written: string[] = [];
    const streams = [process.stdout, process.stderr] as const;
    const kept = streams.map((stream) => stream.write.bind(stream));
    const calls: string[] = [];
    const store = new TextStore(calls);
    const clock = new FakeClock();
    const host = createHost({ name: "swapped", version: "1.0.0", store, clock, ttlMs: 60_000, onError: (error) => noises.push(String(error)) });
    workload(host);
    const rpc = new Client(host);
    const { taskId } = await rpc.task("asks");
    await untilSeen(async () => (await rpc.get(taskId)).status === "input_required");
    await rpc.update(taskId, { [onlyKey(await rpc.questions(taskId))]: accept({ name: "Ada" }) });
    await untilSeen(async () => (await rpc.get(taskId)).status === "completed");
    assert.equal(textOf(((await rpc.get(taskId)) as { result?: unknown }).result), "Ada");
    // Nothing goes on now but time.
    calls.length = 0;
    for (const stream of streams) {
      stream.write = (chunk: unknown) => {
        written.push(String(chunk));
        return true;
      };
    }
    await clock.advance(50_000);
    const asked = [...calls];
    // Nor is there anything to say of a task whose time is over.
    for (let hours = 0; hours < 3; hours += 1) {
      await clock.advance(3_600_000);
      await turn(20); // The store takes its time.
    }
    streams.forEach((stream, at) => void (stream.write = kept[at] as typeof stream.write));
    end();
    assert.deepEqual([asked, written, noises], [[], [], []]);
    assert.deepEqual([store.rows.size, clock.pending], [0, 0], "in the end nothing is kept, and no timer set");
    await host.close();
  });
});

describe("a client without the extension", () => {
  it(
    "is told so by -32021 and HTTP 400 before anything else, whatever else is wrong",
    withHost({ tools: workload }, async ({ rpc, host }) => {
      const bare = rpc.as({ capabilities: {} });
      const asked: [string, JsonObject][] = [
        ["tasks/get", { taskId: "unknown" }],
        ["tasks/update", { taskId: "unknown", inputResponses: {} }],
        ["tasks/cancel", { taskId: "unknown" }],
        ["subscriptions/listen", { notifications: { taskIds: ["unknown"] } }],
        ["tools/call", { name: "asks", arguments: {} }],
      ];
      for (const [method, params] of asked) {
        const { status, message } = await bare.request(method, params);
        assert.equal(status, 400, method);
        assert.deepEqual(message["error"], {
          code: -32021,
          message: "Missing required client capability",
          data: { requiredCapabilities: TASKS },
        });
      }
      assert.equal(host.sizes.runs, 0);
    }),
  );
});
