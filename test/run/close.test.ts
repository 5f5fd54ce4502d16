// Closing a host's work: what runs may go on for a while, the rest ends, and nothing is left.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AbortedError, HostClosedError } from "../../src/task/errors.ts";
import { turn } from "../support/clock.ts";
import type { Running } from "../support/running.ts";
import { gate, isSettled, questionsOf, startRunner, taskOf, textOf } from "../support/running.ts";
import { StoreFailure, WitnessStore } from "../support/stores.ts";

const NEVER: Promise<never> = new Promise(() => {});
const SHUT_DOWN = { code: -32_603, message: "The server shut down before the work was done" };

/** Closes all of it, as a host does. */
async function closeAll(run: Running, graceMs = 0): Promise<void> {
  await run.runner.close(graceMs);
  await run.registry.close();
  await run.store.close();
  run.isEmpty();
  await run.clock.advance(1_000_000);
  await turn(5);
  assert.equal(run.clock.pending, 0);
  assert.deepEqual(run.store.faults, []);
}

describe("closing", () => {
  it("refuses new work, clearly", async () => {
    const run = startRunner();
    const closing = run.runner.close(0);
    const work = () => assert.fail("it worked");
    for (const policy of ["optional", "required", "forbidden"] as const) {
      await assert.rejects(run.call(work, policy), (error) => {
        assert.ok(error instanceof HostClosedError);
        assert.deepEqual([error.rpcCode, error.data], [-32_603, { reason: "shutting_down", retryable: true }]);
        return true;
      });
    }
    await closing;
    await closeAll(run);
  });

  it("ends at once without grace: tasks fail, plain calls are aborted, signals fire", async () => {
    const run = startRunner();
    const reasons: string[] = [];
    const work = async (_input: unknown, task: { signal: AbortSignal }) => {
      task.signal.addEventListener("abort", () => reasons.push((task.signal.reason as Error).message));
      await NEVER;
    };
    const { taskId } = taskOf(await run.call(work, "required"));
    const plain = assert.rejects(run.call(work, "forbidden"), AbortedError);
    await turn();
    await run.runner.close(0);
    await plain;
    assert.deepEqual(reasons, [SHUT_DOWN.message, SHUT_DOWN.message]);
    const { status, error } = await run.get(taskId);
    assert.deepEqual([status, error], ["failed", SHUT_DOWN]);
    await closeAll(run);
  });

  it("waits for what ends within the grace, and no longer", async () => {
    const run = startRunner();
    const sleeper = (ms: number) =>
      run.call(async (_input, task) => {
        await task.sleep("work", ms);
        return `${ms}`;
      }, "forbidden");
    const [short, long] = [sleeper(100), sleeper(200)];
    const closing = run.runner.close(1_000);
    await run.clock.advance(100);
    assert.equal(textOf(await short), "100");
    assert.equal(await isSettled(closing), false);
    await run.clock.advance(100);
    assert.equal(textOf(await long), "200");
    await closing;
    assert.equal(run.clock.pending, 0);
    await closeAll(run);
  });

  it("ends what is not done when the grace is over", async () => {
    const run = startRunner();
    const { taskId } = taskOf(await run.call(() => NEVER, "required"));
    const closing = run.runner.close(1_000);
    await run.clock.advance(999);
    assert.equal((await run.get(taskId)).status, "working");
    await run.clock.advance(1);
    await closing;
    assert.deepEqual((await run.get(taskId)).error, SHUT_DOWN);
    await closeAll(run);
  });

  it("needs no grace where nothing runs, and leaves no timer", async () => {
    const run = startRunner();
    await run.runner.close(1_000_000);
    assert.equal(run.clock.pending, 0);
    await closeAll(run);
  });

  it("lets tasks be answered, cancelled and ended during the grace", async () => {
    const run = startRunner();
    const asking = taskOf(await run.call((_input, task) => task.roots().then(() => "answered"), "required"));
    const cancelled = taskOf(await run.call(() => NEVER, "required"));
    const closing = run.runner.close(1_000);
    await turn();
    await run.runner.update(asking.taskId, undefined, { "roots-1": { roots: [] } });
    await run.runner.cancel(cancelled.taskId, undefined);
    await closing;
    assert.equal((await run.get(asking.taskId)).status, "completed");
    assert.equal((await run.get(cancelled.taskId)).status, "cancelled");
    await closeAll(run);
  });

  it("does not wait for handlers that look at nothing, and their ends come to nothing", async () => {
    const run = startRunner();
    const work = gate<string>();
    const { taskId } = taskOf(
      await run.call(async (_input, task) => {
        const done = await work.promise;
        task.status("still here");
        task.progress(1);
        task.extend(1_000_000);
        await assert.rejects(task.roots(), AbortedError);
        await assert.rejects(task.sleep("more", 1), AbortedError);
        await assert.rejects(task.begin().then(() => task.step("more", () => 1)), AbortedError);
        return done;
      }, "required"),
    );
    await closeAll(run);
    work.open("too late");
    await turn(5);
    assert.equal(run.store.history.get(taskId)?.at(-1)?.status, "failed");
    assert.deepEqual([run.store.faults, run.errors], [[], []]);
    run.isEmpty();
  });

  it("waits for tasks that are being made, and ends them", async () => {
    for (const policy of ["required", "optional"] as const) {
      for (let turns = 0; turns < 10; turns += 1) {
        const run = startRunner({ store: new WitnessStore({ delay: () => turn(2) }) });
        const calling = run.call(async (_input, task) => {
          await task.begin();
          await NEVER;
        }, policy);
        const settled = Promise.allSettled([calling]);
        await turn(turns);
        await run.runner.close(0);
        await run.registry.close();
        await run.store.close();
        await settled;
        await turn(10);
        assert.deepEqual(run.store.faults, [], `after ${turns} turns`);
        for (const history of run.store.history.values()) {
          assert.ok(["failed", "cancelled"].includes(history.at(-1)?.status ?? ""), `after ${turns} turns`);
        }
        run.isEmpty();
      }
    }
  });

  it("waits for ends that are being stored", async () => {
    for (let turns = 0; turns < 6; turns += 1) {
      const run = startRunner({ store: new WitnessStore({ delay: () => turn(2) }) });
      const work = gate();
      const { taskId } = taskOf(await run.call(() => work.promise, "required"));
      work.open();
      await turn(turns);
      await closeAll(run);
      const end = run.store.history.get(taskId)?.at(-1)?.status;
      // A handler that was done is done, from its very next moment on.
      assert.equal(end, turns === 0 ? end : "completed");
      assert.ok(end === "completed" || end === "failed");
    }
  });

  it("fires signals though the store fails", async () => {
    let fails = false;
    const store = new WitnessStore({ failure: (_call, name) => (fails && name === "put" ? "before" : undefined) });
    const run = startRunner({ store });
    let signal: AbortSignal | undefined;
    await run.call(async (_input, task) => {
      ({ signal } = task);
      await NEVER;
    }, "required");
    fails = true;
    await closeAll(run);
    assert.equal(signal?.aborted, true);
    assert.ok(run.errors.length > 0 && run.errors.every((error) => error instanceof StoreFailure));
  });

  it("lets the queue go, whose handlers never start", async () => {
    const run = startRunner({ running: 1 });
    await run.call(() => NEVER, "required");
    const queued = taskOf(await run.call(() => assert.fail("it worked"), "required"));
    const plain = assert.rejects(
      run.call(() => assert.fail("it worked"), "forbidden"),
      AbortedError,
    );
    await turn();
    await run.runner.close(0);
    await plain;
    assert.deepEqual((await run.get(queued.taskId)).error, SHUT_DOWN);
    await closeAll(run);
    assert.deepEqual(run.errors, []);
  });

  it("ends the waiting between rounds at once where there is no grace, and after it where there is", async () => {
    for (const graceMs of [0, 1_000]) {
      const run = startRunner();
      const handler = (_input: unknown, task: { roots(): Promise<unknown> }) => task.roots().then(() => "done");
      questionsOf(await run.call(handler, "optional", { tasks: false }));
      const closing = run.runner.close(graceMs);
      await run.clock.advance(graceMs);
      await closing;
      await closeAll(run);
    }
  });
});
