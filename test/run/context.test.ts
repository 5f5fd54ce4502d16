// What a handler has in its hands, but for its questions.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TaskContext } from "../../src/run/context.ts";
import { AbortedError } from "../../src/task/errors.ts";
import { turn } from "../support/clock.ts";
import type { Running } from "../support/running.ts";
import { gate, isSettled, startRunner, taskOf, textOf } from "../support/running.ts";
import { TTL_MS } from "../support/registry.ts";
import type { TaskOptions } from "../../src/run/policy.ts";

const NEVER: Promise<never> = new Promise(() => {});

/** A task whose handler does nothing, with its context in the test's hands. */
async function hold(run: Running, policy: TaskOptions = {}): Promise<{ taskId: string; task: TaskContext }> {
  const held = gate<TaskContext>();
  const { taskId } = taskOf(
    await run.call(
      (_input, task) => {
        held.open(task);
        return NEVER;
      },
      { mode: "required", ...policy },
    ),
  );
  return { taskId, task: await held.promise };
}

describe("a handler's context", () => {
  it("may be taken apart", async () => {
    const run = startRunner();
    const answer = await run.call(
      async (_input, context) => {
        const { taskId, isTask, signal, principal, status, progress, begin, roots, step, sleep, extend, external } = context;
        assert.deepEqual([isTask, principal, signal.aborted], [false, "ann", false]);
        await begin();
        status("one");
        progress(1, 3);
        extend(1);
        assert.equal(await step("add", () => 1 + 1), 2);
        const sleeping = sleep("a while", 5);
        const asking = roots();
        assert.equal((await run.get(taskId, "ann")).principal, "ann");
        await Promise.all([sleeping, asking]);
        return external();
      },
      "optional",
      { principal: "ann" },
    );
    const { taskId } = taskOf(answer);
    await run.clock.advance(5);
    await run.runner.update(taskId, "ann", { "roots-1": { roots: [] } });
    await turn();
    assert.equal(run.runner.sizes.elsewhere, 1);
    await run.handle(taskId).complete();
    run.isEmpty();
    assert.deepEqual(run.errors, []);
  });

  it("has an id in a plain call too, and an id of its own in each", async () => {
    const run = startRunner();
    const ids = new Set<string>();
    for (let at = 0; at < 100; at += 1) {
      await run.call((_input, { taskId }) => {
        assert.match(taskId, /^[\w-]{32}$/);
        ids.add(taskId);
      }, "forbidden");
    }
    assert.equal(ids.size, 100);
  });

  it("is whom the call is from, and stays so when the call becomes a task", async () => {
    const run = startRunner();
    const principals: unknown[] = [];
    for (const principal of ["ann", undefined]) {
      await run.call(
        async (_input, task) => {
          await task.begin();
          principals.push(task.principal);
        },
        "optional",
        { principal },
      );
    }
    await turn();
    assert.deepEqual(principals, ["ann", undefined]);
  });
});

describe("status and progress", () => {
  it("are the task's status in words", async () => {
    const run = startRunner();
    const { taskId, task } = await hold(run);
    const told: unknown[] = [];
    for (const [tell, message] of [
      [() => task.status("thinking"), "thinking"],
      [() => task.progress(3), "3"],
      [() => task.progress(3, 5), "3/5"],
      [() => task.progress(3, 5, "copying"), "copying (3/5)"],
      [() => task.progress(4, undefined, "copying"), "copying (4)"],
      [() => task.progress(0.5, 1), "0.5/1"],
      [() => task.status(""), ""],
    ] as const) {
      tell();
      await turn();
      told.push([(await run.get(taskId)).statusMessage, message]);
    }
    assert.ok(told.every((pair) => Array.isArray(pair) && pair[0] === pair[1]), JSON.stringify(told));
  });

  it("are progress notifications of a plain call, and of a call as long as it is one", async () => {
    const run = startRunner();
    const told: unknown[] = [];
    const notifyProgress = (...args: unknown[]) => told.push(args);
    const begun = gate();
    const calling = run.call(
      async (_input, task) => {
        task.progress(1, 3, "one");
        task.status("no notification");
        await begun.promise;
        await task.begin();
        task.progress(2, 3);
        await turn();
        task.progress(3, 3);
        await NEVER;
      },
      "optional",
      { notifyProgress },
    );
    await turn();
    begun.open();
    const { taskId } = taskOf(await calling);
    await turn(3);
    assert.deepEqual(told, [[1, 3, "one"]]);
    assert.equal((await run.get(taskId)).statusMessage, "3/3");
  });

  it("change nothing any more once the task has ended", async () => {
    const run = startRunner();
    const { taskId, task } = await hold(run);
    await run.runner.cancel(taskId, undefined);
    const calls = run.store.calls;
    task.status("late");
    task.progress(1);
    task.extend(1_000_000);
    await turn();
    assert.equal((await run.get(taskId)).statusMessage, "The task was cancelled by request.");
    // The store is not troubled with it.
    assert.equal(run.store.calls, calls + 1);
    assert.deepEqual(run.errors, []);
  });

  it("extend the task's life where the tool says so", async () => {
    const run = startRunner();
    const { taskId, task } = await hold(run, { extendOnProgress: true });
    const other = await hold(run);
    for (let at = 0; at < 20; at += 1) {
      await run.clock.advance(TTL_MS - 1);
      task.progress(at);
      if (at === 0) other.task.progress(at);
    }
    assert.equal((await run.get(taskId)).status, "working");
    await run.clock.advance(TTL_MS - 1);
    assert.equal((await run.get(taskId)).status, "working");
    await run.clock.advance(1);
    assert.equal((await run.get(taskId)).error?.message, "Task has expired");
    await assert.rejects(run.get(other.taskId));
  });
});

