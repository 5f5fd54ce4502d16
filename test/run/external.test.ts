// Work that goes on elsewhere: whoever holds the task's id ends it, asks in it and reports from it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { TaskContext } from "../../src/run/context.ts";
import { AbortedError, InvalidAnswerError, ProtocolError, TaskNotFoundError } from "../../src/task/errors.ts";
import { turn } from "../support/clock.ts";
import type { Running } from "../support/running.ts";
import { gate, isSettled, questionsOf, startRunner, taskOf, textOf } from "../support/running.ts";
import { StoreFailure, WitnessStore } from "../support/stores.ts";
import { ASKS_NOTHING, aTask } from "../support/task.ts";

const PLAIN = { tasks: false };
const handsOver = (_input: unknown, task: TaskContext) => task.external();

/** A call whose handler hands its work over, with the id that it told those who do it. */
function handOver(run: Running, policy: "optional" | "required" | "forbidden", call: object = {}) {
  const id = gate<string>();
  const calling = run.call(
    (_input, task) => {
      id.open(task.taskId);
      return task.external();
    },
    policy,
    call,
  );
  return { calling, id: id.promise };
}

describe("an external task", () => {
  for (const policy of ["optional", "required"] as const) {
    it(`(${policy}) is answered with at once, and ended from outside`, async () => {
      const run = startRunner();
      const { calling } = handOver(run, policy);
      const { taskId } = taskOf(await calling);
      await turn();
      assert.deepEqual(run.runner.sizes, { runs: 0, elsewhere: 1, rounds: 0, taken: 0, waiting: 0 });
      const handle = run.handle(taskId);
      await handle.status("queued");
      assert.equal((await run.get(taskId)).statusMessage, "queued");
      await handle.progress(1);
      assert.equal((await run.get(taskId)).statusMessage, "1");
      await handle.progress(1, 4, "building");
      assert.equal((await run.get(taskId)).statusMessage, "building (1/4)");
      await handle.complete("built");
      assert.deepEqual((await run.get(taskId)).result, { content: [{ type: "text", text: "built" }] });
      run.isEmpty();
    });
  }

  it("can fail: with an error of the protocol, or with one that says nothing", async () => {
    const run = startRunner();
    for (const [error, told] of [
      [new ProtocolError(-32_000, "no space", { left: 0 }), { code: -32_000, message: "no space", data: { left: 0 } }],
      [new Error("password is hunter2"), { code: -32_603, message: "Internal error" }],
      ["a string", { code: -32_603, message: "Internal error" }],
    ] as const) {
      const { taskId } = taskOf(await run.call(handsOver, "required"));
      await run.handle(taskId).fail(error);
      const { status, error: failed } = await run.get(taskId);
      assert.deepEqual([status, failed], ["failed", told]);
    }
    run.isEmpty();
  });

  it("ends once: what comes later changes nothing and is no error", async () => {
    const run = startRunner();
    const { taskId } = taskOf(await run.call(handsOver, "required"));
    const handle = run.handle(taskId);
    await handle.complete("first");
    await Promise.all([handle.complete("second"), handle.fail(new Error("third"))]);
    await handle.status("late");
    await handle.progress(9);
    await handle.extend(1_000_000);
    await handle.complete();
    const { statusMessage, result } = await run.get(taskId);
    assert.deepEqual([statusMessage, result?.content[0]?.["text"]], [undefined, "first"]);
    await assert.rejects(handle.elicit("late?", z.object({ a: z.string() })), AbortedError);
    run.isEmpty();
  });

  it("can ask, and its answers are checked by the asker's own schema", async () => {
    const run = startRunner();
    const { taskId } = taskOf(await run.call(handsOver, "required"));
    const even = z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") });
    const asking = run.handle(taskId).elicit("Even?", even);
    const alsoAsking = run.handle(taskId).ask({ method: "roots/list" });
    await turn();
    const [key = "", other = ""] = Object.keys((await run.get(taskId)).inputRequests);
    const answer = (n: number) => run.runner.update(taskId, undefined, { [key]: { action: "accept", content: { n } } });
    await assert.rejects(answer(3), InvalidAnswerError);
    assert.equal(await isSettled(asking), false);
    await answer(4);
    assert.deepEqual(await asking, { n: 4 });
    assert.equal((await run.get(taskId)).status, "input_required");
    await run.runner.update(taskId, undefined, { [other]: { roots: [] } });
    assert.deepEqual(await alsoAsking, { roots: [] });
    await run.handle(taskId).complete("done");
    run.isEmpty();
  });

  it("serves its handler's context as before", async () => {
    const run = startRunner({ running: 1 });
    let context: TaskContext | undefined;
    const { taskId } = taskOf(
      await run.call((_input, task) => {
        context = task;
        return task.external();
      }, "required"),
    );
    await turn();
    context?.progress(1, 2);
    const asking = context?.roots();
    await turn();
    assert.equal((await run.get(taskId)).statusMessage, "1/2");
    await run.runner.update(taskId, undefined, { "roots-1": { roots: [] } });
    assert.deepEqual(await asking, []);
    const sleeping = context?.sleep("a while", 5);
    await run.clock.advance(5);
    await sleeping;
    assert.equal(run.runner.sizes.taken, 0);
    await run.handle(taskId).complete();
    run.isEmpty();
  });

  it("fires its handler's signal when it is cancelled, expires, or the host closes", async () => {
    const ends: ((run: Running, taskId: string) => Promise<void>)[] = [
      (run, taskId) => run.runner.cancel(taskId, undefined),
      (run) => run.clock.advance(10_000),
      (run) => run.runner.close(0),
    ];
    for (const end of ends) {
      const run = startRunner();
      let signal: AbortSignal | undefined;
      const handler = (_input: unknown, task: TaskContext) => {
        ({ signal } = task);
        return task.external();
      };
      const { taskId } = taskOf(await run.call(handler, "required"));
      await turn();
      assert.equal(signal?.aborted, false);
      const asking = assert.rejects(run.handle(taskId).ask({ method: "roots/list" }), AbortedError);
      await turn();
      await end(run, taskId);
      assert.equal(signal?.aborted, true);
      await asking;
      assert.equal(run.runner.sizes.elsewhere, 0);
    }
  });

  it("does not hold up closing, and lives on in the store", async () => {
    const run = startRunner();
    const { taskId } = taskOf(await run.call(handsOver, "required"));
    await turn();
    await run.runner.close(1_000_000);
    assert.equal((await run.get(taskId)).status, "working");
    await run.registry.close();
    await run.store.close();
    assert.deepEqual(run.store.faults, []);
    assert.equal(run.store.history.get(taskId)?.at(-1)?.status, "working");
  });

  it("is not lost when its end comes while it is being made", async () => {
    for (let turns = 0; turns < 8; turns += 1) {
      const store = new WitnessStore({ delay: () => turn(2) });
      const run = startRunner({ store });
      const { calling, id } = handOver(run, "optional");
      const taskId = await id;
      await turn(turns);
      await run.handle(taskId).complete("early");
      const { taskId: told } = taskOf(await calling);
      assert.equal(told, taskId);
      await turn(10);
      const { status, result } = await run.get(taskId);
      assert.deepEqual([status, result?.content[0]?.["text"]], ["completed", "early"]);
      run.isEmpty();
    }
  });

  it("may end before its handler has even returned", async () => {
    const run = startRunner();
    const returning = gate();
    const id = gate<string>();
    const calling = run.call(async (_input, task) => {
      id.open(task.taskId);
      await returning.promise;
      return task.external();
    });
    const taskId = await id.promise;
    await run.handle(taskId).complete("quicker");
    assert.equal(textOf(await calling), "quicker");
    returning.open();
    await turn();
    assert.equal(run.store.history.size, 0);
    run.isEmpty();
  });

  it("ended while its handler still works takes the handler's slot and fires its signal, in a plain call too", async () => {
    for (const policy of ["required", "forbidden"] as const) {
      const run = startRunner({ running: 1 });
      const id = gate<string>();
      let signal: AbortSignal | undefined;
      let asked: Promise<unknown> = Promise.resolve();
      const calling = run.call(async (_input, task) => {
        ({ signal } = task);
        id.open(task.taskId);
        await new Promise(() => {});
      }, policy);
      const handle = run.handle(await id.promise);
      if (policy === "required") asked = assert.rejects(handle.ask({ method: "roots/list" }), AbortedError);
      await turn();
      await handle.complete("from outside");
      if (policy === "forbidden") assert.equal(textOf(await calling), "from outside");
      await asked;
      assert.equal(signal?.aborted, true);
      run.isEmpty();
    }
  });

  it("rejects what was asked from outside when its handler ends it", async () => {
    const run = startRunner();
    const returning = gate();
    const { taskId } = taskOf(await run.call(() => returning.promise, "required"));
    const asking = assert.rejects(run.handle(taskId).ask({ method: "roots/list" }), AbortedError);
    await turn();
    assert.equal((await run.get(taskId)).status, "input_required");
    returning.open();
    await asking;
    await turn();
    assert.equal((await run.get(taskId)).status, "completed");
    run.isEmpty();
  });

  it("may become a task while its result is looked at", async () => {
    const checked = gate();
    const outputSchema = z.object({ n: z.number().refine(() => checked.promise.then(() => true)) });
    const run = startRunner({ outputSchema });
    const id = gate<string>();
    const calling = run.call((_input, task) => {
      id.open(task.taskId);
      return new Promise(() => {});
    });
    const taskId = await id.promise;
    const completing = run.runner
      .task(taskId, () => ({ name: "work", policy: "optional", outputSchema, handler: () => {} }))
      .complete({ n: 1 });
    await run.clock.advance(100);
    taskOf(await calling);
    checked.open();
    await completing;
    assert.deepEqual((await run.get(taskId)).result?.structuredContent, { n: 1 });
    run.isEmpty();
  });

  it("leaves its caller with the error when there is no room for it", async () => {
    const run = startRunner({ quota: { tasks: 0, tasksPerPrincipal: 0 } });
    let signal: AbortSignal | undefined;
    const calling = run.call((_input, task) => {
      ({ signal } = task);
      return task.external();
    });
    await assert.rejects(calling, /as many tasks as it may/);
    await turn();
    assert.equal(signal?.aborted, true);
    run.isEmpty();
  });

  it("ends with what no client can be told as a failure that its author hears of", async () => {
    const run = startRunner();
    for (const value of [{ content: [{ type: "text", n: 1n }] }, 7, () => {}]) {
      const { taskId } = taskOf(await run.call(handsOver, "required"));
      await run.handle(taskId).complete(value);
      const { status, error } = await run.get(taskId);
      assert.deepEqual([status, error], ["failed", { code: -32_603, message: "Internal error" }]);
    }
    assert.equal(run.errors.length, 3);
    assert.ok(run.errors.every((error) => error instanceof TypeError));
  });
});

