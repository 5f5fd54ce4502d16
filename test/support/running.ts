import assert from "node:assert/strict";
import type { RegistryOptions } from "../../src/registry/registry.ts";
import type { Schema } from "../../src/run/context.ts";
import type { TaskPolicy } from "../../src/run/policy.ts";
import type { Call, Handler } from "../../src/run/call.ts";
import type { Answer, RunnerOptions, Tool } from "../../src/run/runner.ts";
import { Runner } from "../../src/run/runner.ts";
import { toRequestedSchema } from "../../src/server/sdk.ts";
import type { JsonObject, TaskRecord } from "../../src/task/task.ts";
import { FakeClock, turn } from "./clock.ts";
import { TTL_MS, openRegistry } from "./registry.ts";
import { WitnessStore } from "./stores.ts";
import { ASKS_ALL } from "./task.ts";

export const INLINE_MS = 100;
export const ROUND_TTL_MS = 3_000;

/** A call as a test gives it; what is left out is a client that knows tasks and can be asked everything. */
export type GivenCall = Partial<Call>;

/** A runner of one tool's calls, with all that it stands on. */
export interface Running {
  readonly runner: Runner;
  readonly registry: ReturnType<typeof openRegistry>["registry"];
  readonly store: WitnessStore;
  readonly clock: FakeClock;
  /** What reached `onError`: the runner's and the registry's. */
  readonly errors: unknown[];
  call(work: Handler, policy?: TaskPolicy, call?: GivenCall, input?: unknown): Promise<Answer>;
  /** Calls the tool again with answers, as in a multi-round-trip request. */
  resume(requestState: unknown, responses: JsonObject, call?: GivenCall & { tool?: string }): Promise<Answer>;
  get(taskId: string, principal?: string): Promise<TaskRecord>;
  /** A handle on a task, for whoever does its work elsewhere. */
  handle(taskId: string): ReturnType<Runner["task"]>;
  /** Asserts that nothing is held any more. */
  isEmpty(): void;
}

export function startRunner(
  given: Partial<RunnerOptions> & { store?: WitnessStore; quota?: RegistryOptions["quota"]; outputSchema?: Schema } = {},
): Running {
  const { store = new WitnessStore(), quota, outputSchema, ...options } = given;
  const clock = new FakeClock();
  const { registry, errors } = openRegistry({ store, clock, ...(quota !== undefined && { quota }) });
  const runner = new Runner({
    registry,
    clock,
    defaults: { inlineWithinMs: INLINE_MS, ttlMs: TTL_MS, pollIntervalMs: 100 },
    running: 10,
    rounds: 10,
    roundTtlMs: ROUND_TTL_MS,
    argumentBytes: 1_000,
    resultBytes: 1_000,
    answerBytes: 1_000,
    toRequestedSchema,
    onError: (error) => errors.push(error),
    ...options,
  });
  /** The tool that `resume` goes on with: a runner looks at its name alone. */
  const tool = (handler: Handler, policy: TaskPolicy, name = "work"): Tool => ({ name, policy, outputSchema, handler });
  const aCall = (call: GivenCall): Call => ({
    principal: undefined,
    tasks: true,
    arguments: {},
    askable: ASKS_ALL,
    signal: undefined,
    notifyProgress: undefined,
    ...call,
  });
  return {
    runner,
    registry,
    store,
    clock,
    errors,
    call: (work, policy = "optional", call = {}, input = {}) => runner.call(tool(work, policy), input, aCall(call)),
    resume: (requestState, responses, { tool: name, ...call } = {}) =>
      runner.resume(tool(() => {}, "optional", name), requestState, responses, aCall(call)),
    get: (taskId, principal) => registry.get(taskId, principal),
    handle: (taskId) => runner.task(taskId, () => tool(() => {}, "optional")),
    isEmpty: () => {
      assert.deepEqual(runner.sizes, { runs: 0, elsewhere: 0, rounds: 0, taken: 0, waiting: 0 });
      assert.deepEqual({ ...registry.sizes, ignored: 0 }, { live: 0, coming: 0, watched: 0, ignored: 0 });
    },
  };
}

/** The task that a call was answered with. */
export function taskOf(answer: Answer): TaskRecord {
  assert.equal(answer.kind, "task");
  return answer.record;
}

/** The questions that a call was answered with. */
export function questionsOf(answer: Answer): Extract<Answer, { kind: "input_required" }> {
  assert.equal(answer.kind, "input_required");
  return answer;
}

/** The text that a call was answered with. */
export function textOf(answer: Answer): unknown {
  assert.equal(answer.kind, "result");
  return answer.result.content[0]?.["text"];
}

/** A promise and what settles it. */
export function gate<Value = void>(): {
  readonly promise: Promise<Value>;
  readonly open: (value: Value) => void;
  readonly fail: (error: Error) => void;
} {
  let open: (value: Value) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const promise = new Promise<Value>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}

/** Resolves once a promise has had every chance to settle, to whether it did. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await turn(3);
  return settled;
}
