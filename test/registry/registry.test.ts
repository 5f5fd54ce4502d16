// What the registry does with one task after the other. What comes of many at once is in interleavings.test.ts.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Registry } from "../../src/registry/registry.ts";
import type { Quota } from "../../src/store/store.ts";
import {
  HostClosedError,
  InvalidAnswerError,
  QuotaExceededError,
  TaskExpiredError,
  TaskNotFoundError,
} from "../../src/task/errors.ts";
import type { InputRequest, StoredTask, TaskRecord } from "../../src/task/task.ts";
import { FakeClock, turn } from "../support/clock.ts";
import { RETAIN_MS, TOMBSTONE_MS, TTL_MS, aSeed, openRegistry } from "../support/registry.ts";
import { WitnessStore } from "../support/stores.ts";
import { aTask } from "../support/task.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const roots: InputRequest = { method: "roots/list" };
const yesNo: InputRequest = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Go on?",
    requestedSchema: { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] },
  },
};
const RESULT = { content: [{ type: "text", text: "done" }] };

const complete = (registry: Registry, taskId: string) => registry.change(taskId, { type: "task.complete", result: RESULT });
const cancel = (registry: Registry, taskId: string) => registry.change(taskId, { type: "task.cancel", message: "enough" });
const ask = (registry: Registry, taskId: string, questions: Record<string, InputRequest>) =>
  registry.change(taskId, { type: "task.ask", inputRequests: questions });

describe("making a task", () => {
  it("resolves once the store holds it, working", async () => {
    const { registry, store, clock } = openRegistry();
    const made = await registry.create(aSeed({ taskId: "t", principal: "ann", statusMessage: "starting" }));
    assert.equal(await store.get("t"), made);
    assert.deepEqual(
      [made.status, made.statusMessage, made.createdAt, made.lastUpdatedAt, made.dueAt],
      ["working", "starting", clock.now(), clock.now(), clock.now() + TTL_MS],
    );
    assert.equal(await registry.get("t", "ann"), made);
    assert.equal(registry.sizes.live, 1);
  });

  it("leaves nothing when the quota is reached", async () => {
    const { registry, store, clock } = openRegistry({ quota: { tasks: 1, tasksPerPrincipal: 1 } });
    await registry.create(aSeed({ taskId: "one", ttlMs: null }));
    await assert.rejects(registry.create(aSeed({ taskId: "two" })), QuotaExceededError);
    await assert.rejects(registry.get("two", undefined), TaskNotFoundError);
    assert.deepEqual(registry.sizes, { live: 1, coming: 0, watched: 0, ignored: 0 });
    assert.equal(await store.count(), 1);
    assert.equal(clock.pending, 0);
  });

  it("has one actor, though others see the task before it is told here", async () => {
    // The store holds the task at once and says so late.
    let acknowledge = () => {};
    const late = new Promise<void>((resolve) => (acknowledge = resolve));
    class LateStore extends WitnessStore {
      override async create(record: TaskRecord, quota: Quota): Promise<void> {
        await super.create(record, quota);
        await late;
      }
    }
    const { registry } = openRegistry({ store: new LateStore() });
    const making = registry.create(aSeed({ taskId: "t" }));
    await turn();
    const changing = registry.change("t", { type: "task.status", message: "half" });
    await turn();
    acknowledge();
    await making;
    assert.equal(await changing, true);
    assert.equal((await registry.get("t", undefined)).statusMessage, "half");
    await complete(registry, "t");
    assert.equal(registry.sizes.live, 0);
    assert.equal((await registry.get("t", undefined)).status, "completed");
  });
});

