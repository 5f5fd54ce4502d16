// Whatever handlers do, clients ask for and hosts go through, in whatever order: each call is answered once, each task has
// one legal end, no slot is lost, and nothing is left over.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { TaskContext } from "../../src/run/context.ts";
import type { Answer } from "../../src/run/runner.ts";
import { ErrandError, ProtocolError } from "../../src/task/errors.ts";
import { microtasks, turn } from "../support/clock.ts";
import { checkHistory } from "../support/history.ts";
import { seeded } from "../support/random.ts";
import { RETAIN_MS, TOMBSTONE_MS, TTL_MS } from "../support/registry.ts";
import { ROUND_TTL_MS, startRunner } from "../support/running.ts";
import { runs } from "../support/soak.ts";
import type { WitnessOptions } from "../support/stores.ts";
import { StoreFailure, WitnessStore, randomDelay } from "../support/stores.ts";

const NEVER: Promise<never> = new Promise(() => {});

const handlerStep = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("ask" as const, "ask two" as const, "ask or sleep" as const, "ask in vain" as const) },
  { weight: 2, arbitrary: fc.constantFrom("sleep" as const, "turn" as const, "microtasks" as const) },
  { weight: 2, arbitrary: fc.constantFrom("status" as const, "progress" as const, "extend" as const, "begin" as const) },
  { weight: 1, arbitrary: fc.constantFrom("begin and ask" as const, "look at the signal" as const) },
);
type HandlerStep = typeof handlerStep extends fc.Arbitrary<infer Value> ? Value : never;

const aCall = fc.record({
  mode: fc.constantFrom("optional" as const, "optional" as const, "required" as const, "forbidden" as const),
  inlineWithinMs: fc.constantFrom(0, 50, Number.POSITIVE_INFINITY),
  tasks: fc.boolean(),
  steps: fc.array(handlerStep, { maxLength: 5 }),
  end: fc.constantFrom("return" as const, "throw" as const, "fail" as const, "external" as const, "hang" as const),
});

const pause = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("microtasks" as const), much: fc.nat({ max: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("turns" as const), much: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("ms" as const), much: fc.constantFrom(1, 50, 200, 4_000) }) },
);
const clientStep = fc.record({
  what: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom("answer" as const, "answer a part" as const, "answer wrong" as const) },
    { weight: 2, arbitrary: fc.constantFrom("cancel" as const, "leave" as const) },
    { weight: 2, arbitrary: fc.constantFrom("complete" as const, "fail" as const, "report" as const, "ask" as const) },
    { weight: 1, arbitrary: fc.constant("wait" as const) },
  ),
  which: fc.nat({ max: 3 }),
  pause,
});

const program = fc.record({
  calls: fc.array(aCall, { minLength: 1, maxLength: 4 }),
  steps: fc.array(clientStep, { maxLength: 14 }),
  running: fc.integer({ min: 1, max: 2 }),
  close: fc.option(fc.constantFrom(0, 100)),
  seed: fc.integer(),
});
type Program = typeof program extends fc.Arbitrary<infer Value> ? Value : never;

async function work(task: TaskContext, step: HandlerStep): Promise<void> {
  switch (step) {
    case "ask":
      await task.roots();
      return;
    case "ask two":
      await task.ask({ a: { method: "roots/list" }, b: { method: "roots/list" } });
      return;
    case "ask or sleep":
      await Promise.race([task.roots(), task.sleep("at most", 30)]);
      return;
    case "ask in vain":
      void task.roots();
      return;
    case "sleep":
      await task.sleep("a while", 60);
      return;
    case "turn":
      await turn();
      return;
    case "microtasks":
      await microtasks(5);
      return;
    case "status":
      task.status("working on it");
      return;
    case "progress":
      task.progress(1, 2);
      return;
    case "extend":
      task.extend(TTL_MS + 100);
      return;
    case "begin":
      await task.begin();
      return;
    case "begin and ask":
      await Promise.all([task.begin(), task.roots()]);
      return;
    case "look at the signal":
      task.signal.throwIfAborted();
      return;
  }
}

