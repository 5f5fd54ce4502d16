import type { Clock } from "../task/clock.ts";
import type { JsonObject } from "../task/task.ts";
import type { CallAnswer } from "../wire/2026-07-28.client.ts";
import type { CallParams, Connection, Progress } from "./connection.ts";
import { InputHandlerError, RequestFailedError } from "./errors.ts";
import type { Answerer } from "./input.ts";
import { pauseFor, unless } from "./within.ts";

/** How long a server that asks nothing, but wants to be called again, is left alone. */
const PACE_MS = 500;
/** How many rounds of questions follow each other at once; more are taken at that pace too. */
const SWIFT_ROUNDS = 8;

export interface CallOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly answerer: Answerer;
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: Progress) => void) | undefined;
}

/**
 * Calls a tool, and again with the answers to what the call asks (MCP, "Multi Round-Trip Requests"), until it gives its
 * result, a task, or a question that nobody answers. The task of a call that was given up is cancelled.
 */
export async function callUntilAnswered(params: CallParams, options: CallOptions): Promise<CallAnswer> {
  const { connection, clock, answerer, signal, onProgress } = options;
  const { capabilities } = answerer;
  const onLate = (late: CallAnswer) => {
    if (late.type === "task") connection.cancel(late.task.taskId).catch(() => {}); // Its time to live ends it, then.
  };
  let next = params;
  for (let rounds = 1; ; rounds += 1) {
    const answer = await connection.call(next, { capabilities, signal, onProgress, onLate }).catch(async (error: unknown) => {
      // Turned away for now, the call was not made.
      if (!(error instanceof RequestFailedError) || error.retryAfterMs === undefined) throw error;
      await pauseFor(clock, Math.max(error.retryAfterMs, PACE_MS), signal);
      return undefined;
    });
    if (answer === undefined) continue;
    if (answer.type !== "input_required") return answer;
    const { inputRequests, requestState } = answer;
    const questions = Object.values(inputRequests);
    if (!questions.every((question) => answerer.answers(question))) return answer;
    if (questions.length === 0 || rounds > SWIFT_ROUNDS) await pauseFor(clock, PACE_MS, signal);
    const { inputResponses: _, requestState: __, ...call } = params;
    next = {
      ...call,
      ...(questions.length > 0 && { inputResponses: await askAll(answerer, answer, signal) }),
      ...(requestState !== undefined && { requestState }),
    };
  }
}

/** The answers to all questions of a call. The first that fails withdraws the others. */
async function askAll(
  answerer: Answerer,
  { inputRequests }: Extract<CallAnswer, { type: "input_required" }>,
  signal: AbortSignal,
): Promise<JsonObject> {
  const round = new AbortController();
  const onAbort = () => round.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const asked = answerer.ask(inputRequests, { task: undefined, signalOf: () => round.signal });
    const answers = [...asked].map(async ([key, responses]) => {
      try {
        return await responses;
      } catch (cause) {
        throw new InputHandlerError(key, cause, false, { task: undefined, reference: undefined });
      }
    });
    const all = Promise.all(answers);
    all.catch(() => {}); // A handler may end the wait itself: nobody hears of it then.
    const responses: object[] = await unless(signal, () => all);
    return Object.assign({}, ...responses) as JsonObject;
  } finally {
    signal.removeEventListener("abort", onAbort);
    round.abort(new Error("The question is open no more"));
  }
}