describe("whom a task belongs to", () => {
  it("is not found by anybody else, whatever became of it", async () => {
    const { registry, clock } = openRegistry();
    const others = [undefined, "", "Ann", "bob", "undefined"];
    const isHidden = async () => {
      for (const other of others) await assert.rejects(registry.get("hers", other), TaskNotFoundError);
      await assert.rejects(registry.get("anybody's", "ann"), TaskNotFoundError);
    };
    await registry.create(aSeed({ taskId: "hers", principal: "ann", ttlMs: 1_000 }));
    await registry.create(aSeed({ taskId: "anybody's" }));
    await isHidden();
    await complete(registry, "hers");
    await isHidden();
    await clock.advance(RETAIN_MS);
    await assert.rejects(registry.get("hers", "ann"), TaskExpiredError);
    await isHidden();
    await clock.advance(TOMBSTONE_MS);
    await assert.rejects(registry.get("hers", "ann"), TaskNotFoundError);
    await isHidden();
  });

  it("does not matter to the host itself", async () => {
    const { registry, clock } = openRegistry();
    await registry.create(aSeed({ taskId: "hers", principal: "ann" }));
    assert.equal((await registry.find("hers"))?.principal, "ann");
    assert.equal(await registry.find("other"), undefined);
    await clock.advance(TTL_MS + RETAIN_MS);
    assert.equal(await registry.find("hers"), undefined);
  });
});

describe("the end of a task", () => {
  it("is the first that comes", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    const changed = await Promise.all([
      cancel(registry, "t"),
      complete(registry, "t"),
      registry.change("t", { type: "task.fail", error: { code: 1, message: "broke" } }),
      cancel(registry, "t"),
      registry.change("t", { type: "task.status", message: "late" }),
    ]);
    assert.deepEqual(changed, [true, false, false, false, false]);
    const task = await registry.get("t", undefined);
    assert.deepEqual(
      [task.status, task.statusMessage, task.result, task.error],
      ["cancelled", "enough", undefined, undefined],
    );
    assert.equal(registry.sizes.ignored, 4);
  });

  it("stays as it is when a cancel comes after it", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    await complete(registry, "t");
    const before = await registry.get("t", undefined);
    assert.equal(await cancel(registry, "t"), false);
    await registry.extend("t", 1_000_000);
    await registry.answer("t", { a: {} });
    assert.equal(await registry.get("t", undefined), before);
    // It can be read as often as one likes.
    assert.deepEqual((await registry.get("t", undefined)).result, RESULT);
  });

  it("is told to a second end only once the first is stored", async () => {
    let acknowledge = () => {};
    const store = new WitnessStore({ delay: () => waiting });
    let waiting: Promise<void> = Promise.resolve();
    const { registry } = openRegistry({ store });
    await registry.create(aSeed({ taskId: "t" }));
    waiting = new Promise((resolve) => (acknowledge = resolve));
    const first = complete(registry, "t");
    let secondIsTold = false;
    const second = cancel(registry, "t").then((changed) => {
      secondIsTold = true;
      return changed;
    });
    await turn(3);
    assert.equal(secondIsTold, false);
    assert.equal((await registry.get("t", undefined)).status, "working");
    acknowledge();
    assert.deepEqual(await Promise.all([first, second]), [true, false]);
    assert.equal((await registry.get("t", undefined)).status, "completed");
  });

  it("lets questions and answers go", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    await ask(registry, "t", { a: roots, b: roots });
    await registry.answer("t", { a: { roots: [] } });
    await cancel(registry, "t");
    const { inputRequests, inputResponses } = await registry.get("t", undefined);
    assert.deepEqual([inputRequests, inputResponses], [{}, {}]);
  });
});

