// Questions of plain calls: multi-round-trip results, between whose rounds the run waits.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { TaskContext } from "../../src/run/context.ts";
import {
  AbortedError,
  HostClosedError,
  InvalidAnswerError,
  InvalidRequestStateError,
  QuotaExceededError,
} from "../../src/task/errors.ts";
import { turn } from "../support/clock.ts";
import type { GivenCall } from "../support/running.ts";
import { ROUND_TTL_MS, gate, isSettled, questionsOf, startRunner, taskOf, textOf } from "../support/running.ts";

const PLAIN: GivenCall = { tasks: false };
const NO_ROOTS = { roots: [] };
const NEVER: Promise<never> = new Promise(() => {});
const askRoots = (_input: unknown, task: TaskContext) => task.roots().then((roots) => `${roots.length} roots`);

describe("a question in a plain call", () => {
  it("is its answer, and the next round brings the result", async () => {
    const run = startRunner();
    const asked = questionsOf(await run.call(askRoots, "optional", PLAIN));
    assert.deepEqual(asked.inputRequests, { "roots-1": { method: "roots/list" } });
    assert.match(asked.requestState, /^[\w-]{32}$/);
    assert.deepEqual([run.runner.sizes.rounds, run.runner.sizes.taken], [1, 0]);
    const answer = await run.resume(asked.requestState, { "roots-1": { roots: [{ uri: "file:///a" }] } }, PLAIN);
    assert.equal(textOf(answer), "1 roots");
    assert.equal(run.store.history.size, 0);
    run.isEmpty();
    assert.equal(run.clock.pending, 0);
  });

  it("may follow another, each in a round of its own", async () => {
    const run = startRunner();
    const states: string[] = [];
    let answer = await run.call(
      async (_input, task) => {
        for (let at = 0; at < 3; at += 1) await task.roots();
        return "done";
      },
      "forbidden",
      PLAIN,
    );
    for (let round = 1; round <= 3; round += 1) {
      const { inputRequests, requestState } = questionsOf(answer);
      assert.deepEqual(Object.keys(inputRequests), [`roots-${round}`]);
      states.push(requestState);
      answer = await run.resume(requestState, { [`roots-${round}`]: NO_ROOTS }, PLAIN);
    }
    assert.equal(textOf(answer), "done");
    assert.equal(new Set(states).size, 3);
    for (const state of states) await assert.rejects(run.resume(state, {}, PLAIN), InvalidRequestStateError);
  });

  it("may come with others, and be answered in parts", async () => {
    const run = startRunner();
    const handler = async (_input: unknown, task: TaskContext) => {
      const answers = await task.ask({ a: { method: "roots/list" }, b: { method: "roots/list" } });
      return Object.keys(answers).join();
    };
    const first = questionsOf(await run.call(handler, "optional", PLAIN));
    assert.deepEqual(Object.keys(first.inputRequests), ["a-1", "b-2"]);
    const second = questionsOf(await run.resume(first.requestState, { "b-2": NO_ROOTS, "x-9": "ignored" }, PLAIN));
    assert.deepEqual(Object.keys(second.inputRequests), ["a-1"]);
    const third = questionsOf(await run.resume(second.requestState, {}, PLAIN));
    assert.deepEqual(Object.keys(third.inputRequests), ["a-1"]);
    // What was answered stays answered.
    const answer = await run.resume(third.requestState, { "a-1": NO_ROOTS, "b-2": "nonsense" }, PLAIN);
    assert.equal(textOf(answer), "a,b");
  });

  it("may be asked after some work, however long that takes", async () => {
    const run = startRunner();
    const work = gate();
    const calling = run.call(
      async (_input, task) => {
        await work.promise;
        await task.roots();
        await task.sleep("more work", 500);
        return "done";
      },
      "optional",
      PLAIN,
    );
    await run.clock.advance(1_000_000);
    work.open();
    const { requestState } = questionsOf(await calling);
    const resuming = run.resume(requestState, { "roots-1": NO_ROOTS }, PLAIN);
    assert.equal(await isSettled(resuming), false);
    await run.clock.advance(500);
    assert.equal(textOf(await resuming), "done");
  });

  it("that is declined is a result that says so", async () => {
    const run = startRunner();
    const handler = (_input: unknown, task: TaskContext) => task.elicit("Sure?", z.object({ yes: z.boolean() }));
    const { requestState } = questionsOf(await run.call(handler, "optional", PLAIN));
    const answer = await run.resume(requestState, { "elicit-1": { action: "decline" } }, PLAIN);
    assert.deepEqual(answer, {
      kind: "result",
      result: { content: [{ type: "text", text: "The question was declined: Sure?" }], isError: true },
    });
  });

  it("reports its progress to the request of the moment", async () => {
    const run = startRunner();
    const told: string[] = [];
    const call = (name: string) => ({ ...PLAIN, notifyProgress: (done: number) => told.push(`${name} ${done}`) });
    const step = gate();
    const handler = async (_input: unknown, task: TaskContext) => {
      task.progress(1);
      const asked = task.roots();
      task.progress(2);
      await asked;
      task.progress(3);
      await step.promise;
      task.progress(4);
    };
    const { requestState } = questionsOf(await run.call(handler, "optional", call("first")));
    const resuming = run.resume(requestState, { "roots-1": NO_ROOTS }, call("second"));
    await turn();
    step.open();
    await resuming;
    assert.deepEqual(told, ["first 1", "first 2", "second 3", "second 4"]);
  });
});

