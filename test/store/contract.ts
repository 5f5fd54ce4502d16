import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import * as fc from "fast-check";
import type { Quota, TaskStore } from "../../src/store/store.ts";
import { QuotaExceededError } from "../../src/task/errors.ts";
import type { StoredTask, TaskRecord, Tombstone } from "../../src/task/task.ts";
import { isTombstone } from "../../src/task/task.ts";
import { runs } from "../support/soak.ts";
import { ASKS_NOTHING, aTask } from "../support/task.ts";

export interface ContractOptions {
  /** How many rows the store is filled with. Default 100 000. */
  rows?: number;
  /** How many calls a second it makes at least, with that many rows in it, on a busy machine. Default 5 000. */
  callsPerSecond?: number;
  /** How many random histories it goes through. Default 300. */
  histories?: number;
}

const ROOMY: Quota = { tasks: 1_000_000, tasksPerPrincipal: 1_000_000 };

/** What every `TaskStore` must do. `makeStore` gives a new store that is empty. */
export function storeContract(
  name: string,
  makeStore: () => TaskStore | Promise<TaskStore>,
  { rows = 100_000, callsPerSecond = 5_000, histories = 300 }: ContractOptions = {},
): void {
  describe(`${name} as a task store`, () => {
    const made: TaskStore[] = [];
    const empty = async (): Promise<TaskStore> => {
      const store = await makeStore();
      made.push(store);
      return store;
    };
    after(async () => {
      for (const store of made) await store.close();
    });

    describe("keeps tasks", () => {
      it("gives back what was created, whole", async () => {
        const store = await empty();
        for (const task of [aTask({ taskId: "plain" }), FULL, aTask({ taskId: "ever", ttlMs: null, dueAt: null })]) {
          await store.create(task, ROOMY);
          assertSame(await store.get(task.taskId), task);
        }
        assert.equal(await store.get("other"), undefined);
        assert.equal(await store.count(), 3);
      });

      it("keeps an id apart from those that look like it", async () => {
        const store = await empty();
        const ids = ["a", "A", "a ", " a", "á", "a%", "a_", "a'b", 'a"b', "-a", "__proto__", "constructor"];
        for (const taskId of ids) await store.create(aTask({ taskId, tool: `tool of ${taskId}` }), ROOMY);
        for (const taskId of ids) assertSame(await store.get(taskId), aTask({ taskId, tool: `tool of ${taskId}` }));
        for (const taskId of ["%", "_", "a*", "toString"]) assert.equal(await store.get(taskId), undefined);
      });

      it("replaces a task, whole", async () => {
        const store = await empty();
        await store.create(FULL, ROOMY);
        const newer = aTask({ taskId: FULL.taskId, principal: FULL.principal, status: "cancelled", statusMessage: "no" });
        await store.put(newer);
        assertSame(await store.get(FULL.taskId), newer);
        await store.put(FULL);
        assertSame(await store.get(FULL.taskId), FULL);
        assert.equal(await store.count(), 1);
      });

      it("refuses to create an id that is there, and keeps what was", async () => {
        const store = await empty();
        const first = aTask({ taskId: "one", principal: "ann" });
        await store.create(first, ROOMY);
        await assert.rejects(store.create(aTask({ taskId: "one", principal: "bob" }), ROOMY));
        assertSame(await store.get("one"), first);
        await store.put(tombstone("one", "ann", 9));
        await assert.rejects(store.create(first, ROOMY));
        assertSame(await store.get("one"), tombstone("one", "ann", 9));
        assert.equal(await store.count(), 0);
      });

      it("puts nothing that is not there", async () => {
        const store = await empty();
        await store.put(aTask({ taskId: "gone" }));
        await store.put(tombstone("gone", undefined, 5));
        assert.equal(await store.get("gone"), undefined);
        assert.deepEqual(await store.due(Number.MAX_SAFE_INTEGER, 10), []);
        await store.create(aTask({ taskId: "gone" }), ROOMY);
        await store.delete("gone");
        await store.put(aTask({ taskId: "gone" }));
        assert.equal(await store.get("gone"), undefined);
        assert.equal(await store.count(), 0);
      });

      it("lets a late write bring nothing back from its grave", async () => {
        const store = await empty();
        await store.create(aTask({ taskId: "late", principal: "ann" }), ROOMY);
        const grave = tombstone("late", "ann", 90_000);
        await store.put(grave);
        await store.put(aTask({ taskId: "late", principal: "ann", status: "completed" }));
        assertSame(await store.get("late"), grave);
        assert.equal(await store.count(), 0);
        const later = tombstone("late", "ann", 95_000);
        await store.put(later);
        assertSame(await store.get("late"), later);
        assert.equal(await store.nextDue(), 95_000);
      });

      it("deletes once and for all, and what is not there without a word", async () => {
        const store = await empty();
        await store.delete("never");
        await store.create(aTask({ taskId: "one" }), ROOMY);
        await store.delete("one");
        await store.delete("one");
        assert.equal(await store.get("one"), undefined);
        assert.equal(await store.count(), 0);
        assert.equal(await store.nextDue(), undefined);
        await store.create(aTask({ taskId: "one", tool: "again" }), ROOMY);
        assertSame(await store.get("one"), aTask({ taskId: "one", tool: "again" }));
      });

      it("changes neither what it was given nor what it gave", async () => {
        const store = await empty();
        const given = deepFreeze(structuredClone(FULL));
        await store.create(given, ROOMY);
        const read = deepFreeze((await store.get(given.taskId)) ?? assert.fail("not there"));
        const [due] = await store.due(Number.MAX_SAFE_INTEGER, 1);
        await store.put(deepFreeze({ ...structuredClone(FULL), statusMessage: "newer" }));
        await store.put(deepFreeze(tombstone(given.taskId, given.principal, 7)));
        await store.delete(given.taskId);
        for (const earlier of [given, read, due]) assertSame(earlier, FULL);
      });
    });

    describe("keeps to the quota", () => {
      it("creates as many as may be, however many come at once", async () => {
        const store = await empty();
        const ids = Array.from({ length: 60 }, (_, at) => `t${at}`);
        const quota = { tasks: 10, tasksPerPrincipal: 100 };
        const settled = await Promise.allSettled(
          ids.map((taskId, at) => store.create(aTask({ taskId, principal: at % 2 === 0 ? "ann" : undefined }), quota)),
        );
        await assertOnlyFulfilled(store, ids, settled, 10);
      });

      it("creates as many of one principal as may be, however many come at once", async () => {
        const store = await empty();
        const ids = Array.from({ length: 60 }, (_, at) => `t${at}`);
        const owners = ["ann", "bob", undefined];
        const quota = { tasks: 100, tasksPerPrincipal: 5 };
        const settled = await Promise.allSettled(
          ids.map((taskId, at) => store.create(aTask({ taskId, principal: owners[at % 3] }), quota)),
        );
        // Whoever is nobody is bounded by the total alone.
        await assertOnlyFulfilled(store, ids, settled, 5 + 5 + 20);
      });

      it("keeps principals apart that look alike", async () => {
        const store = await empty();
        const quota = { tasks: 100, tasksPerPrincipal: 1 };
        const owners = ["ann", "Ann", "ann ", "", "undefined", "null", "__proto__", "constructor", undefined, undefined];
        for (const [at, principal] of owners.entries()) await store.create(aTask({ taskId: `t${at}`, principal }), quota);
        for (const [at, principal] of owners.entries()) {
          const task = await store.get(`t${at}`);
          assert.equal(task?.principal, principal);
        }
        await assert.rejects(store.create(aTask({ taskId: "more", principal: "" }), quota), QuotaExceededError);
      });

      it("says that it may be tried again", async () => {
        const store = await empty();
        await assert.rejects(store.create(aTask({ taskId: "one" }), { tasks: 0, tasksPerPrincipal: 9 }), (error) => {
          assert.ok(error instanceof QuotaExceededError);
          assert.deepEqual(error.data, { reason: "quota_exceeded", retryable: true });
          return true;
        });
      });

      it("leaves nothing behind of what it refused", async () => {
        const store = await empty();
        const quota = { tasks: 1, tasksPerPrincipal: 1 };
        await store.create(aTask({ taskId: "first", principal: "ann", dueAt: 900 }), quota);
        const refused = aTask({ taskId: "second", principal: "ann", dueAt: 100 });
        await assert.rejects(store.create(refused, quota), QuotaExceededError);
        assert.equal(await store.get("second"), undefined);
        assert.equal(await store.count(), 1);
        assert.equal((await store.due(500, 10)).length, 0);
        assert.equal(await store.nextDue(), 900);
        await store.put(refused);
        assert.equal(await store.get("second"), undefined);
        await store.delete("first");
        await store.create(refused, quota);
        assert.equal(await store.count(), 1);
      });

      it("counts ended tasks, and no tombstones", async () => {
        const store = await empty();
        const quota = { tasks: 1, tasksPerPrincipal: 1 };
        const task = aTask({ taskId: "one", principal: "ann" });
        await store.create(task, quota);
        await store.put({ ...task, status: "completed", result: { content: [] } });
        await assert.rejects(store.create(aTask({ taskId: "two", principal: "ann" }), quota), QuotaExceededError);
        await store.put(tombstone("one", "ann", 5));
        await store.put(tombstone("one", "ann", 6));
        assert.equal(await store.count(), 0);
        await store.create(aTask({ taskId: "two", principal: "ann" }), quota);
        await store.delete("one");
        await store.delete("one");
        await assert.rejects(store.create(aTask({ taskId: "three", principal: "ann" }), quota), QuotaExceededError);
        await store.delete("two");
        await store.create(aTask({ taskId: "three", principal: "ann" }), quota);
        assert.equal(await store.count(), 1);
      });
    });

    describe("knows what is due", () => {
      it("gives what is due, the earliest first, and no more than was asked for", async () => {
        const store = await empty();
        for (const dueAt of [500, 100, 900, 300, 700]) await store.create(aTask({ taskId: `t${dueAt}`, dueAt }), ROOMY);
        assert.deepEqual(await dueIds(store, 700, 10), ["t100", "t300", "t500", "t700"]);
        assert.deepEqual(await dueIds(store, 699, 10), ["t100", "t300", "t500"]);
        assert.deepEqual(await dueIds(store, 700, 2), ["t100", "t300"]);
        assert.deepEqual(await dueIds(store, 99, 10), []);
        // Looking takes nothing away.
        assert.deepEqual(await dueIds(store, 700, 10), ["t100", "t300", "t500", "t700"]);
      });

      it("gives all that are due at one time", async () => {
        const store = await empty();
        const ids = Array.from({ length: 50 }, (_, at) => `t${at}`);
        for (const taskId of ids) await store.create(aTask({ taskId, dueAt: 100 }), ROOMY);
        assert.deepEqual((await dueIds(store, 100, 50)).toSorted(), ids.toSorted());
        const some = await dueIds(store, 100, 20);
        assert.equal(new Set(some).size, 20);
        for (const taskId of some) await store.delete(taskId);
        const rest = await dueIds(store, 100, 50);
        assert.deepEqual([...some, ...rest].toSorted(), ids.toSorted());
      });

      it("never gives what is never due", async () => {
        const store = await empty();
        await store.create(aTask({ taskId: "ever", ttlMs: null, dueAt: null }), ROOMY);
        assert.equal(await store.nextDue(), undefined);
        assert.deepEqual(await store.due(Number.MAX_SAFE_INTEGER, 10), []);
        await store.put(aTask({ taskId: "ever", dueAt: 50 }));
        assert.equal(await store.nextDue(), 50);
        await store.put(aTask({ taskId: "ever", dueAt: null }));
        assert.deepEqual(await store.due(Number.MAX_SAFE_INTEGER, 10), []);
        assert.equal(await store.nextDue(), undefined);
      });

      it("goes by the newest time of each", async () => {
        const store = await empty();
        const at = (taskId: string, dueAt: number) => aTask({ taskId, dueAt });
        await store.create(at("a", 100), ROOMY);
        await store.create(at("b", 200), ROOMY);
        await store.put(at("a", 300));
        // The one that was first once is not any more.
        assert.deepEqual(await dueIds(store, 1_000, 1), ["b"]);
        assert.deepEqual(await dueIds(store, 1_000, 10), ["b", "a"]);
        await store.put(at("a", 150));
        assert.deepEqual(await dueIds(store, 1_000, 10), ["a", "b"]);
        assert.deepEqual(await dueIds(store, 160, 10), ["a"]);
        await store.put(at("a", 400));
        await store.put(at("a", 150));
        await store.put(at("a", 400));
        assert.deepEqual(await dueIds(store, 399, 10), ["b"]);
        assert.deepEqual(await dueIds(store, 400, 10), ["b", "a"]);
        await store.put(tombstone("b", undefined, 500));
        assert.deepEqual(await dueIds(store, 1_000, 10), ["a", "b"]);
      });

      it("holds times far away", async () => {
        const store = await empty();
        const far = Date.UTC(2126, 0, 1);
        await store.create(aTask({ taskId: "far", dueAt: far }), ROOMY);
        assert.equal(await store.nextDue(), far);
        assert.deepEqual(await dueIds(store, far - 1, 10), []);
        assert.deepEqual(await dueIds(store, far, 10), ["far"]);
      });
    });

    it("tells in every history what a plain table would", async () => {
      const principals = [undefined, "ann", "bob"];
      const taskId = fc.constantFrom("a", "b", "c", "d", "e", "f");
      const dueAt = fc.option(fc.integer({ min: 0, max: 20 }), { nil: null });
      const step = fc.oneof(
        fc.record({ call: fc.constant("create" as const), taskId, dueAt, owner: fc.nat({ max: 2 }) }),
        fc.record({ call: fc.constant("put" as const), taskId, dueAt }),
        fc.record({ call: fc.constant("bury" as const), taskId, dueAt: fc.integer({ min: 0, max: 20 }) }),
        fc.record({ call: fc.constant("delete" as const), taskId }),
        fc.record({ call: fc.constant("due" as const), at: fc.nat({ max: 20 }), limit: fc.integer({ min: 1, max: 7 }) }),
        fc.record({ call: fc.constant("nextDue" as const) }),
      );
      const quota = { tasks: 4, tasksPerPrincipal: 2 };
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const store = await makeStore();
          const table = new Map<string, StoredTask>();
          const tasks = () => [...table.values()].filter((task) => !isTombstone(task));
          let version = 0;
          for (const made of steps) {
            version += 1;
            switch (made.call) {
              case "create": {
                const principal = principals[made.owner];
                const task = aTask({ taskId: made.taskId, principal, dueAt: made.dueAt, tool: `v${version}` });
                const own = tasks().filter((other) => other.principal === principal).length;
                const refused =
                  table.has(made.taskId) ||
                  tasks().length >= quota.tasks ||
                  (principal !== undefined && own >= quota.tasksPerPrincipal);
                const [{ status }] = await Promise.allSettled([store.create(task, quota)] as const);
                assert.equal(status, refused ? "rejected" : "fulfilled");
                if (!refused) table.set(made.taskId, task);
                break;
              }
              case "put": {
                const old = table.get(made.taskId);
                const task = aTask({
                  taskId: made.taskId,
                  principal: old?.principal,
                  dueAt: made.dueAt,
                  tool: `v${version}`,
                });
                await store.put(task);
                if (old !== undefined && !isTombstone(old)) table.set(made.taskId, task);
                break;
              }
              case "bury": {
                const grave = tombstone(made.taskId, table.get(made.taskId)?.principal, made.dueAt);
                await store.put(grave);
                if (table.has(made.taskId)) table.set(made.taskId, grave);
                break;
              }
              case "delete":
                await store.delete(made.taskId);
                table.delete(made.taskId);
                break;
              case "due": {
                const due = await store.due(made.at, made.limit);
                const truth = sortedDue(table).filter((task) => task.dueAt <= made.at);
                assert.deepEqual(
                  due.map((task) => task.dueAt),
                  truth.slice(0, made.limit).map((task) => task.dueAt),
                );
                assert.equal(new Set(due.map((task) => task.taskId)).size, due.length);
                for (const task of due) assertSame(task, table.get(task.taskId) ?? assert.fail("not there"));
                break;
              }
              case "nextDue": {
                const next = await store.nextDue();
                const truth = sortedDue(table)[0]?.dueAt;
                if (truth === undefined) assert.equal(next, undefined);
                else assert.ok(next !== undefined && next <= truth, `${next} is later than ${truth}`);
                break;
              }
            }
            assert.equal(await store.count(), tasks().length);
          }
          for (const id of ["a", "b", "c", "d", "e", "f"]) {
            const truth = table.get(id);
            const task = await store.get(id);
            if (truth === undefined) assert.equal(task, undefined);
            else assertSame(task, truth);
          }
          await store.close();
        }),
        runs(histories, 20_260_728),
      );
    });

    it(`holds ${rows} rows at a cost that does not grow with them`, async () => {
      const store = await empty();
      const ids = Array.from({ length: rows }, (_, at) => `task-${at}`);
      const owner = (at: number) => `principal-${at % 1_000}`;
      // Each phase takes far longer than this when a call's cost grows with the number of rows.
      const limitMs = (rows / callsPerSecond) * 1_000;
      const phase = async (what: string, work: () => Promise<void>) => {
        const start = performance.now();
        await work();
        const took = performance.now() - start;
        assert.ok(took < limitMs, `${what} took ${Math.round(took)} ms, more than ${limitMs} ms`);
      };
      await phase("creating", () =>
        inPortions(ids, (taskId, at) => store.create(aTask({ taskId, principal: owner(at), dueAt: at }), ROOMY)),
      );
      assert.equal(await store.count(), rows);
      await phase("reading", () => inPortions(ids, (taskId) => store.get(taskId)));
      await phase("putting", () =>
        inPortions(ids, (taskId, at) => store.put(aTask({ taskId, principal: owner(at), dueAt: rows - at }))),
      );
      await phase("asking what is next", () => inPortions(ids.slice(0, rows / 10), () => store.nextDue()));
      await phase("counting", () => inPortions(ids.slice(0, rows / 100), () => store.count()));
      await phase("burying what is due", async () => {
        for (let due = await store.due(rows, 256); due[0]?.status === "working"; due = await store.due(rows, 256)) {
          for (const task of due) {
            if (!isTombstone(task)) await store.put(tombstone(task.taskId, task.principal, 2 * rows));
          }
        }
      });
      assert.equal(await store.count(), 0);
      assert.equal(await store.nextDue(), 2 * rows);
      await phase("deleting what is due", async () => {
        for (let due = await store.due(2 * rows, 256); due.length > 0; due = await store.due(2 * rows, 256)) {
          for (const task of due) await store.delete(task.taskId);
        }
      });
      assert.equal(await store.nextDue(), undefined);
      assert.equal(await store.get("task-1"), undefined);
    });
  });
}