describe("a task's time", () => {
  it("runs out: failed for a while, then expired, then not found", async () => {
    const { registry, store, clock } = openRegistry();
    await registry.create(aSeed({ taskId: "t", principal: "ann" }));
    const born = clock.now();
    await clock.advance(TTL_MS - 1);
    assert.equal((await registry.get("t", "ann")).status, "working");
    await clock.advance(1);
    const expired = await registry.get("t", "ann");
    assert.deepEqual(
      [expired.status, expired.statusMessage, expired.error, expired.lastUpdatedAt],
      ["failed", "Task has expired", { code: -32_603, message: "Task has expired" }, born + TTL_MS],
    );
    await clock.advance(RETAIN_MS - 1);
    assert.equal((await registry.get("t", "ann")).status, "failed");
    await clock.advance(1);
    await assert.rejects(registry.get("t", "ann"), TaskExpiredError);
    assert.equal(await store.count(), 0);
    await clock.advance(TOMBSTONE_MS - 1);
    await assert.rejects(registry.get("t", "ann"), TaskExpiredError);
    await clock.advance(1);
    await assert.rejects(registry.get("t", "ann"), TaskNotFoundError);
    assert.equal(await store.get("t"), undefined);
    assert.equal(clock.pending, 0);
  });

  it("runs on after its end, for as long as an end stays readable at least", async () => {
    const { registry, clock } = openRegistry();
    await registry.create(aSeed({ taskId: "early" }));
    await registry.create(aSeed({ taskId: "late" }));
    await complete(registry, "early");
    await clock.advance(TTL_MS - 1);
    await complete(registry, "late");
    await clock.advance(1);
    // The one was readable long enough; the other ended a moment ago.
    await assert.rejects(registry.get("early", undefined), TaskExpiredError);
    await clock.advance(RETAIN_MS - 2);
    assert.equal((await registry.get("late", undefined)).status, "completed");
    await clock.advance(1);
    await assert.rejects(registry.get("late", undefined), TaskExpiredError);
  });

  it("may be longer than timers can count", async () => {
    /** A clock like the runtimes' own: what is too long for 32 bits fires far too early. */
    class NarrowClock extends FakeClock {
      override setTimeout(callback: () => void, ms: number): unknown {
        return super.setTimeout(callback, Math.min(ms, 2 ** 31 - 1));
      }
    }
    for (const clock of [new FakeClock(), new NarrowClock()]) {
      const { registry, errors } = openRegistry({ clock });
      const ttlMs = 100 * DAY_MS;
      assert.ok(ttlMs > 2 ** 31);
      await registry.create(aSeed({ taskId: "t", ttlMs }));
      await clock.advance(ttlMs - 1);
      assert.equal((await registry.get("t", undefined)).status, "working");
      await clock.advance(1);
      assert.equal((await registry.get("t", undefined)).status, "failed");
      assert.deepEqual(errors, []);
    }
  });

  it("may have no end", async () => {
    const { registry, clock } = openRegistry();
    await registry.create(aSeed({ taskId: "t", ttlMs: null }));
    assert.equal(clock.pending, 0);
    await clock.advance(10_000 * DAY_MS);
    await registry.extend("t", 5);
    assert.equal((await registry.get("t", undefined)).ttlMs, null);
    await complete(registry, "t");
    await clock.advance(10_000 * DAY_MS);
    assert.equal((await registry.get("t", undefined)).status, "completed");
    assert.equal(clock.pending, 0);
  });

  it("can be moved later, and never earlier", async () => {
    const { registry, clock } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    await clock.advance(4_000);
    await registry.extend("t", 6_000);
    assert.equal((await registry.get("t", undefined)).ttlMs, TTL_MS);
    await registry.extend("t", 6_000.5);
    assert.equal((await registry.get("t", undefined)).ttlMs, TTL_MS + 1);
    await registry.extend("t", 20_000);
    await registry.extend("t", 8_000);
    const { ttlMs, lastUpdatedAt } = await registry.get("t", undefined);
    assert.deepEqual([ttlMs, lastUpdatedAt], [24_000, clock.now()]);
    await clock.advance(19_999);
    assert.equal((await registry.get("t", undefined)).status, "working");
    await clock.advance(1);
    assert.equal((await registry.get("t", undefined)).status, "failed");
  });

  it("is the longest of those that are asked for at once, of a task that only the store knows too", async () => {
    const { registry, store } = openRegistry();
    await store.create(aTask({ taskId: "t", createdAt: 0, ttlMs: 10, dueAt: null }), { tasks: 9, tasksPerPrincipal: 9 });
    await Promise.all([9_000, 1_000, 5_000].map((ms) => registry.extend("t", ms)));
    const { ttlMs } = await registry.get("t", undefined);
    assert.equal(ttlMs, new FakeClock().now() + 9_000);
  });

  it("does not run out while it is being moved", async () => {
    // The sweep has read that the first is due, and is busy with it while the second is extended.
    let whileSweeping = async () => {};
    class BusyStore extends WitnessStore {
      override async put(task: StoredTask): Promise<void> {
        if (task.taskId === "first") await whileSweeping();
        await super.put(task);
      }
    }
    const { registry, clock } = openRegistry({ store: new BusyStore() });
    await registry.create(aSeed({ taskId: "first" }));
    await registry.create(aSeed({ taskId: "second" }));
    whileSweeping = async () => {
      whileSweeping = async () => {};
      await registry.extend("second", 1_000);
    };
    await clock.advance(TTL_MS);
    assert.equal((await registry.get("first", undefined)).status, "failed");
    assert.equal((await registry.get("second", undefined)).status, "working");
    await clock.advance(1_000);
    assert.equal((await registry.get("second", undefined)).status, "failed");
  });

  it("does not run out before it is stored that it was moved", async () => {
    let storing: Promise<void> = Promise.resolve();
    let stored = () => {};
    const store = new WitnessStore({ delay: () => storing });
    const { registry, clock } = openRegistry({ store });
    await registry.create(aSeed({ taskId: "t" }));
    await clock.advance(TTL_MS - 1);
    storing = new Promise((resolve) => (stored = resolve));
    const extending = registry.extend("t", 500);
    storing = Promise.resolve();
    await clock.advance(1);
    stored();
    await extending;
    await clock.advance(0);
    assert.equal((await registry.get("t", undefined)).status, "working");
    await clock.advance(499);
    assert.equal((await registry.get("t", undefined)).status, "failed");
    assert.deepEqual(store.faults, []);
  });

  it("is not missed when the store is slow to say what comes next", async () => {
    let slow: Promise<void> = Promise.resolve();
    let answer = () => {};
    class SlowStore extends WitnessStore {
      override async nextDue(): Promise<number | undefined> {
        const next = await super.nextDue();
        await slow;
        return next;
      }
    }
    const { registry, clock } = openRegistry({ store: new SlowStore() });
    await registry.create(aSeed({ taskId: "long", ttlMs: 50_000 }));
    await registry.create(aSeed({ taskId: "swept", ttlMs: 1_000 }));
    slow = new Promise((resolve) => (answer = resolve));
    await clock.advance(1_000);
    // The store has answered, but its answer is still under way: it knows nothing of this one.
    await registry.create(aSeed({ taskId: "short", ttlMs: 10 }));
    await clock.advance(10);
    answer();
    await clock.advance(0);
    assert.equal((await registry.get("short", undefined)).status, "failed");
  });

  it("runs out for hundreds at once, with a turn for everything else in between", async () => {
    let sinceTimer = 0;
    let most = 0;
    class CountingStore extends WitnessStore {
      override async put(task: StoredTask): Promise<void> {
        sinceTimer += 1;
        most = Math.max(most, sinceTimer);
        await super.put(task);
      }
    }
    class CountingClock extends FakeClock {
      override setTimeout(callback: () => void, ms: number): unknown {
        return super.setTimeout(() => {
          sinceTimer = 0;
          callback();
        }, ms);
      }
    }
    const { registry, clock } = openRegistry({ store: new CountingStore(), clock: new CountingClock() });
    const ids = Array.from({ length: 1_000 }, (_, at) => `t${at}`);
    for (const taskId of ids) await registry.create(aSeed({ taskId }));
    await clock.advance(TTL_MS);
    for (const taskId of ids) assert.equal((await registry.get(taskId, undefined)).status, "failed");
    assert.deepEqual(registry.sizes, { live: 0, coming: 0, watched: 0, ignored: 0 });
    await clock.advance(RETAIN_MS + TOMBSTONE_MS);
    assert.equal(clock.pending, 0);
    for (const taskId of ids) await assert.rejects(registry.get(taskId, undefined), TaskNotFoundError);
    assert.ok(most <= 300, `${most} tasks without a turn for others`);
  });

  it("is looked after from the start for what the store holds already", async () => {
    const { registry, store, clock } = openRegistry();
    const now = clock.now();
    const quota = { tasks: 9, tasksPerPrincipal: 9 };
    await store.create(aTask({ taskId: "past", createdAt: now - 9, dueAt: now - 1 }), quota);
    await store.create(aTask({ taskId: "soon", createdAt: now, dueAt: now + 50 }), quota);
    await registry.start();
    await clock.advance(0);
    assert.equal((await registry.get("past", undefined)).status, "failed");
    assert.equal((await registry.get("soon", undefined)).status, "working");
    await clock.advance(50);
    assert.equal((await registry.get("soon", undefined)).status, "failed");
  });

  it("is looked after from the start though the store fails at first", async () => {
    let fails = true;
    const store = new WitnessStore({ failure: (_call, name) => (fails && name === "nextDue" ? "before" : undefined) });
    const { registry, clock } = openRegistry({ store });
    await store.create(aTask({ taskId: "t", dueAt: clock.now() + 50 }), { tasks: 9, tasksPerPrincipal: 9 });
    await assert.rejects(registry.start());
    fails = false;
    await clock.advance(1_000);
    assert.equal((await registry.get("t", undefined)).status, "failed");
  });

  it("goes forward though the clock is put back", async () => {
    const { registry, clock } = openRegistry();
    const { createdAt } = await registry.create(aSeed({ taskId: "t" }));
    clock.now = () => createdAt - 5_000;
    await complete(registry, "t");
    const { lastUpdatedAt, dueAt } = await registry.get("t", undefined);
    assert.deepEqual([lastUpdatedAt, dueAt], [createdAt, createdAt + TTL_MS]);
  });

  it("sets no timer where there is nothing to do", async () => {
    const { registry, clock } = openRegistry();
    await registry.start();
    assert.equal(clock.pending, 0);
  });
});