describe("questions before a task", () => {
  const policy = { mode: "required" as const, inlineWithinMs: Number.POSITIVE_INFINITY };

  it("are rounds first, and then it is a task", async () => {
    const run = startRunner();
    const handler = async (_input: unknown, task: TaskContext) => {
      const { name } = await task.elicit("Your name?", z.object({ name: z.string() }));
      await task.begin();
      await task.roots();
      return `Hello, ${name}!`;
    };
    const { requestState } = questionsOf(await run.call(handler, policy));
    assert.equal(run.store.history.size, 0);
    const answer = await run.resume(requestState, { "elicit-1": { action: "accept", content: { name: "Ann" } } });
    const { taskId } = taskOf(answer);
    await turn();
    await run.runner.update(taskId, undefined, { "roots-2": NO_ROOTS });
    await turn();
    assert.equal((await run.get(taskId)).result?.content[0]?.["text"], "Hello, Ann!");
    run.isEmpty();
  });

  it("become the task's, when it begins while the client is away", async () => {
    const run = startRunner();
    const begin = gate();
    const handler = async (_input: unknown, task: TaskContext) => {
      const beginning = begin.promise.then(() => task.begin());
      const [roots] = await Promise.all([task.roots(), beginning]);
      task.status("answered");
      await task.sleep("work", 100);
      return `${roots.length}`;
    };
    const { requestState } = questionsOf(await run.call(handler, policy));
    begin.open();
    await turn();
    const answer = await run.resume(requestState, { "roots-1": NO_ROOTS });
    const { taskId } = taskOf(answer);
    await turn();
    const task = await run.get(taskId);
    assert.deepEqual([task.status, task.inputRequests, task.statusMessage], ["working", {}, "answered"]);
    await run.clock.advance(100);
    assert.equal((await run.get(taskId)).status, "completed");
    run.isEmpty();
  });

  it("end the task that began while the client was away, when it never comes back", async () => {
    const run = startRunner();
    const begin = gate();
    const handler = async (_input: unknown, task: TaskContext) => {
      await Promise.all([task.roots(), begin.promise.then(() => task.begin())]);
    };
    questionsOf(await run.call(handler, policy));
    begin.open();
    await turn();
    await run.clock.advance(ROUND_TTL_MS);
    const [history] = [...run.store.history.values()];
    assert.equal(history?.at(-1)?.status, "cancelled");
    run.isEmpty();
  });
});