async function live({ calls, steps, running, close }: Program, options: WitnessOptions): Promise<void> {
  const store = new WitnessStore(options);
  const fails = options.failure !== undefined;
  const run = startRunner({ store, running, rounds: 3 });
  const { clock, runner } = run;
  const checkSlots = () => {
    const { taken, waiting } = runner.sizes;
    assert.ok(taken >= 0 && taken <= running, `${taken} slots of ${running} are taken`);
    assert.ok(waiting === 0 || taken === running, `${waiting} wait though ${running - taken} slots are free`);
  };

  const clients = calls.map(({ mode, inlineWithinMs, tasks, steps: handlerSteps, end }) => {
    const client = {
      taskId: undefined as string | undefined,
      request: new AbortController(),
      /** How a round is gone on with, while one waits. */
      resume: undefined as ((responses: object) => void) | undefined,
      keys: [] as string[],
      isDone: false,
    };
    const call = () => {
      client.request = new AbortController();
      return { tasks, signal: client.request.signal };
    };
    const onAnswer = (answer: Answer) => {
      assert.equal(client.isDone, false, "a call was answered twice");
      if (answer.kind !== "input_required") {
        client.isDone = true;
        if (answer.kind === "task") assert.ok(tasks && mode !== "forbidden", "a task for a client that knows none");
        return;
      }
      assert.ok(!tasks || mode === "forbidden" || inlineWithinMs === Number.POSITIVE_INFINITY);
      client.keys = Object.keys(answer.inputRequests);
      assert.ok(client.keys.length > 0);
      client.resume = (responses) => {
        client.resume = undefined;
        const given = call();
        void run.resume(answer.requestState, { ...responses }, given).then(onAnswer, (error: unknown) => {
          onError(error);
          // Ill-formed answers leave the round as it was.
          if (error instanceof ErrandError && error.code === "INVALID_ANSWER") onAnswer(answer);
        });
      };
    };
    const onError = (error: unknown) => {
      const isOurs = error instanceof ErrandError || (fails && error instanceof StoreFailure);
      assert.ok(isOurs, String(error));
      if (!(error instanceof ErrandError && error.code === "INVALID_ANSWER")) client.isDone = true;
    };
    const handler = async (_input: unknown, task: TaskContext) => {
      client.taskId = task.taskId;
      for (const step of handlerSteps) await work(task, step);
      if (end === "throw") throw new Error("a handler's own");
      if (end === "fail") throw new ProtocolError(-32_000, "a handler's own");
      if (end === "hang") await NEVER;
      return end === "external" ? task.external() : "done";
    };
    void run.call(handler, { mode, inlineWithinMs }, call()).then(onAnswer, onError);
    return client;
  });

  /** Errors that come of asking for what is over, or of a store that fails. */
  const tolerant = async (attempt: Promise<unknown> | undefined) => {
    try {
      await attempt;
    } catch (error) {
      assert.ok(error instanceof ErrandError || (fails && error instanceof StoreFailure), String(error));
    }
  };
  const answers = async (client: (typeof clients)[number], part: boolean, wrong: boolean) => {
    const record = client.taskId === undefined ? undefined : await run.registry.find(client.taskId);
    const keys = record === undefined ? client.keys : Object.keys(record.inputRequests);
    const responses = Object.fromEntries(
      (part ? keys.slice(0, 1) : keys).map((key) => [key, wrong ? { roots: "none" } : { roots: [] }]),
    );
    if (record !== undefined) await runner.update(record.taskId, undefined, responses);
    client.resume?.(responses);
  };
  const take = async (what: Program["steps"][number]["what"], which: number): Promise<void> => {
    const client = clients[which % clients.length];
    if (client === undefined) return;
    const { taskId } = client;
    const handle = taskId === undefined ? undefined : run.handle(taskId);
    switch (what) {
      case "answer":
      case "answer a part":
      case "answer wrong":
        return answers(client, what === "answer a part", what === "answer wrong");
      case "cancel":
        return taskId === undefined ? undefined : runner.cancel(taskId, undefined);
      case "leave":
        return client.request.abort();
      case "complete":
        return handle?.complete("from outside");
      case "fail":
        return handle?.fail(new ProtocolError(-32_001, "from outside"));
      case "report":
        return handle?.progress(2, 2);
      case "ask":
        await handle?.ask({ method: "roots/list" });
        return;
      case "wait":
        return clock.advance(TTL_MS / 2);
    }
  };

  const pending: Promise<void>[] = [];
  for (const { what, which, pause: before } of steps) {
    if (before.kind === "microtasks") await microtasks(before.much);
    if (before.kind === "turns") await turn(before.much);
    if (before.kind === "ms") await clock.advance(before.much);
    checkSlots();
    pending.push(tolerant(take(what, which)));
  }

  if (close !== null) {
    const closing = runner.close(close);
    await clock.advance(close);
    await closing;
    checkSlots();
    assert.deepEqual([runner.sizes.runs, runner.sizes.elsewhere, runner.sizes.rounds], [0, 0, 0]);
  }
  // All the time that there is goes by; clients that still wait for a plain call leave.
  for (let round = 0; ; round += 1) {
    assert.ok(round < 100, `something is left: ${JSON.stringify([runner.sizes, run.registry.sizes, clock.pending])}`);
    await turn(5);
    checkSlots();
    await clock.advance(TTL_MS + RETAIN_MS + TOMBSTONE_MS + ROUND_TTL_MS);
    if (round > 3) for (const client of clients) client.request.abort();
    await turn(5);
    if (round > 4 && clock.pending === 0 && runner.sizes.runs === 0) break;
  }
  await Promise.all(pending);
  run.isEmpty();
  assert.equal(await store.count(), 0);
  for (const client of clients) assert.ok(client.isDone || client.resume !== undefined, "a call was never answered");
  for (const [taskId, history] of store.history) {
    assert.ok(checkHistory(history) !== undefined, `${taskId} came to no end`);
    assert.equal(history.at(-1)?.status, "expired");
  }
  for (const error of run.errors) {
    const isKnown = error instanceof StoreFailure ? fails : (error as Error).message === "a handler's own";
    assert.ok(isKnown, String(error));
  }
  await runner.close(0);
  await run.registry.close();
  await store.close();
  await turn(2);
  assert.deepEqual(store.faults, []);
}

describe("interleavings of calls", () => {
  it("end well on a store that answers at once", async () => {
    await fc.assert(
      fc.asyncProperty(program, (given) => live(given, {})),
      runs(600, 21),
    );
  });

  it("end well on a store that answers some time later", async () => {
    await fc.assert(
      fc.asyncProperty(program, (given) => live(given, { delay: randomDelay(seeded(given.seed)) })),
      runs(600, 22),
    );
  });

  it("end well on a store that fails now and then", async () => {
    await fc.assert(
      fc.asyncProperty(program, (given) => {
        const random = seeded(given.seed);
        const failure = () => (random() < 0.1 ? (random() < 0.5 ? "before" : "after") : undefined);
        return live(given, { delay: randomDelay(random), failure });
      }),
      runs(400, 23),
    );
  });
});
