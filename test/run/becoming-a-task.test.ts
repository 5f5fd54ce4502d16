// When a call is answered inline, and when with a task.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TaskContext } from "../../src/run/context.ts";
import type { TaskMode, TaskOptions } from "../../src/run/policy.ts";
import {
  AbortedError,
  HostClosedError,
  MissingCapabilityError,
  QuotaExceededError,
  TaskNotFoundError,
  TooLargeError,
} from "../../src/task/errors.ts";
import { turn } from "../support/clock.ts";
import { INLINE_MS, gate, isSettled, startRunner, taskOf, textOf } from "../support/running.ts";
import { StoreFailure, WitnessStore } from "../support/stores.ts";

const NEVER: Promise<never> = new Promise(() => {});

describe("an optional tool", () => {
  it("answers inline what ends in time, and leaves no trace of a task", async () => {
    const run = startRunner();
    const calling = run.call(async (_input, task) => {
      await task.sleep("work", INLINE_MS - 1);
      return "quick";
    });
    await run.clock.advance(INLINE_MS - 1);
    assert.equal(textOf(await calling), "quick");
    assert.equal(run.store.history.size, 0);
    run.isEmpty();
    assert.equal(run.clock.pending, 0);
  });

  it("answers with a task, stored and at work, what takes longer", async () => {
    const run = startRunner();
    const work = gate<string>();
    const calling = run.call(() => work.promise);
    await run.clock.advance(INLINE_MS - 1);
    assert.equal(await isSettled(calling), false);
    await run.clock.advance(1);
    const task = taskOf(await calling);
    assert.deepEqual([task.status, task.createdAt], ["working", run.clock.now()]);
    assert.equal(await run.store.get(task.taskId), task);
    work.open("slow");
    await turn();
    const ended = await run.get(task.taskId);
    assert.deepEqual([ended.status, ended.result], ["completed", { content: [{ type: "text", text: "slow" }] }]);
    run.isEmpty();
  });

  it("takes what ends while its task is being made as the task's end", async () => {
    const stored = gate();
    const store = new WitnessStore({ delay: () => stored.promise });
    const run = startRunner({ store });
    const work = gate<string>();
    const calling = run.call(() => work.promise);
    await run.clock.advance(INLINE_MS);
    work.open("just now");
    await turn();
    stored.open();
    const { taskId } = taskOf(await calling);
    await turn(3);
    assert.equal((await run.get(taskId)).status, "completed");
    run.isEmpty();
  });

  it("waits as long as the tool says, or the host", async () => {
    for (const [policy, ms] of [
      [{ inlineWithinMs: 5 }, 5],
      [{ mode: "optional" as const, inlineWithinMs: 5_000 }, 5_000],
      [{ mode: "required" as const, inlineWithinMs: 7 }, 7],
      [{}, INLINE_MS],
    ] as const) {
      const run = startRunner();
      const calling = run.call(() => NEVER, policy);
      await run.clock.advance(ms - 1);
      assert.equal(await isSettled(calling), false);
      await run.clock.advance(1);
      assert.equal(taskOf(await calling).status, "working");
      await run.runner.close(0);
    }
  });

  it("gives its task what the tool says", async () => {
    const run = startRunner();
    const policy = { inlineWithinMs: 0, ttlMs: null, pollIntervalMs: { min: 5, max: 50 } };
    const call = { principal: "ann", arguments: { n: 1 } };
    const task = taskOf(await run.call(() => NEVER, policy, call));
    assert.deepEqual(
      [task.principal, task.tool, task.arguments, task.ttlMs, task.pollIntervalMs, task.dueAt],
      ["ann", "work", { n: 1 }, null, { min: 5, max: 50 }, null],
    );
    await assert.rejects(run.get(task.taskId, "bob"), TaskNotFoundError);
  });

  it("never becomes a task for a client that knows none", async () => {
    const run = startRunner();
    const work = gate<string>();
    const calling = run.call(
      async (_input, task) => {
        await task.begin();
        assert.equal(task.isTask, false);
        return work.promise;
      },
      { inlineWithinMs: 0 },
      { tasks: false },
    );
    await run.clock.advance(1_000_000);
    work.open("plain");
    assert.equal(textOf(await calling), "plain");
    assert.equal(run.store.history.size, 0);
  });
});

