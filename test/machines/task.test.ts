// The life of a task, walked along every path that its machine has.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createActor } from "xstate";
import { getAdjacencyMap, getShortestPaths, getSimplePaths } from "xstate/graph";
import type { AdjacencyValue } from "xstate/graph";
import type { TaskEvent } from "../../machines/task.ts";
import { taskMachine } from "../../machines/task.ts";
import type { InputRequest, TaskRecord } from "../../src/task/task.ts";
import { isTerminal } from "../../src/task/task.ts";
import { aTask } from "../support/task.ts";

const question: InputRequest = { method: "roots/list" };
const input = aTask({ taskId: "t" });

/** One of each kind, with the keys of two questions, and some that come twice, for nothing, or too late. */
const events: TaskEvent[] = [
  { type: "task.status", at: 2, message: "busy" },
  { type: "task.ask", at: 3, inputRequests: { a: question } },
  { type: "task.ask", at: 4, inputRequests: { a: question, b: question } },
  { type: "task.ask", at: 5, inputRequests: {} },
  { type: "task.answer", at: 6, inputResponses: { a: { roots: [] } } },
  { type: "task.answer", at: 7, inputResponses: { a: { roots: [] }, b: { roots: [] }, c: { roots: [] } } },
  { type: "task.answer", at: 8, inputResponses: {} },
  { type: "task.extend", at: 9, ttlMs: 90_000, dueAt: 91_000 },
  { type: "task.extend", at: 10, ttlMs: 30_000, dueAt: 31_000 },
  { type: "task.extend", at: 11, ttlMs: null, dueAt: null },
  { type: "task.complete", at: 12, dueAt: 70_000, result: { content: [] } },
  { type: "task.fail", at: 13, dueAt: 71_000, error: { code: -1, message: "broke" } },
  { type: "task.cancel", at: 14, dueAt: 72_000, message: "enough" },
];

type Snapshot = ReturnType<typeof taskMachine.resolveState>;

/** What tells states apart: all but the time of the last change. */
function serializeState({ value, context }: Snapshot): string {
  return JSON.stringify([value, { ...context, lastUpdatedAt: 0 }]);
}

const model = { input, events, serializeState };
const asks = new Set(["input_required"]);
const ENDS = ["completed", "failed", "cancelled"];

/** Which kinds of event have a place in which state; the rest changes nothing. */
const LEGAL: Record<string, readonly TaskEvent["type"][]> = {
  working: ["task.status", "task.ask", "task.extend", "task.complete", "task.fail", "task.cancel"],
  input_required: ["task.status", "task.ask", "task.answer", "task.extend", "task.complete", "task.fail", "task.cancel"],
  completed: [],
  failed: [],
  cancelled: [],
};

