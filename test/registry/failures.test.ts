// The store fails once, at every call there is, before or after it has done its work: each time what was asked is told
// to have failed, nothing is told that is not stored, and in the end nothing is lost and nothing left over.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { memory } from "../../src/store/memory.ts";
import { TaskExpiredError, TaskNotFoundError } from "../../src/task/errors.ts";
import type { TaskRecord } from "../../src/task/task.ts";
import { isTerminal } from "../../src/task/task.ts";
import { turn } from "../support/clock.ts";
import { checkHistory } from "../support/history.ts";
import { RETAIN_MS, TOMBSTONE_MS, TTL_MS, aSeed, openRegistry } from "../support/registry.ts";
import type { Failure } from "../support/stores.ts";
import { StoreFailure, WitnessStore } from "../support/stores.ts";

const RETRY_MS = 1_000;
const RESULT = { content: [] };

/** A life of two tasks, one completed and one that runs out of time, on a store whose `failing`th call fails. */
async function life(failing: number, how: Failure): Promise<{ calls: number; failures: number }> {
  const inner = memory();
  const store = new WitnessStore({ inner, failure: (call) => (call === failing ? how : undefined) });
  const { registry, clock, errors } = openRegistry({ store });
  const told: TaskRecord[] = [];
  let failures = 0;
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      if (error instanceof TaskNotFoundError || error instanceof TaskExpiredError) return;
      assert.ok(error instanceof StoreFailure, String(error));
      failures += 1;
    }
  };
  const change = (taskId: string, given: Parameters<typeof registry.change>[1]) =>
    attempt(() => registry.change(taskId, given));

  await attempt(() => registry.start());
  for (const taskId of ["a", "b"]) {
    await attempt(() => registry.create(aSeed({ taskId })));
    registry.watch(taskId, (record) => {
      assert.ok(store.acknowledged.has(record));
      told.push(record);
    });
  }
  await change("a", { type: "task.status", message: "half" });
  await change("a", { type: "task.ask", inputRequests: { q: { method: "roots/list" } } });
  await attempt(() => registry.answer("a", { q: { roots: [] } }));
  await attempt(() => registry.extend("a", TTL_MS + 500));
  await attempt(() => registry.get("a", undefined));
  await change("a", { type: "task.complete", result: RESULT });
  await attempt(() => registry.get("a", undefined));
  await clock.advance(TTL_MS);
  await clock.advance(RETRY_MS);
  for (const [taskId, history] of store.history) assert.ok(checkHistory(history) !== undefined, `${taskId} has no end`);
  // Once for each thing, and with a failure on the way a second time.
  for (let round = 0; round < 3; round += 1) {
    await clock.advance(RETAIN_MS + TOMBSTONE_MS + RETRY_MS);
    await turn();
  }
  for (const [taskId, history] of store.history) {
    const end = checkHistory(history);
    const tellings = told.filter((record) => record.taskId === taskId);
    // Who watched was told the very states that were stored, each once, and the end last.
    assert.deepEqual(new Set(tellings).size, tellings.length);
    assert.ok(tellings.every((record) => history.includes(record)));
    assert.equal(tellings.at(-1), end);
    assert.equal(tellings.filter((record) => isTerminal(record)).length, 1);
    if (taskId === "b") assert.equal(end?.statusMessage, "Task has expired");
  }
  assert.equal(await store.count(), 0);
  assert.deepEqual(await inner.due(Number.MAX_SAFE_INTEGER, 9), []);
  assert.deepEqual({ ...registry.sizes, ignored: 0 }, { live: 0, coming: 0, watched: registry.sizes.watched, ignored: 0 });
  assert.equal(clock.pending, 0);
  await registry.close();
  assert.equal(registry.sizes.watched, 0);
  assert.deepEqual(store.faults, []);
  for (const error of errors) assert.ok(error instanceof StoreFailure, String(error));
  return { calls: store.calls, failures: failures + errors.length };
}

describe("a store that fails once", () => {
  for (const how of ["before", "after"] as const) {
    it(`${how} it has done its work, whichever call it is`, async () => {
      const { calls, failures } = await life(0, how);
      assert.equal(failures, 0);
      assert.ok(calls > 20, `only ${calls} calls`);
      for (let failing = 1; failing <= calls; failing += 1) {
        const found = await life(failing, how);
        assert.ok(found.failures > 0, `nobody heard of the failure of call ${failing}`);
      }
    });
  }
});