/** A task with something in every field. */
const FULL: TaskRecord = aTask({
  taskId: "full_-0123456789",
  principal: '["client","sub"]',
  tool: "trip ✈",
  arguments: { to: "Österreich", deep: { list: [1, 2.5, null, true, "\u0000\u2028'\"\\"] }, big: 2 ** 53 - 1 },
  askable: ASKS_NOTHING,
  status: "input_required",
  statusMessage: "waiting\nfor you",
  createdAt: 1_767_225_600_123,
  lastUpdatedAt: 1_767_225_600_456,
  ttlMs: 2 ** 31 + 5,
  pollIntervalMs: { min: 100, max: 5_000 },
  inputRequests: { "elicit-2": { method: "elicitation/create", params: { mode: "form", message: "?" } } },
  inputResponses: { "elicit-1": { action: "accept", content: { name: "Zoë" } } },
  result: { content: [{ type: "text", text: "done" }], structuredContent: { n: 1 }, isError: false, _meta: {} },
  error: { code: -32_000, message: "broke", data: { why: [1] } },
  dueAt: 1_769_373_084_128,
});

function tombstone(taskId: string, principal: string | undefined, dueAt: number): Tombstone {
  return { taskId, principal, status: "expired", dueAt };
}

/** Two records say the same, whether a field that is `undefined` is there or not. */
function assertSame(actual: StoredTask | undefined, expected: StoredTask): void {
  assert.ok(actual !== undefined, `${expected.taskId} is not there`);
  assert.deepEqual(JSON.parse(JSON.stringify(actual)), JSON.parse(JSON.stringify(expected)));
  // A principal that is none must be just that: it is compared with that of requests.
  assert.equal(actual.principal, expected.principal);
}