describe("the task machine", () => {
  const adjacency = getAdjacencyMap(taskMachine, model) as Record<string, AdjacencyValue<Snapshot, TaskEvent>>;
  const vertices = Object.values(adjacency);

  it("reaches every state, and no other", () => {
    const reached = new Set(getShortestPaths(taskMachine, model).map(({ state }) => state.value));
    assert.deepEqual([...reached].toSorted(), Object.keys(LEGAL).toSorted());
    assert.ok(vertices.length > 30, `only ${vertices.length} states`);
  });

  it("has its status in the context in every state", () => {
    for (const { state } of vertices) {
      assert.equal(state.value, state.context.status);
      assert.equal(state.status === "done", ENDS.includes(state.context.status));
      assert.equal(isTerminal(state.context), ENDS.includes(state.context.status));
    }
  });

  it("has questions open in input_required, and only there", () => {
    for (const { state } of vertices) {
      assert.equal(Object.keys(state.context.inputRequests).length > 0, asks.has(state.context.status));
    }
  });

  it("takes each event where it has a place, and ignores it elsewhere", () => {
    for (const { state, transitions } of vertices) {
      const taken = new Set<string>();
      for (const { event, state: next } of Object.values(transitions)) {
        if (next.context !== state.context) taken.add(event.type);
        if (!LEGAL[state.context.status]?.includes(event.type)) {
          assert.equal(next.context, state.context, `${event.type} changed a task that is ${state.context.status}`);
        }
      }
      // An answer closes nothing twice, and a life that is endless cannot be extended: all else is always possible.
      const { ttlMs, inputRequests, inputResponses, statusMessage } = state.context;
      for (const type of LEGAL[state.context.status] ?? []) {
        const used = Object.keys(inputRequests).length + Object.keys(inputResponses).length;
        if (type === "task.extend" && ttlMs === null) continue;
        if (type === "task.ask" && used === 2) continue;
        if (type === "task.answer" && Object.keys(inputRequests).length === 0) continue;
        if (type === "task.status" && statusMessage === "busy") continue;
        assert.ok(taken.has(type), `${type} changes nothing in ${serializeState(state)}`);
      }
    }
  });

  it("leaves nothing in an ended task that an event could change", () => {
    for (const { state, transitions } of vertices.filter(({ state }) => isTerminal(state.context))) {
      for (const { state: next } of Object.values(transitions)) assert.deepEqual(next.context, state.context);
      assert.deepEqual([state.context.inputRequests, state.context.inputResponses], [{}, {}]);
      assert.equal(state.context.result !== undefined, state.value === "completed");
      assert.equal(state.context.error !== undefined, state.value === "failed");
    }
  });

  it("never changes what a task is, only how it goes", () => {
    const { taskId, principal, tool, arguments: args, askable, createdAt, pollIntervalMs } = input;
    for (const { state } of vertices) {
      const { context } = state;
      assert.deepEqual(
        [context.taskId, context.principal, context.tool, context.arguments, context.askable, context.createdAt],
        [taskId, principal, tool, args, askable, createdAt],
      );
      assert.equal(context.pollIntervalMs, pollIntervalMs);
    }
  });

  it("walks every simple path of a task with one question as an actor does", () => {
    const few = events.filter(({ at }) => [2, 3, 6, 9, 12, 13, 14].includes(at));
    const paths = getSimplePaths(taskMachine, { ...model, events: few });
    assert.ok(paths.length > 50, `only ${paths.length} paths`);
    for (const { steps, state } of paths) {
      const actor = createActor(taskMachine, { input }).start();
      const opened = new Set<string>();
      const closed = new Set<string>();
      let { context } = actor.getSnapshot();
      for (const { event } of steps) {
        if ((event.type as string) === "xstate.init") continue;
        const before = context;
        actor.send(event);
        ({ context } = actor.getSnapshot());
        assert.ok(!isTerminal(before) || context === before);
        if (context === before) continue;
        assert.equal(context.lastUpdatedAt, event.at);
        for (const key of Object.keys(context.inputRequests)) {
          assert.ok(!closed.has(key), `${key} was opened again`);
          opened.add(key);
        }
        for (const key of opened) if (!Object.hasOwn(context.inputRequests, key)) closed.add(key);
      }
      assert.deepEqual({ ...context, lastUpdatedAt: 0 }, { ...state.context, lastUpdatedAt: 0 });
      assert.equal(actor.getSnapshot().status === "done", isTerminal(context));
    }
  });

  it("never opens a key twice, not with another question either", () => {
    const actor = createActor(taskMachine, { input }).start();
    actor.send({ type: "task.ask", at: 2, inputRequests: { a: question } });
    const open = actor.getSnapshot().context;
    actor.send({ type: "task.ask", at: 3, inputRequests: { a: { method: "sampling/createMessage" } } });
    assert.equal(actor.getSnapshot().context, open);
    actor.send({ type: "task.answer", at: 4, inputResponses: { a: { roots: [] } } });
    actor.send({ type: "task.ask", at: 5, inputRequests: { a: question, b: question } });
    assert.deepEqual(Object.keys(actor.getSnapshot().context.inputRequests), ["b"]);
    actor.send({ type: "task.answer", at: 6, inputResponses: { a: { roots: [1] }, b: { roots: [2] } } });
    assert.deepEqual(actor.getSnapshot().context.inputResponses, { a: { roots: [] }, b: { roots: [2] } });
    assert.equal(actor.getSnapshot().value, "working");
  });

  it("does not wait for an answer where nothing was asked", () => {
    const actor = createActor(taskMachine, { input }).start();
    actor.send({ type: "task.ask", at: 2, inputRequests: {} });
    assert.equal(actor.getSnapshot().value, "working");
  });

  it("never shortens a life", () => {
    const actor = createActor(taskMachine, { input }).start();
    const extend = (ttlMs: number | null) => {
      actor.send({ type: "task.extend", at: 2, ttlMs, dueAt: ttlMs === null ? null : 1_000 + ttlMs });
      const { ttlMs: now, dueAt } = actor.getSnapshot().context;
      assert.equal(dueAt, now === null ? null : 1_000 + now);
      return now;
    };
    assert.equal(extend(59_999), 60_000);
    assert.equal(extend(60_001), 60_001);
    assert.equal(extend(60_000), 60_001);
    assert.equal(extend(null), null);
    assert.equal(extend(90_000), null);
  });

  it("goes on from a stored record as from where it was", () => {
    for (const { state, transitions } of vertices.filter(({ state }) => !isTerminal(state.context))) {
      // Just as a store would give it back.
      const stored = structuredClone(state.context);
      const restore = () =>
        createActor(taskMachine, {
          input: stored,
          snapshot: taskMachine.resolveState({ value: stored.status, context: stored }),
        }).start();
      assert.equal(restore().getSnapshot().value, state.value);
      for (const { event, state: next } of Object.values(transitions)) {
        const actor = restore();
        actor.send(event);
        assert.equal(actor.getSnapshot().value, next.value);
        assert.deepEqual(actor.getSnapshot().context, next.context);
      }
    }
  });

  it("changes no record, only replaces it", () => {
    for (const { state, transitions } of vertices) {
      const frozen = deepFreeze(structuredClone(state.context));
      for (const { event } of Object.values(transitions)) {
        const actor = createActor(taskMachine, {
          input: frozen,
          snapshot: taskMachine.resolveState({ value: frozen.status, context: frozen }),
        }).start();
        actor.send(deepFreeze(structuredClone(event)));
        assert.equal(actor.getSnapshot().error, undefined);
      }
      assert.deepEqual(frozen, state.context);
    }
  });
});

function deepFreeze<T extends TaskRecord | TaskEvent | object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
