// Whatever is done to tasks, in whatever order and however slow or broken the store is: each has one legal end, nobody is
// told what is not stored, and nothing is left over.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { Change, Registry } from "../../src/registry/registry.ts";
import {
  HostClosedError,
  QuotaExceededError,
  TaskExpiredError,
  TaskNotFoundError,
} from "../../src/task/errors.ts";
import type { TaskRecord } from "../../src/task/task.ts";
import { FakeClock, microtasks, turn } from "../support/clock.ts";
import { checkHistory } from "../support/history.ts";
import { seeded } from "../support/random.ts";
import { RETAIN_MS, TOMBSTONE_MS, TTL_MS, aSeed, openRegistry } from "../support/registry.ts";
import { runs } from "../support/soak.ts";
import type { WitnessOptions } from "../support/stores.ts";
import { StoreFailure, WitnessStore, randomDelay } from "../support/stores.ts";

const IDS = ["a", "b", "c"] as const;
const OWNERS: Record<string, string | undefined> = { a: "ann", b: "bob", c: undefined };

const step = fc.record({
  taskId: fc.constantFrom(...IDS),
  what: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("complete" as const, "fail" as const, "cancel" as const) },
    { weight: 4, arbitrary: fc.constantFrom("status" as const, "ask" as const, "answer" as const, "extend" as const) },
    { weight: 3, arbitrary: fc.constantFrom("get" as const, "spy" as const, "watch" as const, "unwatch" as const) },
    { weight: 2, arbitrary: fc.constantFrom("create" as const, "expire" as const) },
    { weight: 1, arbitrary: fc.constant("close" as const) },
  ),
  /** Which question, how many milliseconds, which listener. */
  which: fc.nat({ max: 3 }),
  /** What goes first: nothing, some microtasks, some turns of the event loop, or some milliseconds. */
  pause: fc.oneof(
    { weight: 3, arbitrary: fc.constant({ kind: "none" as const, much: 0 }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("microtasks" as const), much: fc.integer({ min: 1, max: 8 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("turns" as const), much: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("ms" as const), much: fc.integer({ min: 1, max: 3_000 }) }) },
  ),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Watching {
  readonly taskId: string;
  readonly seen: TaskRecord[];
  stop: () => void;
  /** Whether it goes on to the task's end. */
  toTheEnd: boolean;
}

/** One life of some tasks, with all that has to hold of it. */
async function live(steps: readonly Step[], options: WitnessOptions): Promise<void> {
  const clock = new FakeClock();
  const store = new WitnessStore(options);
  const fails = options.failure !== undefined;
  const errors: unknown[] = [];
  const open = () => openRegistry({ store, clock, onError: (error) => errors.push(error) }).registry;
  let registry = open();
  const created = new Set<string>();
  const watchings: Watching[] = [];
  const ends: { taskId: string; status: string; changed: Promise<boolean | undefined> }[] = [];
  const pending: Promise<unknown>[] = [];
  let reopening: Promise<void> | undefined;

  /** Lets errors be that may be, and gives `undefined` for them. */
  const allowed = async <Result>(work: Promise<Result>, ...kinds: (new (...args: never[]) => Error)[]) => {
    try {
      return await work;
    } catch (error) {
      const may = [HostClosedError, ...(fails ? [StoreFailure] : []), ...kinds];
      if (may.some((kind) => error instanceof kind)) return undefined;
      throw error;
    }
  };

  const end = (on: Registry, taskId: string, what: "complete" | "fail" | "cancel") => {
    const change: Record<typeof what, Change> = {
      complete: { type: "task.complete", result: { content: [] } },
      fail: { type: "task.fail", error: { code: 1, message: "broke" } },
      cancel: { type: "task.cancel", message: "enough" },
    };
    const status = { complete: "completed", fail: "failed", cancel: "cancelled" }[what];
    const changed = allowed(on.change(taskId, change[what]));
    ends.push({ taskId, status, changed });
    return changed;
  };

  const look = async (taskId: string, principal: string | undefined) => {
    const mayBeGone = [TaskNotFoundError, TaskExpiredError];
    const record = await allowed(registry.get(taskId, principal), ...mayBeGone);
    if (record === undefined) return;
    assert.equal(principal, OWNERS[taskId], "a stranger saw a task");
    assert.ok(store.history.get(taskId)?.includes(record), "a state was told that the store never held");
  };

  const reopen = async (old: Registry) => {
    for (const watching of watchings) watching.toTheEnd = false;
    await old.close();
    assert.deepEqual({ ...old.sizes, ignored: 0 }, { live: 0, coming: 0, watched: 0, ignored: 0 });
    registry = open();
    await allowed(registry.start());
  };

  const take = ({ taskId, what, which }: Step): Promise<unknown> => {
    if ((what === "create") === created.has(taskId)) return Promise.resolve();
    switch (what) {
      case "create":
        created.add(taskId);
        return allowed(registry.create(aSeed({ taskId, principal: OWNERS[taskId] })));
      case "complete":
      case "fail":
      case "cancel":
        return end(registry, taskId, what);
      case "status":
        return allowed(registry.change(taskId, { type: "task.status", message: `status ${which}` }));
      case "ask":
        return allowed(
          registry.change(taskId, { type: "task.ask", inputRequests: { [`q${which}`]: { method: "roots/list" } } }),
        );
      case "answer":
        return allowed(registry.answer(taskId, { [`q${which}`]: { roots: [] }, [`q${which + 1}`]: { roots: [] } }));
      case "extend":
        return allowed(registry.extend(taskId, TTL_MS + which * 500));
      case "get":
        return look(taskId, OWNERS[taskId]);
      case "spy":
        return look(taskId, "eve");
      case "watch": {
        const seen: TaskRecord[] = [];
        const stop = registry.watch(taskId, (record) => {
          assert.ok(store.acknowledged.has(record), "a state was told before it was stored");
          seen.push(record);
        });
        watchings.push({ taskId, seen, stop, toTheEnd: reopening === undefined });
        return Promise.resolve();
      }
      case "unwatch": {
        const watching = watchings[which];
        if (watching !== undefined) {
          watching.stop();
          watching.toTheEnd = false;
        }
        return Promise.resolve();
      }
      case "expire":
        return clock.advance(TTL_MS + which * 500);
      case "close":
        reopening ??= reopen(registry).finally(() => (reopening = undefined));
        return reopening;
    }
  };

  for (const given of steps) {
    const { kind, much } = given.pause;
    if (kind === "microtasks") await microtasks(much);
    if (kind === "turns") await turn(much);
    if (kind === "ms") await clock.advance(much);
    pending.push(take(given));
  }
  await Promise.all(pending);

  // All the time that there is goes by.
  let rounds = 0;
  const left = async () => (await Promise.all(IDS.map((taskId) => store.get(taskId)))).some((task) => task !== undefined);
  const ignoring = async () => {
    try {
      return await left();
    } catch {
      return true;
    }
  };
  while (clock.pending > 0 || (await ignoring())) {
    rounds += 1;
    assert.ok(rounds < 200, "tasks are left though their time is over");
    await clock.advance(RETAIN_MS + TOMBSTONE_MS);
    await turn(5);
  }

  assert.deepEqual(store.faults, []);
  if (!fails) assert.deepEqual(errors, []);
  for (const error of errors) assert.ok(error instanceof StoreFailure, String(error));
  assert.equal(await store.count(), 0);
  for (const taskId of IDS) {
    const history = store.history.get(taskId) ?? [];
    const ended = checkHistory(history);
    assert.equal(ended !== undefined, history.length > 0, "a task came to no end");
    const successful: string[] = [];
    for (const { taskId: id, status, changed } of ends) if (id === taskId && (await changed)) successful.push(status);
    assert.ok(successful.length <= 1, `${successful.join(" and ")} both came first`);
    if (successful.length === 1) assert.equal(ended?.status, successful[0]);
    else if (!fails && ended !== undefined && !steps.some(({ what }) => what === "close")) {
      assert.equal(ended.statusMessage, "Task has expired");
    }
  }
  for (const { taskId, seen, toTheEnd, stop } of watchings) {
    const history = store.history.get(taskId) ?? [];
    const told = history.filter((state, at) => store.acknowledged.has(state) && state !== history[at - 1]);
    const from = told.indexOf(seen[0] as TaskRecord);
    assert.deepEqual(seen, from < 0 ? [] : told.slice(from, from + seen.length), "states were told out of order");
    const last = seen.at(-1);
    // Whoever watches on from before the end is told the end. (The end may have come first.)
    if (toTheEnd && last !== undefined) assert.ok(["completed", "failed", "cancelled"].includes(last.status));
    stop();
  }
  assert.deepEqual({ ...registry.sizes, ignored: 0 }, { live: 0, coming: 0, watched: 0, ignored: 0 });
  await registry.close();
}

/** Most lives begin with all tasks there. */
const program = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
  seed: fc.integer(),
});
const CREATE_ALL: Step[] = IDS.map((taskId) => ({
  taskId,
  what: "create" as const,
  which: 0,
  pause: { kind: "none" as const, much: 0 },
}));