async function dueIds(store: TaskStore, at: number, limit: number): Promise<string[]> {
  return (await store.due(at, limit)).map(({ taskId }) => taskId);
}

function sortedDue(table: Map<string, StoredTask>): { dueAt: number }[] {
  return [...table.values()]
    .flatMap(({ dueAt }) => (dueAt === null ? [] : [{ dueAt }]))
    .toSorted((a, b) => a.dueAt - b.dueAt);
}

/** So many creations went through, and nothing is left of the others. */
async function assertOnlyFulfilled(
  store: TaskStore,
  ids: readonly string[],
  settled: readonly PromiseSettledResult<void>[],
  expected: number,
): Promise<void> {
  let fulfilled = 0;
  for (const [at, result] of settled.entries()) {
    const task = await store.get(ids[at] ?? "");
    if (result.status === "fulfilled") {
      fulfilled += 1;
      assert.equal(task?.taskId, ids[at]);
    } else {
      assert.ok(result.reason instanceof QuotaExceededError, String(result.reason));
      assert.equal(task, undefined);
    }
  }
  assert.equal(fulfilled, expected);
  assert.equal(await store.count(), expected);
  assert.equal((await store.due(Number.MAX_SAFE_INTEGER, ids.length)).length, expected);
}

/** Does the work for each item, a hundred at a time. */
async function inPortions<Item>(items: readonly Item[], work: (item: Item, at: number) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < items.length; start += 100) {
    await Promise.all(items.slice(start, start + 100).map((item, at) => work(item, start + at)));
  }
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === "object" && inner !== null) deepFreeze(inner as object);
  return Object.freeze(value);
}
