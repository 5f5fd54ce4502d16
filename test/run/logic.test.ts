// Handlers that are XState actor logic.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assign, emit, fromCallback, fromObservable, fromPromise, fromTransition, setup } from "xstate";
import { z } from "zod";
import { isLogic } from "../../src/registry/logic.ts";
import type { TaskLogic } from "../../src/registry/logic.ts";
import type { TaskAnswerEvent, TaskEmitted } from "../../src/run/logic-handler.ts";
import { logicHandler } from "../../src/run/logic-handler.ts";
import { AbortedError, ProtocolError } from "../../src/task/errors.ts";
import { turn } from "../support/clock.ts";
import type { Running } from "../support/running.ts";
import { questionsOf, startRunner, taskOf, textOf } from "../support/running.ts";
import { ASKS_NOTHING } from "../support/task.ts";

async function start(run: Running, logic: TaskLogic, input: unknown = {}): Promise<string> {
  return taskOf(await run.call(logicHandler(logic, run.clock), "required", {}, input)).taskId;
}
const resultOf = async (run: Running, taskId: string) => (await run.get(taskId)).result?.content[0]?.["text"];
const messages = (run: Running, taskId: string) =>
  run.store.history.get(taskId)?.map((state) => ("statusMessage" in state ? state.statusMessage : undefined));

/** An order that waits for approval, is packed for a while, and then shipped. */
const order = setup({
  types: {
    context: {} as { item: string; by: string },
    input: {} as { item: string },
    events: {} as TaskAnswerEvent,
    emitted: {} as TaskEmitted,
    output: {} as string,
  },
  delays: { packing: 3_000 },
}).createMachine({
  id: "order",
  context: ({ input }) => ({ item: input.item, by: "" }),
  initial: "approving",
  states: {
    approving: {
      entry: emit(({ context }) => ({
        type: "task.elicit",
        name: "approval",
        message: `Order ${context.item}?`,
        schema: z.object({ by: z.string() }),
      })),
      on: {
        "task.answer": [
          {
            guard: ({ event }) => event.name === "approval" && event.action === "accept",
            target: "shipping",
            actions: assign({ by: ({ event }) => (event.content as { by: string }).by }),
          },
          { target: "refused" },
        ],
      },
    },
    shipping: {
      initial: "packing",
      states: {
        packing: { after: { packing: "sending" } },
        sending: {
          entry: emit({ type: "task.progress", done: 1, total: 2, message: "sending" } as const),
          after: { packing: "#order.shipped" },
        },
      },
    },
    shipped: { type: "final" },
    refused: { type: "final" },
  },
  output: ({ context }) => (context.by === "" ? "Refused" : `Shipped ${context.item} for ${context.by}`),
});

