// Faults that other implementations had about how long things live, turned round.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { Host, HostOptions, JsonObject, Sizes, TaskRecord } from "../../src/mod.ts";
import { createHost, memory } from "../../src/mod.ts";
import type { Handler } from "../../src/run/call.ts";
import { Parts } from "../../src/server/parts.ts";
import { createId } from "../../src/task/ids.ts";
import { FakeClock, turn } from "../support/clock.ts";
import { usedHeap } from "../support/heap.ts";
import type { Hosting } from "../support/hosting.ts";
import { withHost } from "../support/hosting.ts";
import { Rpc, accept, onlyKey, textOf } from "../support/rpc.ts";
import { ASKS_ALL } from "../support/task.ts";
import { gate, until } from "../support/until.ts";

const HOUR_MS = 3_600_000;

const Name = z.object({ name: z.string() });

/** Tools that end only when something else ends them; `ignores` never looks at its signal. */
const tools = (host: Host) => {
  host.tool("sleeps", { task: "required" }, async (_input, task) => task.sleep("for ever", 1e12));
  host.tool("ignores", { task: "required" }, () => new Promise<void>(() => {}));
  host.tool("asks", { task: "required" }, async (_input, task) => (await task.elicit("Who?", Name)).name);
  host.tool("asks_inline", { task: "forbidden" }, async (_input, task) => (await task.elicit("Who?", Name)).name);
  host.tool("elsewhere", { task: "required" }, (_input, task) => task.external());
  host.tool("quick", { task: "required" }, () => "done");
};

function held({ ignored: _ignored, ...sizes }: Sizes): number {
  return Object.values(sizes).reduce((sum, size) => sum + size, 0);
}

describe("after N tasks have expired", () => {
  const store = memory();
  it(
    "every map is back to 0 (mcp-ts-core#276)",
    withHost({ tools, options: { store } }, async ({ direct, host, clock }) => {
      const names = ["sleeps", "ignores", "asks", "elsewhere", "quick"];
      const made = await Promise.all(Array.from({ length: 500 }, (_none, at) => direct.task(names[at % names.length] ?? "")));
      await Promise.all(Array.from({ length: 50 }, () => direct.call("asks_inline")));
      const taskIds = made.map(({ taskId }) => taskId);
      const streams = await Promise.all([direct.listen({ taskIds }), direct.listen({ taskIds })]);
      assert.equal(host.sizes.live, 400);
      assert.equal(await store.count(), 500);
      await clock.advance(HOUR_MS);
      await Promise.all(streams.map(({ events }) => events.rest()));
      assert.equal(held(host.sizes), 0, JSON.stringify(host.sizes));
      await clock.advance(2 * HOUR_MS);
      assert.deepEqual([await store.count(), await store.nextDue()], [0, undefined]);
      assert.equal(clock.pending, 0, "no timer is left");
    }),
  );
});

describe("the heap", () => {
  it("is flat over 10 000 tasks made and cancelled (fastmcp#2639, docket#309)", async () => {
    const clock = new FakeClock();
    const parts = new Parts({ clock, ttlMs: 1_000, retainMs: 100, tombstoneMs: 100 });
    const { runner, dispatcher } = parts;
    const handlers: Handler[] = [
      () => new Promise(() => {}),
      async (_input, task) => task.sleep("for ever", 1e12),
      async (_input, task) => task.elicit("Who?", Name),
      (_input, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)),
      (_input, task) => task.external(),
    ];
    const call = { principal: "ada", tasks: true, arguments: {}, askable: ASKS_ALL, signal: undefined, notifyProgress: undefined };
    const round = async () => {
      for (let done = 0; done < 500; done += 1) {
        const handler = handlers[done % handlers.length] ?? (() => "never");
        const answer = await runner.call({ name: "t", policy: "required", outputSchema: undefined, handler }, {}, call);
        assert.equal(answer.kind, "task");
        await dispatcher.cancel((answer as { record: TaskRecord }).record.taskId, "ada");
      }
      await clock.advance(2_000);
    };
    for (let rounds = 0; rounds < 4; rounds += 1) await round();
    const before = await usedHeap();
    for (let rounds = 0; rounds < 20; rounds += 1) await round();
    const grown = (await usedHeap()) - before;
    assert.ok(grown < 1_000_000, `grown by ${grown} bytes`);
    assert.equal(held(parts.sizes), 0);
    await parts.close(0);
  });

  it("is flat over tasks made and cancelled by requests", async () => {
    const clock = new FakeClock();
    const host = createHost({ name: "heap", version: "1.0.0", clock, ttlMs: 1_000, retainMs: 100, tombstoneMs: 100 });
    tools(host);
    const rpc = new Rpc(host);
    const round = async () => {
      for (let done = 0; done < 100; done += 1) {
        await rpc.cancel((await rpc.task(done % 2 === 0 ? "sleeps" : "ignores")).taskId);
      }
      await clock.advance(2_000);
    };
    for (let rounds = 0; rounds < 4; rounds += 1) await round();
    const before = await usedHeap();
    for (let rounds = 0; rounds < 8; rounds += 1) await round();
    const grown = (await usedHeap()) - before;
    // A kilobyte for each would be a task that somebody holds on to.
    assert.ok(grown < 800_000, `grown by ${grown} bytes`);
    assert.equal(held(host.sizes), 0);
    await host.close();
  });
});

