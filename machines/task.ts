import { assign, setup } from "xstate";
import type { InputRequests, InputResponses, JsonRpcError, TaskRecord, ToolResult } from "../src/task/task.ts";

/**
 * What can happen to a task. `at` is when, in milliseconds since the epoch; an event that ends the task says with
 * `dueAt` how long its record is kept.
 */
export type TaskEvent =
  | { type: "task.status"; at: number; message: string | undefined }
  | { type: "task.ask"; at: number; inputRequests: InputRequests }
  | { type: "task.answer"; at: number; inputResponses: InputResponses }
  | { type: "task.extend"; at: number; ttlMs: number | null; dueAt: number | null }
  | { type: "task.complete"; at: number; dueAt: number | null; result: ToolResult }
  | { type: "task.fail"; at: number; dueAt: number | null; error: JsonRpcError }
  | { type: "task.cancel"; at: number; dueAt: number | null; message: string };

/** One object for the many tasks that have no questions. */
const NONE: Record<string, never> = Object.freeze({});

type Args = { context: TaskRecord; event: TaskEvent };

/** The questions of an event whose keys this task never used before: a key that was answered is not opened again. */
function newQuestions({ context, event }: Args): InputRequests {
  if (event.type !== "task.ask") return NONE;
  return Object.fromEntries(
    Object.entries(event.inputRequests).filter(
      ([key]) => !Object.hasOwn(context.inputRequests, key) && !Object.hasOwn(context.inputResponses, key),
    ),
  );
}

/** What is left open by an answer. */
function stillOpen({ context, event }: Args): InputRequests {
  const answers = event.type === "task.answer" ? event.inputResponses : NONE;
  const left = Object.entries(context.inputRequests).filter(([key]) => !Object.hasOwn(answers, key));
  return left.length === 0 ? NONE : Object.fromEntries(left);
}

/** The answers of an event to questions that are open; others are ignored. */
function newAnswers({ context, event }: Args): InputResponses {
  if (event.type !== "task.answer") return NONE;
  return Object.fromEntries(
    Object.entries(event.inputResponses).filter(([key]) => Object.hasOwn(context.inputRequests, key)),
  );
}

/** What can happen to a task as long as it has not ended: on the whole machine, it could happen to an ended one too. */
const ANY_TIME = {
  "task.status": { guard: "isNews", actions: "status" },
  "task.extend": { guard: "isLater", actions: "extend" },
  "task.complete": { target: "completed", actions: "end" },
  "task.fail": { target: "failed", actions: "end" },
  "task.cancel": { target: "cancelled", actions: "end" },
} as const;

/**
 * The life of a hosted task: `working` and `input_required` in turn, until it is `completed`, `failed` or `cancelled`.
 * Its context is the task's record. It reads no clock and does nothing by itself: what happens comes as events, and
 * an event that the present state has no place for changes nothing.
 */
export const taskMachine = setup({
  types: {
    context: {} as TaskRecord,
    events: {} as TaskEvent,
    input: {} as TaskRecord,
  },
  guards: {
    isNews: ({ context, event }) => event.type === "task.status" && event.message !== context.statusMessage,
    asksSomethingNew: (args) => Object.keys(newQuestions(args)).length > 0,
    isLater: ({ context, event }) =>
      event.type === "task.extend" &&
      context.ttlMs !== null &&
      (event.ttlMs === null || event.ttlMs > context.ttlMs),
    closesAQuestion: (args) => Object.keys(stillOpen(args)).length < Object.keys(args.context.inputRequests).length,
    closesLastQuestion: (args) => Object.keys(stillOpen(args)).length === 0,
  },
  actions: {
    status: assign(({ event }) =>
      event.type === "task.status" ? { statusMessage: event.message, lastUpdatedAt: event.at } : {},
    ),
    ask: assign((args) => ({
      status: "input_required" as const,
      inputRequests: { ...args.context.inputRequests, ...newQuestions(args) },
      lastUpdatedAt: args.event.at,
    })),
    close: assign((args) => ({
      inputRequests: stillOpen(args),
      inputResponses: { ...args.context.inputResponses, ...newAnswers(args) },
      lastUpdatedAt: args.event.at,
    })),
    resume: assign({ status: "working" as const }),
    extend: assign(({ event }) =>
      event.type === "task.extend" ? { ttlMs: event.ttlMs, dueAt: event.dueAt, lastUpdatedAt: event.at } : {},
    ),
    end: assign(({ event }) => {
      const kept = { inputRequests: NONE, inputResponses: NONE, lastUpdatedAt: event.at };
      switch (event.type) {
        case "task.complete":
          return { ...kept, status: "completed", statusMessage: undefined, result: event.result, dueAt: event.dueAt };
        case "task.fail":
          return {
            ...kept,
            status: "failed",
            statusMessage: event.error.message,
            error: event.error,
            dueAt: event.dueAt,
          };
        case "task.cancel":
          return { ...kept, status: "cancelled", statusMessage: event.message, dueAt: event.dueAt };
        default:
          return {};
      }
    }),
  },
}).createMachine({
  id: "task",
  context: ({ input }) => input,
  initial: "working",
  states: {
    working: {
      on: {
        ...ANY_TIME,
        "task.ask": { guard: "asksSomethingNew", target: "input_required", actions: "ask" },
      },
    },
    input_required: {
      on: {
        ...ANY_TIME,
        "task.ask": { guard: "asksSomethingNew", actions: "ask" },
        "task.answer": [
          { guard: "closesLastQuestion", target: "working", actions: ["close", "resume"] },
          { guard: "closesAQuestion", actions: "close" },
        ],
      },
    },
    completed: { type: "final" },
    failed: { type: "final" },
    cancelled: { type: "final" },
  },
});