describe("a requestState", () => {
  const CALL: GivenCall = { ...PLAIN, principal: "ann", arguments: { a: 1, b: { c: [1, { d: 2, e: 3 }] } } };

  it("works once", async () => {
    const run = startRunner();
    const { requestState } = questionsOf(await run.call(askRoots, "optional", CALL));
    const answers = await Promise.allSettled([
      run.resume(requestState, { "roots-1": NO_ROOTS }, CALL),
      run.resume(requestState, { "roots-1": NO_ROOTS }, CALL),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
    await assert.rejects(run.resume(requestState, { "roots-1": NO_ROOTS }, CALL), InvalidRequestStateError);
    run.isEmpty();
  });

  it("works for its caller, tool and arguments alone, and is not used up by others", async () => {
    const run = startRunner();
    const { requestState } = questionsOf(await run.call(askRoots, "optional", CALL));
    const answers = { "roots-1": NO_ROOTS };
    const others: Parameters<typeof run.resume>[2][] = [
      { ...CALL, principal: "bob" },
      { ...CALL, principal: undefined },
      { ...CALL, tool: "other" },
      { ...CALL, tasks: true },
      { ...CALL, arguments: {} },
      { ...CALL, arguments: { a: 2, b: { c: [1, { d: 2, e: 3 }] } } },
      { ...CALL, arguments: { a: 1, b: { c: [{ d: 2, e: 3 }, 1] } } },
      { ...CALL, arguments: { ...CALL.arguments, more: null } },
    ];
    for (const other of others) {
      await assert.rejects(run.resume(requestState, answers, other), (error) => {
        assert.ok(error instanceof InvalidRequestStateError);
        assert.deepEqual([error.rpcCode, error.data], [-32_602, { reason: "invalid_request_state" }]);
        return true;
      });
    }
    // The same arguments, in another order.
    const same = { ...CALL, arguments: { b: { c: [1, { e: 3, d: 2 }] }, a: 1 } };
    assert.equal(textOf(await run.resume(requestState, answers, same)), "0 roots");
  });

  it("is bound to the arguments that came, whatever the handler does to its input", async () => {
    const run = startRunner();
    const given = { list: [3, 1, 2] };
    const call = { ...PLAIN, arguments: given };
    const handler = async (input: unknown, task: TaskContext) => {
      (input as typeof given).list.sort((a, b) => a - b);
      return askRoots(input, task);
    };
    const { requestState } = questionsOf(await run.call(handler, "optional", call, given));
    const again = { ...PLAIN, arguments: { list: [3, 1, 2] } };
    assert.equal(textOf(await run.resume(requestState, { "roots-1": NO_ROOTS }, again)), "0 roots");
  });

  it("cannot be guessed, and may be anything else without harm", async () => {
    const run = startRunner();
    questionsOf(await run.call(askRoots, "optional", PLAIN));
    for (const state of [undefined, null, 0, "", "roots-1", "__proto__", {}, [], "A".repeat(32)]) {
      await assert.rejects(run.resume(state, {}, PLAIN), InvalidRequestStateError);
    }
  });

  it("is kept when an answer was ill-formed, and nothing was answered", async () => {
    const run = startRunner();
    const handler = async (_input: unknown, task: TaskContext) => {
      const even = z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") });
      const [, { n }] = await Promise.all([task.roots(), task.elicit("Even?", even)]);
      return `${n}`;
    };
    const { requestState } = questionsOf(await run.call(handler, "optional", PLAIN));
    for (const content of [{}, { n: "4" }, { n: 3 }]) {
      const answers = { "roots-1": NO_ROOTS, "elicit-2": { action: "accept", content } };
      await assert.rejects(run.resume(requestState, answers, PLAIN), InvalidAnswerError);
    }
    const answers = { "roots-1": NO_ROOTS, "elicit-2": { action: "accept", content: { n: 4 } } };
    assert.equal(textOf(await run.resume(requestState, answers, PLAIN)), "4");
  });

  it("expires, and the run with it", async () => {
    const run = startRunner();
    const reasons: string[] = [];
    const handler = async (_input: unknown, task: TaskContext) => {
      task.signal.addEventListener("abort", () => reasons.push((task.signal.reason as Error).message));
      await task.roots().catch((error: unknown) => reasons.push((error as Error).message));
      await NEVER;
    };
    const { requestState } = questionsOf(await run.call(handler, "optional", PLAIN));
    await run.clock.advance(ROUND_TTL_MS - 1);
    assert.equal(run.runner.sizes.rounds, 1);
    await run.clock.advance(1);
    await assert.rejects(run.resume(requestState, { "roots-1": NO_ROOTS }, PLAIN), InvalidRequestStateError);
    assert.deepEqual(reasons, ["The questions were not answered in time", "The questions were not answered in time"]);
    run.isEmpty();
    assert.equal(run.clock.pending, 0);
  });

  it("does not expire while the next round is worked on", async () => {
    const run = startRunner();
    const handler = async (_input: unknown, task: TaskContext) => {
      await task.roots();
      await task.sleep("work", 10 * ROUND_TTL_MS);
      return "done";
    };
    const { requestState } = questionsOf(await run.call(handler, "optional", PLAIN));
    await run.clock.advance(ROUND_TTL_MS - 1);
    const resuming = run.resume(requestState, { "roots-1": NO_ROOTS }, PLAIN);
    await run.clock.advance(10 * ROUND_TTL_MS);
    assert.equal(textOf(await resuming), "done");
  });

  it("brings back what ended meanwhile", async () => {
    const run = startRunner();
    const handler = async (_input: unknown, task: TaskContext) => {
      await Promise.race([task.roots(), task.sleep("at most", 50)]);
      return "without an answer";
    };
    const { requestState } = questionsOf(await run.call(handler, "optional", PLAIN));
    await run.clock.advance(50);
    assert.equal(textOf(await run.resume(requestState, { "roots-1": NO_ROOTS }, PLAIN)), "without an answer");
    run.isEmpty();
  });

  it("is given to so many calls at once, and no slot is lost on the others", async () => {
    const run = startRunner({ rounds: 2, running: 3 });
    const asked = [
      questionsOf(await run.call(askRoots, "optional", PLAIN)),
      questionsOf(await run.call(askRoots, "optional", PLAIN)),
    ];
    let signal: AbortSignal | undefined;
    const refused = run.call(
      async (_input, task) => {
        ({ signal } = task);
        await task.roots();
      },
      "optional",
      PLAIN,
    );
    await assert.rejects(refused, QuotaExceededError);
    assert.equal(signal?.aborted, true);
    assert.deepEqual(run.runner.sizes, { runs: 2, elsewhere: 0, rounds: 2, taken: 0, waiting: 0 });
    for (const { requestState } of asked) await run.resume(requestState, { "roots-1": NO_ROOTS }, PLAIN);
    questionsOf(await run.call(askRoots, "optional", PLAIN));
  });
});

describe("a plain call that is cancelled", () => {
  it("in a later round ends the work too", async () => {
    const run = startRunner();
    const request = new AbortController();
    let signal: AbortSignal | undefined;
    const handler = async (_input: unknown, task: TaskContext) => {
      ({ signal } = task);
      await task.roots();
      await NEVER;
    };
    const { requestState } = questionsOf(await run.call(handler, "optional", PLAIN));
    const resuming = run.resume(requestState, { "roots-1": NO_ROOTS }, { ...PLAIN, signal: request.signal });
    await turn();
    request.abort();
    await assert.rejects(resuming, AbortedError);
    assert.equal(signal?.aborted, true);
    run.isEmpty();
  });

  it("between two rounds is not: the first request was answered", async () => {
    const run = startRunner();
    const request = new AbortController();
    const { requestState } = questionsOf(await run.call(askRoots, "optional", { ...PLAIN, signal: request.signal }));
    request.abort();
    assert.equal(textOf(await run.resume(requestState, { "roots-1": NO_ROOTS }, PLAIN)), "0 roots");
  });
});

describe("closing", () => {
  it("lets the rounds go, and refuses those to come", async () => {
    const run = startRunner();
    const caught: unknown[] = [];
    const handler = (_input: unknown, task: TaskContext) => task.roots().catch((error: unknown) => caught.push(error));
    const { requestState } = questionsOf(await run.call(handler, "optional", PLAIN));
    await run.runner.close(0);
    await turn();
    assert.ok(caught[0] instanceof AbortedError);
    await assert.rejects(run.resume(requestState, {}, PLAIN), HostClosedError);
    run.isEmpty();
    assert.equal(run.clock.pending, 0);
  });

  it("keeps no round that is being refused just then", async () => {
    const run = startRunner();
    const checked = gate();
    const slow = z.object({ a: z.string().refine(() => checked.promise.then(() => false), "no") });
    const handler = (_input: unknown, task: TaskContext) => task.elicit("?", slow);
    const { requestState } = questionsOf(await run.call(handler, "optional", PLAIN));
    const answers = { "elicit-1": { action: "accept", content: { a: "x" } } };
    const resuming = assert.rejects(run.resume(requestState, answers, PLAIN), InvalidAnswerError);
    await turn();
    await run.runner.close(0);
    checked.open();
    await resuming;
    run.isEmpty();
    assert.equal(run.clock.pending, 0);
  });
});