describe("a time to live", () => {
  it(
    "counts from createdAt, which never changes (tower-mcp#1076)",
    withHost({ tools, options: { ttlMs: 10_000, retainMs: 5_000 } }, async ({ rpc, clock, host }) => {
      const made = await rpc.task("elsewhere");
      await clock.advance(9_000);
      await host.task(made.taskId).status("nearly");
      const seen = await rpc.get(made.taskId);
      assert.deepEqual([seen.createdAt, seen.ttlMs, seen.status], [made.createdAt, 10_000, "working"]);
      assert.equal(Date.parse(seen.lastUpdatedAt), Date.parse(made.createdAt) + 9_000);
      await clock.advance(1_000);
      const expired = await rpc.get(made.taskId);
      assert.deepEqual([expired.status, expired.createdAt], ["failed", made.createdAt]);
    }),
  );

  it(
    "is extended by progress where that is configured, and there alone (nitrostack#329)",
    withHost(
      {
        tools: (host) => {
          for (const [name, extendOnProgress] of [["extends", true], ["plain", false]] as const) {
            host.tool(name, { task: { mode: "required", ttlMs: 10_000, extendOnProgress } }, async (_input, task) => {
              for (let done = 0; done < 5; done += 1) {
                await task.sleep("work", 6_000);
                task.progress(done, 5);
              }
              return "done";
            });
          }
        },
      },
      async ({ rpc, clock }) => {
        const [extended, plain] = await Promise.all([rpc.task("extends"), rpc.task("plain")]);
        await clock.advance(30_000);
        assert.equal((await rpc.get(extended.taskId)).status, "completed");
        assert.equal((await rpc.get(plain.taskId)).status, "failed");
      },
    ),
  );

  it(
    "is extended by the progress of work that goes on elsewhere, too (nitrostack#329)",
    withHost(
      {
        tools: (host) => {
          for (const [name, extendOnProgress] of [["extends", true], ["plain", false]] as const) {
            const task = { mode: "required", ttlMs: 10_000, extendOnProgress } as const;
            host.tool(name, { task }, (_input, context) => context.external());
          }
        },
      },
      async ({ host, rpc, clock }) => {
        for (const [name, ttlMs] of [["extends", 15_000], ["plain", 10_000]] as const) {
          const { taskId } = await rpc.task(name);
          await clock.advance(5_000);
          await host.task(taskId).progress(1, 2);
          assert.equal((await rpc.get(taskId)).ttlMs, ttlMs);
        }
      },
    ),
  );

  it(
    "may be longer than a timer can count, and 0 is refused (the SDK's own v1 store)",
    withHost({ tools, options: { ttlMs: 100 * 24 * HOUR_MS } }, async ({ rpc, clock }) => {
      const { taskId } = await rpc.task("elsewhere");
      await clock.advance(50 * 24 * HOUR_MS);
      assert.equal((await rpc.get(taskId)).status, "working");
      await clock.advance(50 * 24 * HOUR_MS);
      assert.equal((await rpc.get(taskId)).status, "failed");
      assert.throws(() => createHost({ name: "a", version: "1", ttlMs: 0 }), RangeError);
    }),
  );
});

describe("a task's id", () => {
  it(
    "has at least 128 random bits (tower-mcp#1076)",
    withHost({ tools }, async ({ direct }) => {
      const ids = await Promise.all(Array.from({ length: 400 }, async () => (await direct.task("quick")).taskId));
      assert.equal(new Set(ids).size, ids.length);
      const bytes = ids.map((taskId) => Buffer.from(taskId, "base64url"));
      assert.ok(bytes.every(({ length }) => length >= 16));
      // No bit of it is the same in all, or nearly: each is as often set as not.
      const { length } = bytes[0] as Buffer;
      for (let bit = 0; bit < length * 8; bit += 1) {
        const set = bytes.filter((id) => ((id[bit >> 3] ?? 0) >> (bit & 7)) & 1).length;
        assert.ok(set > 120 && set < 280, `bit ${bit} is set in ${set} of 400`);
      }
    }),
  );

  it("does not repeat in 100 000", () => {
    const ids = new Set(Array.from({ length: 100_000 }, createId));
    assert.equal(ids.size, 100_000);
  });
});