describe("a handle", () => {
  it("finds no task that is unknown, discarded, or over as a plain call", async () => {
    const run = startRunner();
    const { taskId } = taskOf(await run.call(handsOver, "required"));
    await run.clock.advance(12_000);
    const { id, calling } = handOver(run, "forbidden");
    const plainId = await id;
    await run.handle(plainId).complete("over");
    await calling;
    for (const gone of ["nowhere", taskId, plainId]) {
      const handle = run.handle(gone);
      await assert.rejects(handle.complete("x"), TaskNotFoundError);
      await assert.rejects(handle.fail(new Error("x")), TaskNotFoundError);
      await assert.rejects(handle.status("x"), TaskNotFoundError);
      await assert.rejects(handle.progress(1), TaskNotFoundError);
      await assert.rejects(handle.extend(1), TaskNotFoundError);
      await assert.rejects(handle.ask({ method: "roots/list" }), TaskNotFoundError);
      await assert.rejects(handle.elicit("?", z.object({})), TaskNotFoundError);
    }
    run.isEmpty();
  });

  it("moves the end of a task's life, and takes milliseconds only", async () => {
    const run = startRunner();
    const { taskId } = taskOf(await run.call(handsOver, "required"));
    await run.handle(taskId).extend(50_000);
    assert.equal((await run.get(taskId)).ttlMs, 50_000);
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      await assert.rejects(run.handle(taskId).extend(ms), RangeError);
    }
  });

  it("serves a task of another process, or of this one before it started anew", async () => {
    const run = startRunner();
    await run.store.create(aTask({ taskId: "theirs", principal: "ann", dueAt: null, ttlMs: null }), {
      tasks: 9,
      tasksPerPrincipal: 9,
    });
    const handle = run.handle("theirs");
    const asking = handle.elicit("Name?", z.object({ name: z.string() }));
    await turn();
    const { status, inputRequests } = await run.get("theirs", "ann");
    const [key = ""] = Object.keys(inputRequests);
    assert.match(key, /^elicit-[\w-]{12}$/);
    assert.equal(status, "input_required");
    await run.runner.update("theirs", "ann", { [key]: { action: "accept", content: { name: "Zoë" } } });
    assert.deepEqual(await asking, { name: "Zoë" });
    const declining = assert.rejects(handle.elicit("Sure?", z.object({})), /The question was declined: Sure\?/);
    await turn();
    const [second = ""] = Object.keys((await run.get("theirs", "ann")).inputRequests);
    await run.runner.update("theirs", "ann", { [second]: { action: "decline" } });
    await declining;
    assert.equal(run.registry.sizes.watched, 0);
    await handle.complete("done");
    assert.equal((await run.get("theirs", "ann")).status, "completed");
    run.isEmpty();
  });

  it("leaves no listener and no loose rejection of a question that cannot be asked", async () => {
    let fails = false;
    const store = new WitnessStore({ failure: (_call, name) => (fails && name === "put" ? "before" : undefined) });
    const run = startRunner({ store });
    const quota = { tasks: 9, tasksPerPrincipal: 9 };
    await store.create(aTask({ taskId: "theirs", ttlMs: null, dueAt: null }), quota);
    await store.create(aTask({ taskId: "over", status: "completed", ttlMs: null, dueAt: null }), quota);
    await store.create(aTask({ taskId: "mute", askable: ASKS_NOTHING, ttlMs: null, dueAt: null }), quota);
    const ask = (taskId: string) => run.handle(taskId).ask({ method: "roots/list" });
    fails = true;
    await assert.rejects(ask("theirs"), StoreFailure);
    fails = false;
    await assert.rejects(ask("over"), AbortedError);
    await assert.rejects(ask("mute"), /Missing required client capability/);
    assert.equal(run.registry.sizes.watched, 0);
    await run.clock.advance(1_000);
    await run.runner.cancel("theirs", undefined);
    // Its end comes in the very write that would have told of the question.
    await store.create(aTask({ taskId: "ending", ttlMs: null, dueAt: null }), quota);
    const asking = assert.rejects(ask("ending"), AbortedError);
    await turn();
    await run.runner.cancel("ending", undefined);
    await asking;
    assert.equal(run.registry.sizes.watched, 0);
  });
});