describe("a machine as a tool", () => {
  it("shows its states, asks, waits on the host's clock, and gives its output", async () => {
    const run = startRunner();
    const taskId = await start(run, order, { item: "tea" });
    await turn();
    const asked = await run.get(taskId);
    assert.deepEqual([asked.status, asked.statusMessage], ["input_required", "approving"]);
    assert.equal(asked.inputRequests["elicit-1"]?.params?.["message"], "Order tea?");
    await run.runner.update(taskId, undefined, { "elicit-1": { action: "accept", content: { by: "Ann" } } });
    await turn();
    assert.equal((await run.get(taskId)).statusMessage, "shipping.packing");
    await run.clock.advance(2_999);
    assert.equal((await run.get(taskId)).statusMessage, "shipping.packing");
    await run.clock.advance(1);
    assert.ok(messages(run, taskId)?.some((message) => message === "sending (1/2)" || message === "shipping.sending"));
    await run.clock.advance(3_000);
    assert.equal(await resultOf(run, taskId), "Shipped tea for Ann");
    run.isEmpty();
    assert.equal(run.clock.pending, 1);
  });

  it("hears that its question was declined", async () => {
    const run = startRunner();
    const taskId = await start(run, order, { item: "tea" });
    await turn();
    await run.runner.update(taskId, undefined, { "elicit-1": { action: "cancel" } });
    await turn();
    assert.equal(await resultOf(run, taskId), "Refused");
  });

  it("works in a plain call too, by rounds", async () => {
    const run = startRunner();
    const plain = { tasks: false };
    const handler = logicHandler(order, run.clock);
    const { requestState } = questionsOf(await run.call(handler, "optional", plain, { item: "tea" }));
    const answers = { "elicit-1": { action: "accept", content: { by: "Ann" } } };
    const resuming = run.resume(requestState, answers, plain);
    await run.clock.advance(6_000);
    assert.equal(textOf(await resuming), "Shipped tea for Ann");
    run.isEmpty();
  });

  it("fails when it asks what the client cannot answer, and waits for nothing any more", async () => {
    const run = startRunner();
    const handler = logicHandler(order, run.clock);
    const { taskId } = taskOf(await run.call(handler, "required", { askable: ASKS_NOTHING }, { item: "tea" }));
    await turn();
    assert.equal((await run.get(taskId)).error?.code, -32_021);
    run.isEmpty();
  });

  it("is stopped when its task is cancelled or expires, and its timers with it", async () => {
    const exits: string[] = [];
    const waits = setup({ delays: { long: 1_000_000 } }).createMachine({
      initial: "waiting",
      states: { waiting: { after: { long: "done" }, exit: () => exits.push("exit") }, done: { type: "final" } },
    });
    for (const end of [
      (run: Running, taskId: string) => run.runner.cancel(taskId, undefined),
      (run: Running) => run.clock.advance(10_000),
      (run: Running) => run.runner.close(0),
    ]) {
      const run = startRunner();
      const taskId = await start(run, waits);
      await turn();
      assert.equal(run.clock.pending, 2);
      await end(run, taskId);
      await turn();
      run.isEmpty();
      assert.equal(run.clock.pending, 1);
    }
    const run = startRunner();
    const request = new AbortController();
    const calling = run.call(logicHandler(waits, run.clock), "forbidden", { signal: request.signal });
    const ended = assert.rejects(calling, AbortedError);
    await turn();
    request.abort();
    await ended;
    await turn();
    assert.equal(run.clock.pending, 0);
  });

  it("is not started for a request that has gone already", async () => {
    const run = startRunner();
    const signal = AbortSignal.abort();
    const never = fromCallback(() => assert.fail("it started"));
    await assert.rejects(run.call(logicHandler(never, run.clock), "optional", { signal }), AbortedError);
    run.isEmpty();
  });

  it("may end itself by what it emits, and is stopped then", async () => {
    for (const [emitted, status] of [
      [{ type: "task.complete", result: "emitted" }, "completed"],
      [{ type: "task.fail", error: new ProtocolError(-32_000, "emitted") }, "failed"],
    ] as const) {
      const ticks: string[] = [];
      const goesOn = setup({ types: { emitted: {} as TaskEmitted }, delays: { tick: 10 } }).createMachine({
        initial: "on",
        entry: emit(emitted),
        states: {
          on: { after: { tick: { target: "on", reenter: true, actions: () => ticks.push("tick") } } },
        },
      });
      const run = startRunner();
      const taskId = await start(run, goesOn);
      await turn();
      assert.equal((await run.get(taskId)).status, status);
      await run.clock.advance(1_000);
      assert.deepEqual(ticks, []);
      run.isEmpty();
    }
  });

  it("shows parallel states side by side, and tells each state once", async () => {
    const both = setup({ delays: { soon: 5 } }).createMachine({
      type: "parallel",
      states: {
        up: { initial: "a", states: { a: { after: { soon: "b" } }, b: { type: "final" } } },
        down: { initial: "c", states: { c: { after: { soon: "d" } }, d: { type: "final" } } },
      },
      on: { noise: {} },
    });
    const run = startRunner();
    const taskId = await start(run, both);
    await turn();
    assert.equal((await run.get(taskId)).statusMessage, "up.a, down.c");
    await run.clock.advance(5);
    assert.equal((await run.get(taskId)).status, "completed");
  });

  it("may tell its status, ask raw questions, and emit what is not for the task", async () => {
    const talks = setup({
      types: { events: {} as TaskAnswerEvent, emitted: {} as TaskEmitted | { type: "mine"; n: number } },
    }).createMachine({
      initial: "asking",
      states: {
        asking: {
          entry: [
            emit({ type: "mine", n: 1 }),
            emit({ type: "task.status", message: "looking around" }),
            emit({ type: "task.ask", name: "where", request: { method: "roots/list" } }),
          ],
          on: { "task.answer": { target: "done" } },
        },
        done: { type: "final" },
      },
      output: ({ event }) => JSON.stringify((event as { output?: unknown }).output ?? "done"),
    });
    const run = startRunner();
    const taskId = await start(run, talks);
    await turn();
    const task = await run.get(taskId);
    assert.deepEqual(Object.keys(task.inputRequests), ["where-1"]);
    assert.ok(messages(run, taskId)?.includes("looking around") || task.statusMessage === "asking");
    await run.runner.update(taskId, undefined, { "where-1": { roots: [] } });
    await turn();
    assert.equal((await run.get(taskId)).status, "completed");
  });

  it("that goes wrong fails its task, reaches onError, and takes nothing else along", async () => {
    const broken = new Error("a machine's own");
    const throws = () => {
      throw broken;
    };
    const wrong: TaskLogic[] = [
      setup({}).createMachine({ entry: throws }),
      setup({}).createMachine({ context: throws }),
      setup({ guards: { never: throws } }).createMachine({
        initial: "a",
        states: { a: { always: { guard: "never", target: "b" } }, b: {} },
      }),
      setup({ delays: { soon: 5 } }).createMachine({ initial: "a", states: { a: { after: { soon: { actions: throws } } } } }),
      setup({ actors: { work: fromPromise(() => Promise.reject(broken)) } }).createMachine({ invoke: { src: "work" } }),
      fromPromise(() => Promise.reject(broken)),
      fromPromise(throws),
      fromCallback(throws),
      fromTransition(() => 0, throws),
      fromObservable(throws),
    ];
    for (const [at, logic] of wrong.entries()) {
      const run = startRunner();
      const taskId = await start(run, logic);
      await run.clock.advance(5);
      const { status, error } = await run.get(taskId);
      assert.deepEqual([at, status, error], [at, "failed", { code: -32_603, message: "Internal error" }]);
      assert.ok(run.errors.length === 1 && String(run.errors[0]).includes("a machine's own"), `${at}: ${String(run.errors)}`);
      run.isEmpty();
    }
  });
});