describe("answers", () => {
  it("close their questions, one after the other", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    await ask(registry, "t", { a: roots, b: yesNo });
    assert.equal((await registry.get("t", undefined)).status, "input_required");
    await registry.answer("t", { b: { action: "accept", content: { yes: true } } });
    const half = await registry.get("t", undefined);
    assert.deepEqual([half.status, Object.keys(half.inputRequests)], ["input_required", ["a"]]);
    await registry.answer("t", { a: { roots: [] } });
    const whole = await registry.get("t", undefined);
    assert.deepEqual([whole.status, whole.inputRequests], ["working", {}]);
    assert.deepEqual(whole.inputResponses, {
      a: { roots: [] },
      b: { action: "accept", content: { yes: true } },
    });
  });

  it("change nothing where one of them is ill-formed", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    await ask(registry, "t", { a: roots, b: yesNo });
    const before = await registry.get("t", undefined);
    const good = { roots: [] };
    const bad: unknown[] = [
      undefined,
      null,
      "yes",
      [],
      {},
      { action: "agree" },
      { action: "accept" },
      { action: "accept", content: [] },
      { action: "accept", content: {} },
      { action: "accept", content: { yes: "yes" } },
    ];
    for (const answer of bad) {
      await assert.rejects(registry.answer("t", { a: good, b: answer }), (error) => {
        assert.ok(error instanceof InvalidAnswerError);
        assert.match(error.message, /^The answer to "b" was refused: /);
        assert.equal(error.rpcCode, -32_602);
        return true;
      });
      assert.equal(await registry.get("t", undefined), before);
    }
    await registry.answer("t", { a: good, b: { action: "decline" } });
    assert.equal((await registry.get("t", undefined)).status, "working");
  });

  it("to unknown, answered and inherited keys are ignored", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    await ask(registry, "t", { a: roots, b: roots });
    await registry.answer("t", { a: { roots: [] } });
    const before = await registry.get("t", undefined);
    await registry.answer("t", { a: { roots: [{ uri: "file:///other" }] }, c: "nonsense" });
    await registry.answer("t", Object.create({ b: { roots: [] } }) as Record<string, unknown>);
    await registry.answer("t", JSON.parse('{"__proto__": {"b": {"roots": []}}}') as Record<string, unknown>);
    await registry.answer("nowhere", { a: { roots: [] } });
    assert.equal(await registry.get("t", undefined), before);
  });

  it("count once, though they come twice at once", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    await ask(registry, "t", { a: roots });
    const seen: TaskRecord[] = [];
    registry.watch("t", (record) => seen.push(record));
    const first = { roots: [{ uri: "file:///first" }] };
    await Promise.all([
      registry.answer("t", { a: first }),
      registry.answer("t", { a: { roots: [{ uri: "file:///second" }] } }),
    ]);
    assert.deepEqual(
      seen.map(({ inputResponses }) => inputResponses),
      [{ a: first }],
    );
  });

  it("are checked as far as their schema can be read, and never stuck where it cannot", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    const strange = [{ pattern: "(" }, { not: { type: "string" } }, { $ref: "#/nowhere" }, { if: {}, else: {} }];
    for (const [at, property] of strange.entries()) {
      const requestedSchema = { type: "object", properties: { a: { type: "string", ...property } } };
      const question: InputRequest = { method: "elicitation/create", params: { message: "?", requestedSchema } };
      await ask(registry, "t", { [`q${at}`]: question });
      await assert.rejects(registry.answer("t", { [`q${at}`]: { action: "accept" } }), InvalidAnswerError);
      await registry.answer("t", { [`q${at}`]: { action: "accept", content: { a: "x" } } });
      assert.equal((await registry.get("t", undefined)).status, "working");
    }
  });

  it("are refused by what only their asker knows", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    await ask(registry, "t", { a: roots, b: roots });
    const asked: string[] = [];
    const refine = async (key: string) => {
      asked.push(key);
      return key === "b" ? "too few" : undefined;
    };
    await assert.rejects(
      registry.answer("t", { a: { roots: [] }, b: { roots: [] } }, refine),
      /The answer to "b" was refused: too few/,
    );
    assert.deepEqual(asked, ["a", "b"]);
    assert.equal(Object.keys((await registry.get("t", undefined)).inputRequests).length, 2);
  });
});