describe("an external plain call", () => {
  it("waits for its end from outside, and holds no slot", async () => {
    const run = startRunner({ running: 1 });
    const { calling, id } = handOver(run, "optional", PLAIN);
    const taskId = await id;
    await turn();
    assert.deepEqual(run.runner.sizes, { runs: 1, elsewhere: 0, rounds: 0, taken: 0, waiting: 0 });
    await run.clock.advance(1_000_000);
    assert.equal(await isSettled(calling), false);
    await run.handle(taskId).complete({ content: [{ type: "text", text: "built" }], isError: true });
    assert.deepEqual(await calling, {
      kind: "result",
      result: { content: [{ type: "text", text: "built" }], isError: true },
    });
    run.isEmpty();
  });

  it("fails from outside", async () => {
    const run = startRunner();
    const { calling, id } = handOver(run, "forbidden");
    await run.handle(await id).fail(new ProtocolError(-32_001, "no"));
    assert.deepEqual(await calling, { kind: "error", error: { code: -32_001, message: "no" } });
    run.isEmpty();
  });

  it("reports and asks from outside, as its handler would", async () => {
    const run = startRunner({ running: 1 });
    const told: unknown[] = [];
    const call = { ...PLAIN, notifyProgress: (...args: unknown[]) => told.push(args) };
    const { calling, id } = handOver(run, "optional", call);
    const handle = run.handle(await id);
    await handle.progress(1, 2, "half");
    await handle.status("only a task shows it");
    await handle.extend(5);
    const asking = handle.elicit("Name?", z.object({ name: z.string().refine((name) => name !== "x", "not x") }));
    const { requestState, inputRequests } = questionsOf(await calling);
    assert.deepEqual(Object.keys(inputRequests), ["elicit-1"]);
    const answers = (name: string) => ({ "elicit-1": { action: "accept", content: { name } } });
    await assert.rejects(run.resume(requestState, answers("x"), call), InvalidAnswerError);
    const resuming = run.resume(requestState, answers("Zoë"), call);
    assert.deepEqual(await asking, { name: "Zoë" });
    await handle.progress(2, 2);
    await handle.complete("done");
    assert.equal(textOf(await resuming), "done");
    assert.deepEqual(told, [
      [1, 2, "half"],
      [2, 2, undefined],
    ]);
    run.isEmpty();
  });

  it("ends with its request, and what is asked then is refused", async () => {
    const run = startRunner();
    const request = new AbortController();
    const { calling, id } = handOver(run, "optional", { ...PLAIN, signal: request.signal });
    const taskId = await id;
    await turn();
    const handle = run.handle(taskId);
    request.abort();
    await assert.rejects(calling, AbortedError);
    await assert.rejects(handle.complete("late"), TaskNotFoundError);
    run.isEmpty();
  });

  it("ends when the host closes", async () => {
    const run = startRunner();
    const { calling, id } = handOver(run, "optional", PLAIN);
    await id;
    const ended = assert.rejects(calling, AbortedError);
    await run.runner.close(0);
    await ended;
    run.isEmpty();
  });
});