describe("a required tool", () => {
  it("stores its task before it starts to work", async () => {
    const run = startRunner();
    const seen: boolean[] = [];
    const answer = await run.call((_input, task) => {
      seen.push(task.isTask, run.store.history.has(task.taskId));
      return "done";
    }, "required");
    assert.deepEqual(seen, [true, true]);
    const { taskId } = taskOf(answer);
    await turn();
    assert.equal((await run.get(taskId)).status, "completed");
    run.isEmpty();
  });

  it("is refused to a client that knows no tasks, before it works", async () => {
    const run = startRunner();
    const work = () => assert.fail("it worked");
    await assert.rejects(run.call(work, "required", { tasks: false }), (error) => {
      assert.ok(error instanceof MissingCapabilityError);
      assert.equal(error.rpcCode, -32_021);
      assert.deepEqual(error.data, { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } });
      return true;
    });
    run.isEmpty();
  });
});

describe("a forbidden tool", () => {
  it("never becomes a task, however long it takes and whatever it begins", async () => {
    const run = startRunner();
    const work = gate<string>();
    const calling = run.call(async (_input, task) => {
      await task.begin();
      return work.promise;
    }, "forbidden");
    await run.clock.advance(1_000_000);
    work.open("plain");
    assert.equal(textOf(await calling), "plain");
    assert.equal(run.store.history.size, 0);
    run.isEmpty();
  });
});

describe("a policy that decides on each call", () => {
  it("sees the input and the call", async () => {
    const run = startRunner();
    const seen: unknown[] = [];
    const policy = async (input: unknown, call: object) => {
      seen.push(input, call);
      return (input as { big: boolean }).big ? ("required" as const) : ("forbidden" as const);
    };
    const given = { principal: "ann", arguments: { big: "yes" } };
    assert.equal(textOf(await run.call(() => "small", policy, given, { big: false })), "small");
    assert.equal((await run.call(() => "big", policy, given, { big: true })).kind, "task");
    assert.deepEqual(seen[0], { big: false });
    const { principal, tasks, arguments: args } = seen[1] as { principal: string; tasks: boolean; arguments: unknown };
    assert.deepEqual([principal, tasks, args], ["ann", true, { big: "yes" }]);
  });

  it("fails the call alone when it throws, or says what is no policy", async () => {
    const run = startRunner();
    const work = () => assert.fail("it worked");
    const broken = new Error("no idea");
    await assert.rejects(run.call(work, () => Promise.reject(broken)), broken);
    for (const policy of [undefined, null, 7, "never", { mode: "never" }, { ttlMs: -1 }, { inlineWithinMs: Number.NaN }]) {
      await assert.rejects(
        run.call(work, () => policy as TaskMode | TaskOptions),
        /The task policy of the tool "work"/,
      );
    }
    run.isEmpty();
  });

  it("does not start what the host closed meanwhile", async () => {
    const run = startRunner();
    const decided = gate<TaskMode>();
    const calling = run.call(
      () => assert.fail("it worked"),
      () => decided.promise,
    );
    await run.runner.close(0);
    decided.open("optional");
    await assert.rejects(calling, HostClosedError);
    run.isEmpty();
  });
});

