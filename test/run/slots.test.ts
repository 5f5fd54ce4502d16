// How many handlers work at once, who is next, and that no slot is lost or given twice.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { Slots } from "../../src/run/slots.ts";
import type { TaskContext } from "../../src/run/context.ts";
import { microtasks, turn } from "../support/clock.ts";
import type { Running } from "../support/running.ts";
import { gate, startRunner, taskOf, textOf } from "../support/running.ts";
import { runs } from "../support/soak.ts";

const NEVER: Promise<never> = new Promise(() => {});
const start = async (run: Running, work: (task: TaskContext) => unknown): Promise<string> =>
  taskOf(await run.call((_input, task) => work(task), "required")).taskId;

describe("the queue", () => {
  it("lets so many handlers work at once, in the order of their calls", async () => {
    const run = startRunner({ running: 2 });
    const order: number[] = [];
    const gates = Array.from({ length: 5 }, () => gate());
    for (const [at, { promise }] of gates.entries()) {
      await start(run, async () => {
        order.push(at);
        await promise;
      });
    }
    assert.deepEqual([order, run.runner.sizes.taken, run.runner.sizes.waiting], [[0, 1], 2, 3]);
    gates[1]?.open();
    await turn();
    assert.deepEqual(order, [0, 1, 2]);
    for (const { open } of gates) open();
    await turn();
    assert.deepEqual(order, [0, 1, 2, 3, 4]);
    run.isEmpty();
  });

  it("is told in the status of the tasks that wait", async () => {
    const run = startRunner({ running: 1 });
    const first = gate();
    await start(run, () => first.promise);
    const required = await start(run, () => NEVER);
    await turn();
    assert.equal((await run.get(required)).statusMessage, "Waiting for a free slot");
    const calling = run.call(() => NEVER);
    await run.clock.advance(100);
    const optional = taskOf(await calling);
    assert.deepEqual([optional.status, optional.statusMessage], ["working", "Waiting for a free slot"]);
    first.open();
    await turn();
    assert.equal((await run.get(required)).statusMessage, undefined);
    assert.equal((await run.get(optional.taskId)).statusMessage, "Waiting for a free slot");
    await run.runner.cancel(required, undefined);
    await turn();
    assert.equal((await run.get(optional.taskId)).statusMessage, undefined);
  });

  it("is left by those that are cancelled or expire in it, who never start", async () => {
    const run = startRunner({ running: 1 });
    const first = gate();
    await start(run, async (task) => {
      task.extend(1_000_000);
      await first.promise;
    });
    const cancelled = await start(run, () => assert.fail("it worked"));
    await start(run, () => assert.fail("it worked"));
    const last = run.call(() => "worked", { inlineWithinMs: Number.POSITIVE_INFINITY });
    const aborted = new AbortController();
    const leaving = run.call(() => assert.fail("it worked"), "forbidden", { signal: aborted.signal });
    assert.equal(run.runner.sizes.waiting, 4);
    await run.runner.cancel(cancelled, undefined);
    aborted.abort();
    await assert.rejects(leaving);
    assert.equal(run.runner.sizes.waiting, 2);
    await run.clock.advance(10_000);
    assert.equal(run.runner.sizes.waiting, 1);
    first.open();
    assert.equal(textOf(await last), "worked");
    await turn();
    run.isEmpty();
    assert.deepEqual(run.errors, []);
  });

  it("does not start one that is cancelled just when its turn comes", async () => {
    for (let delay = 0; delay < 12; delay += 1) {
      const run = startRunner({ running: 1 });
      const first = gate();
      let started = false;
      await start(run, () => first.promise);
      const second = await start(run, () => {
        started = true;
        return NEVER;
      });
      await turn();
      first.open();
      await microtasks(delay);
      await run.runner.cancel(second, undefined);
      const startedBefore = started;
      await turn();
      assert.equal(started, startedBefore, "it started after it was cancelled");
      assert.equal((await run.get(second)).status, "cancelled");
      run.isEmpty();
    }
  });
});