describe("other actor logic as a tool", () => {
  it("fromPromise gives what it resolves to, and has its signal fire", async () => {
    const run = startRunner();
    const add = fromPromise(async ({ input }: { input: { a: number; b: number } }) => `${input.a + input.b}`);
    const taskId = await start(run, add, { a: 1, b: 2 });
    await turn();
    assert.equal(await resultOf(run, taskId), "3");

    let signal: AbortSignal | undefined;
    const waits = fromPromise(({ signal: given }) => {
      signal = given;
      return new Promise(() => {});
    });
    const waiting = await start(run, waits);
    await turn();
    await run.runner.cancel(waiting, undefined);
    assert.equal(signal?.aborted, true);
    run.isEmpty();
  });

  it("fromCallback speaks by what it emits, hears answers, and is cleaned up", async () => {
    const run = startRunner();
    const cleaned: string[] = [];
    const logic = fromCallback<TaskAnswerEvent, { n: number }, TaskEmitted>(({ input, emit, receive }) => {
      receive((event) => emit({ type: "task.complete", result: `${input.n}: ${JSON.stringify(event.content)}` }));
      emit({ type: "task.progress", done: input.n });
      emit({ type: "task.ask", name: "where", request: { method: "roots/list" } });
      return () => cleaned.push("cleaned");
    });
    const taskId = await start(run, logic, { n: 7 });
    await turn();
    assert.equal((await run.get(taskId)).statusMessage, "7");
    await run.runner.update(taskId, undefined, { "where-1": { roots: [] } });
    await turn();
    assert.equal(await resultOf(run, taskId), '7: {"roots":[]}');
    assert.deepEqual(cleaned, ["cleaned"]);
    run.isEmpty();
  });

  it("is told from functions and other values", () => {
    for (const logic of [order, fromPromise(async () => 1), fromCallback(() => {}), fromTransition((n: number) => n, 0)]) {
      assert.equal(isLogic(logic), true);
    }
    for (const value of [undefined, null, 0, "order", () => {}, {}, { transition: () => {} }, { getInitialSnapshot() {} }]) {
      assert.equal(isLogic(value), false);
    }
  });
});