describe("when a task expires", () => {
  it(
    "its handler's slot is freed, whatever the handler does (mcp-go#981, mcp-go#982)",
    withHost({ tools, options: { ttlMs: 10_000, limits: { running: 2 } } }, async ({ rpc, clock, host }) => {
      await Promise.all([rpc.task("ignores"), rpc.task("ignores")]);
      const waiting = await rpc.task("quick");
      assert.equal((await rpc.get(waiting.taskId)).statusMessage, "Waiting for a free slot");
      await clock.advance(9_000);
      const later = await rpc.task("quick");
      assert.deepEqual([host.sizes.taken, host.sizes.waiting], [2, 2]);
      await clock.advance(1_000);
      assert.equal((await rpc.get(later.taskId)).status, "completed");
      assert.equal(host.sizes.taken, 0);
    }),
  );

  it("a parked input settles (tower-mcp#1389, tower-mcp#1421)", async () => {
    const heard: string[] = [];
    await withHost(
      {
        tools: (host) =>
          host.tool("parks", { task: "required" }, async (_input, task) => {
            await Promise.all(
              ["one", "two"].map(async (message) => {
                await task.elicit(message, Name).catch((error: Error) => heard.push(`${message}: ${error.message}`));
              }),
            );
          }),
        options: { ttlMs: 10_000 },
      },
      async ({ rpc, clock, host }) => {
        const { taskId } = await rpc.task("parks");
        const { events } = await rpc.listen({ taskIds: [taskId] });
        await clock.advance(10_000);
        assert.deepEqual(heard, ["one: Task has expired", "two: Task has expired"]);
        const { status, ...task } = (await rpc.get(taskId)) as unknown as JsonObject;
        assert.deepEqual([status, task["inputRequests"]], ["failed", undefined]);
        // An answer that comes now has no question any more, and the task stays as it is.
        await rpc.update(taskId, { "elicit-1": accept({ name: "Ada" }) });
        assert.equal((await rpc.get(taskId)).status, "failed");
        assert.equal((await events.rest()).length, 3, "its questions, its end, and the subscription's");
        assert.equal(held(host.sizes), 0);
      },
    )();
  });
});

describe("work", () => {
  it("outlives the HTTP request that began it (mcp-go#897, mcp-go#900)", async () => {
    const go = gate();
    await withHost(
      {
        tools: (host) =>
          host.tool("goes_on", { task: "required" }, async (_input, task) => {
            await go.opened;
            return task.signal.aborted ? "aborted" : "went on";
          }),
      },
      async ({ rpc }) => {
        const abort = new AbortController();
        const { taskId } = await rpc.task("goes_on", {}, { signal: abort.signal, headers: { connection: "close" } });
        abort.abort();
        go.open();
        const [{ status }, result] = await ended({ rpc }, taskId);
        assert.deepEqual([status, textOf(result)], ["completed", "went on"]);
      },
    )();
  });

  it("keeps the resources it holds beyond its request, until it ends (csharp-sdk#1430)", async () => {
    const closed: string[] = [];
    const go = gate();
    await withHost(
      {
        tools: (host) =>
          host.tool("holds", { task: "required" }, async () => {
            try {
              await go.opened;
              return `${closed.length} closed`;
            } finally {
              closed.push("closed");
            }
          }),
      },
      async ({ rpc }) => {
        const { taskId } = await rpc.task("holds", {}, { headers: { connection: "close" } });
        await rpc.get(taskId);
        go.open();
        const [, result] = await ended({ rpc }, taskId);
        assert.deepEqual([textOf(result), closed], ["0 closed", ["closed"]]);
      },
    )();
  });
});

/** A task once it has ended, and its result. */
async function ended({ rpc }: Pick<Hosting, "rpc">, taskId: string): Promise<[JsonObject, unknown]> {
  for (;;) {
    const task = (await rpc.get(taskId)) as unknown as JsonObject;
    if (task["status"] !== "working") return [task, task["result"]];
    await turn();
  }
}

describe("a store", () => {
  const store = memory();

  /** The same server again, after a restart. */
  function again(options: Partial<HostOptions> = {}): Host {
    const host = createHost({ name: "again", version: "1.0.0", store, ...options });
    tools(host);
    return host;
  }

  it("gives a task by its id after a restart, and to a new client (fastmcp#3758)", async () => {
    const first = again();
    const { taskId } = await new Rpc(first).task("elsewhere");
    const asked = await new Rpc(first).task("quick");
    await until(() => first.sizes.runs === 0, "the quick one to end");
    // The first is gone without a word: its process was killed.
    const second = again();
    const rpc = new Rpc(second);
    assert.equal((await rpc.get(taskId)).status, "working");
    assert.equal(textOf((await rpc.get(asked.taskId) as { result?: unknown }).result), "done");
    const { events } = await rpc.listen({ taskIds: [taskId] });
    const question = second.task(taskId).elicit("Who?", Name);
    await until(() => second.sizes.live === 1, "the task to wake");
    const third = new Rpc(second);
    await third.update(taskId, { [onlyKey(await third.questions(taskId))]: accept({ name: "Ada" }) });
    await second.task(taskId).complete((await question).name);
    assert.equal(textOf((await third.get(taskId) as { result?: unknown }).result), "Ada");
    assert.equal((await events.rest()).length, 5, "working, asked, answered, ended, and the subscription's end");
    await second.close();
    await first.close();
  });
});