describe("a slot", () => {
  it("is free while a handler waits for an answer, and taken again in turn", async () => {
    const run = startRunner({ running: 1 });
    const order: string[] = [];
    const other = gate();
    const asking = await start(run, async (task) => {
      order.push("asks");
      await task.roots();
      order.push("goes on");
    });
    await start(run, async () => {
      order.push("works");
      await other.promise;
    });
    await turn();
    assert.deepEqual(order, ["asks", "works"]);
    await run.runner.update(asking, undefined, { "roots-1": { roots: [] } });
    await turn();
    assert.deepEqual([order.length, run.runner.sizes.waiting], [2, 1]);
    assert.equal((await run.get(asking)).status, "working");
    other.open();
    await turn();
    assert.deepEqual(order, ["asks", "works", "goes on"]);
    run.isEmpty();
  });

  it("is free while a handler sleeps", async () => {
    const run = startRunner({ running: 1 });
    for (let at = 0; at < 50; at += 1) await start(run, (task) => task.sleep("long", 1_000));
    await turn();
    assert.deepEqual([run.runner.sizes.taken, run.runner.sizes.waiting], [0, 0]);
    await run.clock.advance(1_000);
    run.isEmpty();
  });

  it("is free while a plain call waits between its rounds", async () => {
    const run = startRunner({ running: 1 });
    const plain = { tasks: false };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => run.call((_input, task) => task.roots().then(() => "done"), "optional", plain)),
    );
    assert.deepEqual(run.runner.sizes, { runs: 5, elsewhere: 0, rounds: 5, taken: 0, waiting: 0 });
    for (const answer of answers) {
      assert.equal(answer.kind, "input_required");
      if (answer.kind !== "input_required") continue;
      assert.equal(textOf(await run.resume(answer.requestState, { "roots-1": { roots: [] } }, plain)), "done");
    }
    run.isEmpty();
  });

  it("is free at once when its task is cancelled or expires, though the handler looks at nothing", async () => {
    const run = startRunner({ running: 1 });
    const cancelled = await start(run, () => NEVER);
    await run.runner.cancel(cancelled, undefined);
    assert.equal(run.runner.sizes.taken, 0);
    await start(run, () => NEVER);
    await run.clock.advance(10_000);
    assert.equal(run.runner.sizes.taken, 0);
    run.isEmpty();
  });

  it("is not freed a second time by a handler that ends after it was cancelled", async () => {
    const run = startRunner({ running: 1 });
    const work = gate();
    const first = await start(run, () => work.promise);
    await run.runner.cancel(first, undefined);
    const second = gate();
    await start(run, () => second.promise);
    work.open();
    await turn();
    assert.equal(run.runner.sizes.taken, 1);
    const third = await start(run, () => "third");
    await turn();
    assert.equal((await run.get(third)).status, "working");
    second.open();
    await turn();
    run.isEmpty();
  });

  it("is one for all that a handler does side by side", async () => {
    const run = startRunner({ running: 1 });
    const taskId = await start(run, async (task) => {
      await Promise.all([
        task.roots(),
        task.sleep("a", 10),
        task.sleep("b", 10),
        task.roots().then(() => task.sleep("c", 10)),
      ]);
      return "done";
    });
    await turn();
    await run.runner.update(taskId, undefined, { "roots-1": { roots: [] }, "roots-2": { roots: [] } });
    await run.clock.advance(10);
    assert.ok(run.runner.sizes.taken <= 1);
    await run.clock.advance(10);
    assert.equal((await run.get(taskId)).status, "completed");
    run.isEmpty();
  });

  it("is not kept by what a handler left undone when it returned", async () => {
    for (const policy of ["required", "forbidden"] as const) {
      const run = startRunner({ running: 1 });
      const call = run.call((_input, task) => {
        void task.sleep("nobody waits", 50);
        void task.sleep("nobody waits", 60);
        return "done";
      }, policy);
      await call;
      await run.clock.advance(100);
      run.isEmpty();
    }
  });

  it("is not kept by what was in line for one when its handler returned", async () => {
    const run = startRunner({ running: 1 });
    const first = gate();
    const other = gate();
    await start(run, async (task) => {
      void task.sleep("nobody waits", 10);
      await first.promise;
    });
    await start(run, () => other.promise);
    await run.clock.advance(10);
    assert.deepEqual([run.runner.sizes.taken, run.runner.sizes.waiting], [1, 1]);
    first.open();
    await turn();
    other.open();
    await turn();
    run.isEmpty();
  });

  it("is not needed to deliver a cancel: with one slot nothing waits for itself", async () => {
    const run = startRunner({ running: 1 });
    const parked = await start(run, (task) => task.roots());
    const queue = [await start(run, (task) => task.roots()), await start(run, (task) => task.roots())];
    await turn();
    for (const taskId of [parked, ...queue]) assert.equal((await run.get(taskId)).status, "input_required");
    for (const taskId of [...queue, parked]) await run.runner.cancel(taskId, undefined);
    run.isEmpty();
  });
});

describe("Slots", () => {
  it("gives what is free, in order, to nobody who has gone, and never more than there is", async () => {
    const step = fc.oneof(
      fc.record({ what: fc.constant("take" as const), which: fc.nat({ max: 9 }) }),
      fc.record({ what: fc.constant("free" as const), which: fc.nat({ max: 9 }) }),
      fc.record({ what: fc.constant("leave" as const), which: fc.nat({ max: 9 }) }),
      fc.record({ what: fc.constant("turn" as const), which: fc.nat({ max: 9 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 60 }), async (limit, steps) => {
        const slots = new Slots(limit);
        let holders = 0;
        const line: { abort: AbortController; got: boolean | undefined }[] = [];
        for (const { what, which } of steps) {
          if (what === "take") {
            const waiter: (typeof line)[number] = { abort: new AbortController(), got: undefined };
            line.push(waiter);
            void slots.take(waiter.abort.signal).then((got) => {
              waiter.got = got;
              if (got) holders += 1;
            });
          } else if (what === "free") {
            await turn();
            if (holders === 0) continue;
            holders -= 1;
            slots.free();
          } else if (what === "leave") {
            line[which]?.abort.abort();
          } else {
            await turn();
          }
          assert.ok(slots.sizes.taken <= limit && slots.sizes.taken >= 0);
        }
        await turn();
        assert.equal(slots.sizes.taken, holders);
        const waiting = line.filter(({ got }) => got === undefined);
        assert.equal(slots.sizes.waiting, waiting.length);
        if (waiting.length > 0) assert.equal(holders, limit);
        // Whoever waits came after all who got one.
        const lastServed = line.findLastIndex(({ got }) => got === true);
        assert.ok(waiting.every((waiter) => line.indexOf(waiter) > lastServed));
      }),
      runs(300, 11),
    );
  });
});