describe("task.begin", () => {
  it("makes the call a task at once, and once only", async () => {
    const run = startRunner();
    const work = gate<string>();
    const seen: boolean[] = [];
    const answer = await run.call(async (_input, task) => {
      seen.push(task.isTask);
      await Promise.all([task.begin(), task.begin()]);
      seen.push(task.isTask);
      await task.begin();
      return work.promise;
    });
    const { taskId } = taskOf(answer);
    assert.deepEqual(seen, [false, true]);
    assert.equal(run.store.history.size, 1);
    work.open("done");
    await turn();
    assert.equal((await run.get(taskId)).status, "completed");
    run.isEmpty();
  });

  it("is all that makes a task where a call may take for ever", async () => {
    const run = startRunner();
    const begin = gate();
    const calling = run.call(
      async (_input, task) => {
        await begin.promise;
        await task.begin();
        await NEVER;
      },
      { inlineWithinMs: Number.POSITIVE_INFINITY },
    );
    await run.clock.advance(1_000_000);
    assert.equal(await isSettled(calling), false);
    begin.open();
    assert.equal(taskOf(await calling).status, "working");
  });

  it("gives the task the status that was told before, and what was told while it was made", async () => {
    const stored = gate();
    const store = new WitnessStore({ delay: () => stored.promise });
    const run = startRunner({ store });
    const work = gate();
    const calling = run.call(async (_input, task) => {
      task.status("first");
      const beginning = task.begin();
      task.status("second");
      void task.roots();
      task.status("third");
      await beginning;
      await work.promise;
    });
    await turn();
    stored.open();
    const task = taskOf(await calling);
    assert.deepEqual([task.status, task.statusMessage], ["input_required", "third"]);
  });

  it("fails where there is no room, and the call with it", async () => {
    const run = startRunner({ quota: { tasks: 1, tasksPerPrincipal: 1 } });
    const first = taskOf(await run.call(() => NEVER, "required"));
    const seen: unknown[] = [];
    const begin = async (_input: unknown, task: TaskContext) => {
      await task.begin().catch((error: unknown) => {
        seen.push(error);
        throw error;
      });
    };
    await assert.rejects(run.call(begin), QuotaExceededError);
    assert.ok(seen[0] instanceof QuotaExceededError);
    await assert.rejects(run.call(() => NEVER, "required"), QuotaExceededError);
    const slow = run.call(async (_input, task) => {
      await task.sleep("work", 1_000_000);
    });
    const refused = assert.rejects(slow, QuotaExceededError);
    await run.clock.advance(INLINE_MS);
    await refused;
    await run.runner.cancel(first.taskId, undefined);
    run.isEmpty();
    assert.deepEqual(run.errors, []);
    assert.equal(run.store.history.size, 1);
  });
});

describe("a request that is cancelled", () => {
  /** A call under way, and what its handler's signal says. */
  const start = (run: ReturnType<typeof startRunner>, policy: TaskOptions = {}, aborted = false) => {
    const request = new AbortController();
    if (aborted) request.abort();
    const reasons: unknown[] = [];
    const calling = run.call(
      async (_input, task) => {
        task.signal.addEventListener("abort", () => reasons.push(task.signal.reason));
        if (task.signal.aborted) reasons.push(task.signal.reason);
        await NEVER;
      },
      policy,
      { signal: request.signal },
    );
    return { request, reasons, calling };
  };

  it("before it is answered ends the work", async () => {
    const run = startRunner();
    const { request, reasons, calling } = start(run);
    await turn();
    request.abort();
    await assert.rejects(calling, AbortedError);
    assert.deepEqual(
      reasons.map((reason) => (reason as Error).message),
      ["The request was cancelled"],
    );
    run.isEmpty();
    assert.equal(run.clock.pending, 0);
    assert.equal(run.store.history.size, 0);
  });

  it("before it is looked at does not start the work", async () => {
    const run = startRunner();
    const { reasons, calling } = start(run, {}, true);
    await assert.rejects(calling, AbortedError);
    assert.deepEqual(reasons, []);
    run.isEmpty();
  });

  it("while its task is made leaves no task behind that goes on", async () => {
    for (const policy of [{ inlineWithinMs: INLINE_MS }, { inlineWithinMs: 0 }]) {
      for (let turns = 0; turns < 12; turns += 1) {
        const store = new WitnessStore({ delay: () => turn(2) });
        const run = startRunner({ store });
        const { request, calling } = start(run, policy);
        const settled = calling.then(
          () => "answered",
          (error: unknown) => error,
        );
        if (policy.inlineWithinMs > 0) await run.clock.advance(INLINE_MS);
        await turn(turns);
        request.abort();
        const answered = await settled;
        await turn(10);
        const [history] = [...store.history.values()];
        // Whoever was answered in time has a task that lives; nobody knows of the others, and they have ended.
        if (answered === "answered" && history?.at(-1)?.status === "working") {
          assert.equal(run.runner.sizes.runs, 1);
        } else {
          assert.ok(history === undefined || history.at(-1)?.status === "cancelled", `${turns} turns`);
          run.isEmpty();
        }
        await run.runner.close(0);
        await run.registry.close();
        await store.close();
        assert.deepEqual(store.faults, []);
      }
    }
  });

  it("before its required task is answered with does not start the work, and ends the task", async () => {
    const stored = gate();
    const store = new WitnessStore({ delay: () => stored.promise });
    const run = startRunner({ store });
    const { request, reasons, calling } = start(run, { mode: "required" });
    await turn();
    request.abort();
    stored.open();
    await Promise.allSettled([calling]);
    await turn(3);
    assert.deepEqual(reasons, []);
    const [history] = [...store.history.values()];
    assert.equal(history?.at(-1)?.status, "cancelled");
    run.isEmpty();
  });

  it("after it was answered with a task changes nothing: the work outlives it", async () => {
    const run = startRunner();
    const { request, reasons, calling } = start(run, { mode: "required" });
    const { taskId } = taskOf(await calling);
    request.abort();
    await turn();
    assert.deepEqual(reasons, []);
    assert.equal((await run.get(taskId)).status, "working");
  });

  it("leaves no listener on its signal", async () => {
    const run = startRunner();
    let listeners = 0;
    const { signal } = new AbortController();
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (type: string, listener: () => void) => {
      listeners += 1;
      add(type, listener);
    };
    signal.removeEventListener = (type: string, listener: () => void) => {
      listeners -= 1;
      remove(type, listener);
    };
    for (const policy of ["optional", "required", "forbidden"] as const) {
      await run.call(() => "done", policy, { signal });
      await run.call(
        () => {
          throw new Error("broke");
        },
        policy,
        { signal },
      );
    }
    assert.equal(listeners, 0);
  });
});