describe("interleavings in the registry", () => {
  it("end well on a store that answers at once", async () => {
    await fc.assert(
      fc.asyncProperty(program, ({ steps }) => live([...CREATE_ALL, ...steps], {})),
      runs(1_200, 1),
    );
  });

  it("end well on a store that answers some time later", async () => {
    await fc.assert(
      fc.asyncProperty(program, ({ steps, seed }) =>
        live([...CREATE_ALL, ...steps], { delay: randomDelay(seeded(seed)) }),
      ),
      runs(1_000, 2),
    );
  });

  it("end well though tasks are used while they are made", async () => {
    await fc.assert(
      fc.asyncProperty(program, ({ steps, seed }) => live(steps, { delay: randomDelay(seeded(seed)) })),
      runs(500, 3),
    );
  });

  it("end well on a store that fails now and then", async () => {
    await fc.assert(
      fc.asyncProperty(program, ({ steps, seed }) => {
        const random = seeded(seed);
        const failure = () => (random() < 0.15 ? (random() < 0.5 ? "before" : "after") : undefined);
        return live([...CREATE_ALL, ...steps], { delay: randomDelay(random), failure });
      }),
      runs(800, 4),
    );
  });

  it("never break the quota", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 3 }), { maxLength: 40 }), fc.integer(), async (kinds, seed) => {
        const store = new WitnessStore({ delay: randomDelay(seeded(seed)) });
        const { registry } = openRegistry({ store, quota: { tasks: 3, tasksPerPrincipal: 2 } });
        let made = 0;
        const work = kinds.map(async (kind, at) => {
          if (kind === 0) await registry.change(`t${at - 1}`, { type: "task.cancel", message: "enough" });
          else {
            await registry.create(aSeed({ taskId: `t${at}`, principal: ["ann", "bob"][kind - 1] })).then(
              () => (made += 1),
              (error: unknown) => assert.ok(error instanceof QuotaExceededError),
            );
          }
          assert.ok((await store.count()) <= 3);
        });
        await Promise.all(work);
        assert.equal(await store.count(), made);
        const perPrincipal = new Map<unknown, number>();
        for (const [first] of store.history.values()) {
          perPrincipal.set(first?.principal, (perPrincipal.get(first?.principal) ?? 0) + 1);
        }
        for (const principal of ["ann", "bob"]) assert.ok((perPrincipal.get(principal) ?? 0) <= 2);
        await registry.close();
      }),
      runs(300, 5),
    );
  });
});