describe("extend", () => {
  it("moves the end of the task's life, never to an earlier time", async () => {
    const run = startRunner();
    const { taskId, task } = await hold(run);
    task.extend(5 * TTL_MS);
    task.extend(5);
    await turn();
    assert.equal((await run.get(taskId)).ttlMs, 5 * TTL_MS);
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY, "5" as unknown as number]) {
      assert.throws(() => task.extend(ms), RangeError);
    }
  });

  it("does nothing in a plain call", async () => {
    const run = startRunner();
    assert.equal(textOf(await run.call((_input, task) => (task.extend(5), "done"))), "done");
    assert.equal(run.store.calls, 0);
  });
});

describe("sleep", () => {
  it("waits as long as it says, by the host's clock", async () => {
    const run = startRunner();
    const { task } = await hold(run);
    const sleeping = task.sleep("a while", 1_000);
    await run.clock.advance(999);
    assert.equal(await isSettled(sleeping), false);
    await run.clock.advance(1);
    await sleeping;
    const atOnce = task.sleep("not at all", 0);
    await run.clock.advance(0);
    await atOnce;
    await assert.rejects(task.sleep("wrong", Number.NaN), /task\.sleep\("wrong", ms\) takes milliseconds/);
    await assert.rejects(task.sleep("wrong", -1), RangeError);
  });

  it("ends when the task does, and leaves no timer and no listener", async () => {
    const run = startRunner();
    const { taskId, task } = await hold(run);
    const sleeps = [1_000, 1_000_000, Number.POSITIVE_INFINITY].map((ms) =>
      assert.rejects(task.sleep("long", ms), AbortedError),
    );
    await run.runner.cancel(taskId, undefined);
    await Promise.all(sleeps);
    assert.equal(run.clock.pending, 1);
    await assert.rejects(task.sleep("after that", 1), AbortedError);
    assert.equal(run.clock.pending, 1);
  });
});

describe("step", () => {
  it("gives what the work gives, and throws what it throws", async () => {
    const run = startRunner();
    const { task } = await hold(run);
    assert.equal(await task.step("sync", () => 1), 1);
    assert.equal(await task.step("async", async () => 2), 2);
    const broken = new Error("broke");
    await assert.rejects(
      task.step("throws", () => {
        throw broken;
      }),
      broken,
    );
    await assert.rejects(
      task.step("rejects", () => Promise.reject(broken)),
      broken,
    );
  });

  it("does not begin when the signal has fired", async () => {
    const run = startRunner();
    const { taskId, task } = await hold(run);
    await run.runner.cancel(taskId, undefined);
    await assert.rejects(
      task.step("late", () => assert.fail("it worked")),
      AbortedError,
    );
  });
});

describe("the signal", () => {
  it("fires once, with the reason, however late it is looked at", async () => {
    const run = startRunner();
    const early = await hold(run);
    const late = await hold(run);
    const reasons: unknown[] = [];
    early.task.signal.addEventListener("abort", () => reasons.push(early.task.signal.reason));
    for (const { taskId } of [early, late]) {
      await run.runner.cancel(taskId, undefined);
      await run.runner.cancel(taskId, undefined);
    }
    await run.runner.close(0);
    assert.deepEqual(
      [...reasons, late.task.signal.reason].map((reason) => [reason instanceof AbortedError, (reason as Error).message]),
      [
        [true, "The task was cancelled by request."],
        [true, "The task was cancelled by request."],
      ],
    );
    assert.equal(late.task.signal, late.task.signal);
  });

  it("does not fire when the handler is done", async () => {
    const run = startRunner();
    let signal: AbortSignal | undefined;
    const { taskId } = taskOf(
      await run.call((_input, task) => {
        ({ signal } = task);
      }, "required"),
    );
    await turn();
    await run.runner.cancel(taskId, undefined);
    await run.clock.advance(1_000_000);
    await run.runner.close(0);
    assert.equal(signal?.aborted, false);
  });

  it("fires at expiry, in the middle of a question", async () => {
    const run = startRunner();
    const { task } = await hold(run);
    const asking = assert.rejects(task.roots(), /Task has expired/);
    await run.clock.advance(TTL_MS);
    await asking;
    assert.equal(task.signal.aborted, true);
    run.isEmpty();
  });
});