describe("watching a task", () => {
  it("tells every state once it is stored, in order, and the end last", async () => {
    const { registry, store, clock } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    const seen: StoredTask[] = [];
    registry.watch("t", (record) => {
      assert.ok(store.acknowledged.has(record));
      seen.push(record);
    });
    await registry.change("t", { type: "task.status", message: "one" });
    await ask(registry, "t", { a: roots });
    await registry.answer("t", { a: { roots: [] } });
    await registry.extend("t", 2 * TTL_MS);
    await clock.advance(5);
    await complete(registry, "t");
    await cancel(registry, "t");
    assert.deepEqual(
      seen.map(({ status }) => status),
      ["working", "input_required", "working", "working", "completed"],
    );
    assert.deepEqual(seen, store.history.get("t")?.slice(1));
    assert.equal(registry.sizes.watched, 0);
  });

  it("tells nothing where nothing changed", async () => {
    const { registry, store } = openRegistry();
    const made = await registry.create(aSeed({ taskId: "t", statusMessage: "one" }));
    const seen: TaskRecord[] = [];
    registry.watch("t", (record) => seen.push(record));
    await registry.change("t", { type: "task.status", message: "one" });
    await registry.change("t", { type: "task.answer", inputResponses: { a: {} } });
    await registry.answer("t", { a: { roots: [] } });
    await registry.extend("t", 1);
    assert.equal(await registry.get("t", undefined), made);
    assert.deepEqual([seen, store.history.get("t")], [[], [made]]);
  });

  it("passes over states that a newer one overtook before they were stored", async () => {
    const { registry, store } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    const seen: (string | undefined)[] = [];
    registry.watch("t", ({ statusMessage }) => seen.push(statusMessage));
    await Promise.all(
      Array.from({ length: 100 }, (_, at) => registry.change("t", { type: "task.status", message: `${at}` })),
    );
    assert.deepEqual(seen, ["0", "99"]);
    assert.equal(store.history.get("t")?.length, 3);
  });

  it("ends when it is told to, also in the middle of telling", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    const seen: string[] = [];
    const unwatch = registry.watch("t", () => {
      seen.push("first");
      unwatch();
      unwatchSecond();
    });
    const unwatchSecond = registry.watch("t", () => seen.push("second"));
    const unwatchThird = registry.watch("t", () => seen.push("third"));
    await registry.change("t", { type: "task.status", message: "one" });
    assert.deepEqual(seen, ["first", "third"]);
    unwatchThird();
    unwatchThird();
    assert.equal(registry.sizes.watched, 0);
    await registry.change("t", { type: "task.status", message: "two" });
    assert.deepEqual(seen, ["first", "third"]);
  });

  it("does not end another's watching of a task of the same id", async () => {
    const { registry } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    const unwatch = registry.watch("t", () => {});
    await complete(registry, "t");
    const later = registry.watch("t", () => {});
    unwatch();
    assert.equal(registry.sizes.watched, 1);
    later();
    assert.equal(registry.sizes.watched, 0);
  });

  it("goes on for the others when one of them throws", async () => {
    const { registry, errors } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    const broken = new Error("a listener's own");
    let told = 0;
    registry.watch("t", () => {
      throw broken;
    });
    registry.watch("t", () => (told += 1));
    await registry.change("t", { type: "task.status", message: "one" });
    await complete(registry, "t");
    assert.equal(told, 2);
    assert.deepEqual(errors, [broken, broken]);
  });
});