describe("a store that fails", () => {
  it("as a task is made fails the call, aborts the work, and leaves nothing", async () => {
    for (const policy of ["required", "optional"] as const) {
      const store = new WitnessStore({ failure: (_call, name) => (name === "create" ? "before" : undefined) });
      const run = startRunner({ store });
      let signal: AbortSignal | undefined;
      const calling = run.call(async (_input, task) => {
        ({ signal } = task);
        await NEVER;
      }, policy);
      const refused = assert.rejects(calling, StoreFailure);
      await run.clock.advance(INLINE_MS);
      await refused;
      assert.equal(signal?.aborted ?? true, true);
      run.isEmpty();
    }
  });

  it("as a task's first question is stored ends the task, of which nobody was told", async () => {
    let fails = true;
    const store = new WitnessStore({ failure: (_call, name) => (fails && name === "put" ? "before" : undefined) });
    const run = startRunner({ store });
    await assert.rejects(
      run.call(async (_input, task) => {
        await task.roots();
      }),
      StoreFailure,
    );
    fails = false;
    await run.clock.advance(1_000);
    const [history] = [...store.history.values()];
    assert.equal(history?.at(-1)?.status, "cancelled");
    run.isEmpty();
  });

  it("as a task ends is asked again, until the end is stored", async () => {
    let fails = false;
    const store = new WitnessStore({ failure: (_call, name) => (fails && name === "put" ? "before" : undefined) });
    const run = startRunner({ store });
    const work = gate<string>();
    const { taskId } = taskOf(await run.call(() => work.promise, "required"));
    fails = true;
    work.open("done");
    await run.clock.advance(500);
    assert.equal((await run.get(taskId)).status, "working");
    fails = false;
    await run.clock.advance(500);
    assert.equal((await run.get(taskId)).status, "completed");
    assert.equal(run.errors.length, 1);
    run.isEmpty();
  });
});

describe("a call's arguments", () => {
  it("may be so long, in bytes", async () => {
    const run = startRunner({ argumentBytes: 20 });
    const fits = { a: "é".repeat(6) };
    assert.equal(new TextEncoder().encode(JSON.stringify(fits)).byteLength, 20);
    assert.equal(textOf(await run.call(() => "done", "optional", { arguments: fits })), "done");
    const work = () => assert.fail("it worked");
    await assert.rejects(run.call(work, "required", { arguments: { a: "é".repeat(7) } }), (error) => {
      assert.ok(error instanceof TooLargeError);
      assert.match(error.message, /The arguments: 22 bytes, where 20 are allowed.*limits\.argumentBytes/);
      assert.equal(error.rpcCode, -32_602);
      return true;
    });
    run.isEmpty();
  });

  it("stay what they were in the record, whatever the handler does to its input", async () => {
    const run = startRunner();
    const given = { list: [3, 1, 2] };
    const task = taskOf(
      await run.call(
        async (input, task) => {
          (input as typeof given).list.sort((a, b) => a - b);
          await task.begin();
          await NEVER;
        },
        "optional",
        { arguments: given },
        given,
      ),
    );
    assert.deepEqual(given, { list: [1, 2, 3] });
    assert.deepEqual(task.arguments, { list: [3, 1, 2] });
  });
});