describe("a store that fails for a while", () => {
  it("is asked again once a second for each task, however much changed meanwhile", async () => {
    let broken = false;
    let puts = 0;
    const store = new WitnessStore({
      failure: (_call, name) => {
        if (name === "put") puts += 1;
        return broken ? "before" : undefined;
      },
    });
    const { registry, clock } = openRegistry({ store });
    await registry.create(aSeed({ taskId: "t", ttlMs: null }));
    broken = true;
    for (let at = 0; at < 50; at += 1) {
      await assert.rejects(registry.change("t", { type: "task.status", message: `${at}` }), StoreFailure);
    }
    assert.equal((await registry.get("t", undefined)).statusMessage, undefined);
    assert.equal(clock.pending, 1);
    puts = 0;
    await clock.advance(10 * RETRY_MS);
    assert.equal(puts, 10);
    assert.equal(clock.pending, 1);
    broken = false;
    const seen: (string | undefined)[] = [];
    registry.watch("t", ({ statusMessage }) => seen.push(statusMessage));
    await clock.advance(RETRY_MS);
    assert.deepEqual(seen, ["49"]);
    assert.equal(clock.pending, 0);
  });

  it("needs no timer any more when a later change was stored", async () => {
    let broken = true;
    const store = new WitnessStore({ failure: (_call, name) => (broken && name === "put" ? "before" : undefined) });
    const { registry, clock } = openRegistry({ store });
    await registry.create(aSeed({ taskId: "t", ttlMs: null }));
    await assert.rejects(registry.change("t", { type: "task.status", message: "one" }), StoreFailure);
    broken = false;
    await registry.change("t", { type: "task.status", message: "two" });
    assert.equal(clock.pending, 0);
  });

  it("loses no end", async () => {
    let broken = false;
    const store = new WitnessStore({ failure: () => (broken ? "before" : undefined) });
    const { registry, clock } = openRegistry({ store });
    await registry.create(aSeed({ taskId: "t", ttlMs: null }));
    broken = true;
    await assert.rejects(registry.change("t", { type: "task.complete", result: RESULT }), StoreFailure);
    // It is not told to have been cancelled either: the first end came first, stored or not.
    await assert.rejects(registry.change("t", { type: "task.cancel", message: "enough" }), StoreFailure);
    await clock.advance(60_000);
    broken = false;
    await clock.advance(RETRY_MS);
    assert.equal((await registry.get("t", undefined)).status, "completed");
    assert.deepEqual({ ...registry.sizes, ignored: 0 }, { live: 0, coming: 0, watched: 0, ignored: 0 });
  });

  it("does not let one task's trouble keep the others from running out of time", async () => {
    const store = new WitnessStore();
    class PoisonedStore extends WitnessStore {
      override async put(task: Parameters<WitnessStore["put"]>[0]): Promise<void> {
        if (task.taskId === "poison") throw new StoreFailure("never");
        await super.put(task);
      }
    }
    const poisoned = new PoisonedStore({ inner: store });
    const { registry, clock } = openRegistry({ store: poisoned });
    for (const taskId of ["poison", "one", "two"]) await registry.create(aSeed({ taskId }));
    await clock.advance(TTL_MS);
    for (const taskId of ["one", "two"]) assert.equal((await registry.get(taskId, undefined)).status, "failed");
    assert.equal((await registry.get("poison", undefined)).status, "working");
    await clock.advance(RETAIN_MS + TOMBSTONE_MS + 2 * RETRY_MS);
    for (const taskId of ["one", "two"]) await assert.rejects(registry.get(taskId, undefined), TaskNotFoundError);
  });

  it("is not asked without end when hundreds of tasks cannot be stored", async () => {
    let broken = false;
    const store = new WitnessStore({ failure: (_call, name) => (broken && name === "put" ? "before" : undefined) });
    const { registry, clock } = openRegistry({ store, retainMs: 60_000 });
    for (let at = 0; at < 600; at += 1) await registry.create(aSeed({ taskId: `t${at}` }));
    broken = true;
    await clock.advance(TTL_MS);
    const before = store.calls;
    await clock.advance(5 * RETRY_MS);
    assert.ok(store.calls - before < 5 * 2 * 600 + 100, `${store.calls - before} calls`);
    broken = false;
    await clock.advance(5 * RETRY_MS);
    assert.equal(registry.sizes.live, 0);
    for (let at = 0; at < 600; at += 1) assert.equal((await store.get(`t${at}`))?.status, "failed");
  });
});