describe("a task that only the store knows", () => {
  const quota = { tasks: 9, tasksPerPrincipal: 9 };

  it("goes on where it was", async () => {
    const { registry, store } = openRegistry();
    const asked = aTask({ taskId: "t", status: "input_required", inputRequests: { a: roots }, dueAt: null, ttlMs: null });
    await store.create(asked, quota);
    await registry.answer("t", { a: { roots: [] } });
    const task = await registry.get("t", undefined);
    assert.deepEqual([task.status, task.inputResponses], ["working", { a: { roots: [] } }]);
    assert.equal(registry.sizes.live, 1);
  });

  it("has one actor, though two wake it at once", async () => {
    const { registry, store } = openRegistry();
    await store.create(aTask({ taskId: "t" }), quota);
    const callsBefore = store.calls;
    const changed = await Promise.all([
      registry.change("t", { type: "task.status", message: "one" }),
      complete(registry, "t"),
      cancel(registry, "t"),
    ]);
    assert.deepEqual(changed, [true, true, false]);
    assert.equal((await registry.get("t", undefined)).status, "completed");
    // One read woke it; then come the writes, and the read just now.
    assert.equal(store.calls - callsBefore, 1 + (store.history.get("t")?.length ?? 0) - 1 + 1);
    assert.deepEqual(registry.sizes, { live: 0, coming: 0, watched: 0, ignored: 1 });
  });

  it("is not woken by what cannot change it", async () => {
    const { registry, store } = openRegistry();
    await store.create(aTask({ taskId: "ended", status: "completed", result: RESULT }), quota);
    await store.create(aTask({ taskId: "dead" }), quota);
    await store.put({ taskId: "dead", principal: undefined, status: "expired", dueAt: 99_000 });
    for (const taskId of ["ended", "dead", "nowhere"]) assert.equal(await cancel(registry, taskId), false);
    assert.deepEqual(registry.sizes, { live: 0, coming: 0, watched: 0, ignored: 3 });
  });

  it("is watched like any other", async () => {
    const { registry, store } = openRegistry();
    await store.create(aTask({ taskId: "t" }), quota);
    const seen: string[] = [];
    registry.watch("t", ({ status }) => seen.push(status));
    await ask(registry, "t", { a: roots });
    await cancel(registry, "t");
    assert.deepEqual(seen, ["input_required", "cancelled"]);
  });
});

describe("closing the registry", () => {
  it("writes what is not yet stored, and lets go of everything", async () => {
    const store = new WitnessStore({ delay: () => turn(2) });
    const { registry, clock } = openRegistry({ store });
    await registry.create(aSeed({ taskId: "t" }));
    registry.watch("t", () => {});
    const changing = registry.change("t", { type: "task.status", message: "last words" });
    const ending = complete(registry, "t");
    await registry.close();
    await Promise.all([changing, ending]);
    await store.close();
    const held = store.history.get("t")?.at(-1);
    assert.equal(held?.status, "completed");
    assert.deepEqual(registry.sizes, { live: 0, coming: 0, watched: 0, ignored: 0 });
    assert.equal(clock.pending, 0);
    await clock.advance(TTL_MS * 2);
    assert.deepEqual(store.faults, []);
  });

  it("waits for what is being made", async () => {
    const store = new WitnessStore({ delay: () => turn(3) });
    const { registry, clock } = openRegistry({ store });
    const making = registry.create(aSeed({ taskId: "t" }));
    await registry.close();
    await store.close();
    await making;
    assert.deepEqual([registry.sizes.live, registry.sizes.coming, clock.pending], [0, 0, 0]);
    assert.deepEqual(store.faults, []);
  });

  it("begins nothing that had to wait until then", async () => {
    const store = new WitnessStore({ delay: () => turn(3) });
    const { registry } = openRegistry({ store });
    await store.create(aTask({ taskId: "t" }), { tasks: 9, tasksPerPrincipal: 9 });
    const changing = complete(registry, "t");
    const refused = assert.rejects(changing, HostClosedError);
    await registry.close();
    await store.close();
    await refused;
    await turn(10);
    assert.deepEqual(store.faults, []);
    assert.equal(store.history.get("t")?.length, 1);
  });

  it("tries once more what could not be stored, and then lets it be", async () => {
    let failing = false;
    const store = new WitnessStore({ failure: (_call, name) => (failing && name === "put" ? "before" : undefined) });
    const { registry, clock, errors } = openRegistry({ store });
    await registry.create(aSeed({ taskId: "saved", ttlMs: null }));
    failing = true;
    await assert.rejects(complete(registry, "saved"));
    failing = false;
    await registry.close();
    assert.equal(store.history.get("saved")?.at(-1)?.status, "completed");
    assert.equal(clock.pending, 0);
    assert.equal(errors.length, 1);
  });

  it("writes nothing more, though a write was to be tried again just then", async () => {
    let failing = false;
    const store = new WitnessStore({
      delay: () => turn(2),
      failure: (_call, name) => (failing && name === "put" ? "before" : undefined),
    });
    const { registry, clock } = openRegistry({ store });
    await registry.create(aSeed({ taskId: "t", ttlMs: null }));
    failing = true;
    await assert.rejects(complete(registry, "t"));
    const closing = registry.close();
    await turn();
    await clock.advance(1_000);
    await closing;
    await store.close();
    await turn(5);
    assert.deepEqual(store.faults, []);
    assert.equal(clock.pending, 0);
  });

  it("refuses what comes after, clearly", async () => {
    const { registry, store } = openRegistry();
    await registry.create(aSeed({ taskId: "t" }));
    await registry.close();
    await store.close();
    await assert.rejects(registry.create(aSeed({ taskId: "u" })), HostClosedError);
    await assert.rejects(registry.get("t", undefined), HostClosedError);
    await assert.rejects(registry.find("t"), HostClosedError);
    await assert.rejects(complete(registry, "t"), HostClosedError);
    await assert.rejects(registry.answer("t", {}), HostClosedError);
    await assert.rejects(registry.extend("t", 1), HostClosedError);
    assert.deepEqual(store.faults, []);
  });

  it("stops a sweep that is under way", async () => {
    const store = new WitnessStore({ delay: () => turn() });
    const { registry, clock, errors } = openRegistry({ store });
    for (let at = 0; at < 20; at += 1) await registry.create(aSeed({ taskId: `t${at}` }));
    const advancing = clock.advance(TTL_MS);
    await turn(5);
    await registry.close();
    await store.close();
    await advancing;
    await clock.advance(10 * TTL_MS);
    assert.deepEqual(store.faults, []);
    assert.deepEqual(errors, []);
    assert.equal(clock.pending, 0);
  });
});
