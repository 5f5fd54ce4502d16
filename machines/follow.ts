import { assign, fromCallback, fromPromise, setup } from "xstate";
import type { FollowMode, LookError } from "../src/task/follow.ts";
import type { DetailedTask, InputRequest } from "../src/task/task.ts";
import { isTerminal } from "../src/task/task.ts";

/** What a follower starts with. Durations are milliseconds. */
export interface FollowInput {
  readonly taskId: string;
  /** What is known of the task; `undefined` to look at it first. */
  readonly task: DetailedTask | undefined;
  readonly mode: FollowMode;
  /** How long to wait between two looks where the server says nothing, and the least and the most whatever it says. */
  readonly pollIntervalMs: number;
  readonly minPollIntervalMs: number;
  readonly maxPollIntervalMs: number;
  /** How long a task that is listened to is not looked at, in case that the stream brings nothing. */
  readonly silenceMs: number;
  /** The keys of questions that were answered before. */
  readonly answered: readonly string[];
  /** Whether somebody is there to answer such a question. */
  readonly answers: (question: InputRequest) => boolean;
}

/** What a follower knows. */
export interface FollowContext extends FollowInput {
  /** How many looks failed in a row, and why the last of them did. */
  readonly failures: number;
  readonly failure: unknown;
  /** How many of them for a reason that is probably no mishap. */
  readonly doubts: number;
  /** How long until the next look. */
  readonly delayMs: number;
}

/** What can happen to a followed task. */
export type FollowEvent =
  | { type: "follow.acknowledged" }
  | { type: "follow.status"; task: DetailedTask }
  | { type: "follow.unheard"; error: unknown }
  | { type: "follow.answered"; key: string }
  | { type: "follow.leave" };

/** How following ends: with the task, with a question that nobody answers, with an error, or because nobody waits. */
export type FollowEnd =
  | { readonly type: "settled" | "parked" | "left" }
  | { readonly type: "lost"; readonly error: unknown };

/** How many looks may fail for a reason that is probably no mishap, with none between that succeeds. */
const FEW = 3;
/** The first pause after a failed look; it doubles with each. */
const BACKOFF_MS = 500;
/** The longest pause after failed looks, unless the server asks for a longer one. */
const MAX_BACKOFF_MS = 30_000;

/** How long to wait after a failure that came after some others. */
export function backoffMs(failures: number): number {
  return Math.min(BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS);
}

/** The open questions of a task that were not answered from here. */
export function openQuestions({ task, answered }: Pick<FollowContext, "task" | "answered">): [string, InputRequest][] {
  if (task?.status !== "input_required") return [];
  return Object.entries(task.inputRequests).filter(([key]) => !answered.includes(key));
}

/** Whether a state of the task is older than the one that is known, as a slow answer or a replica may give it. */
function isOlder(known: DetailedTask | undefined, next: DetailedTask): boolean {
  return known !== undefined && Date.parse(next.lastUpdatedAt) < Date.parse(known.lastUpdatedAt);
}

/**
 * The task as it is known after a state of it came in: the newer of the two. An end, or a question that was not
 * answered, is believed whatever its time, since a server's clock may be put back.
 */
function newest({ task: known, answered }: FollowContext, next: DetailedTask): DetailedTask {
  const believed = !isOlder(known, next) || isTerminal(next) || openQuestions({ task: next, answered }).length > 0;
  return known === undefined || believed ? next : known;
}

/** The pause that the server asks for, within one's own bounds. */
function pause({ task, pollIntervalMs, minPollIntervalMs, maxPollIntervalMs }: FollowContext): number {
  return Math.min(Math.max(task?.pollIntervalMs ?? pollIntervalMs, minPollIntervalMs), maxPollIntervalMs);
}

function afterLook(context: FollowContext, task: DetailedTask): Partial<FollowContext> {
  const known = newest(context, task);
  return { task: known, failures: 0, failure: undefined, doubts: 0, delayMs: pause({ ...context, task: known }) };
}

function afterFailure(context: FollowContext, error: unknown): Partial<FollowContext> {
  const { retry, answered = true } = error as Partial<LookError>;
  return {
    failures: context.failures + 1,
    failure: error,
    doubts: context.doubts + (retry === "few" ? 1 : 0),
    // The server's own pause may be minutes: it does not count where the server was not reached.
    delayMs: Math.max(
      answered ? pause(context) : context.minPollIntervalMs,
      backoffMs(context.failures),
      retryAfterMs(error),
    ),
  };
}

/** Whether the server wants to be left alone, or fails, so that it is not looked at as soon as nothing is heard. */
function isHeldOff({ failures }: FollowContext, event: FollowEvent): boolean {
  return failures > 0 || (event.type === "follow.unheard" && retryAfterMs(event.error) > 0);
}

/** How long the server wants to be left alone. */
function retryAfterMs(error: unknown): number {
  return (error as Partial<LookError> | undefined)?.retryAfterMs ?? 0;
}

/** The error that an event brings: one of the machine's, or of an actor that it invoked. */
function errorIn(event: object): unknown {
  return "error" in event ? event.error : undefined;
}

/** Whether looking again is in vain. */
function isFinal(doubts: number, error: unknown): boolean {
  const { retry = "always" } = error as Partial<LookError>;
  return retry === "never" || (retry === "few" && doubts + 1 >= FEW);
}

/**
 * The life of a followed task, beside its server's: looked at again and again, or listened to, until it ends, asks what
 * nobody here answers, or is left. It does nothing by itself: what looks (`look`) and listens (`listen`) is given to it.
 */
export const followMachine = setup({
  types: {
    context: {} as FollowContext,
    events: {} as FollowEvent,
    input: {} as FollowInput,
    output: {} as FollowEnd,
  },
  actors: {
    look: fromPromise<DetailedTask, string>(() => Promise.reject(new Error("provide `look`"))),
    listen: fromCallback<FollowEvent, string>(() => {
      throw new Error("provide `listen`");
    }),
  },
  delays: {
    /** Until the next look. */
    pause: ({ context }) => context.delayMs,
    /** How long an acknowledgement may take, before the task is looked at instead. */
    acknowledgement: 5_000,
    /** How long the server may take to tell the present state by itself, after the acknowledgement. */
    firstState: 200,
    /** Until a look at a task that is listened to, in case that what there was to hear is lost. */
    silence: ({ context }) => context.silenceMs,
  },
  guards: {
    listens: ({ context }) => context.mode !== "poll",
    mayPoll: ({ context }) => context.mode === "auto",
    /** Whether it may poll, but not at once. */
    isHeldOff: ({ context, event }) => context.mode === "auto" && isHeldOff(context, event),
    /** Whether looking again after a failed look is. */
    isInVain: ({ context, event }) => isFinal(context.doubts, errorIn(event)),
    isKnown: ({ context }) => context.task !== undefined,
    hasEnded: ({ context }) => context.task !== undefined && isTerminal(context.task),
    asksInVain: ({ context }) => openQuestions(context).some(([, question]) => !context.answers(question)),
    asks: ({ context }) => openQuestions(context).length > 0,
    asksNothing: ({ context }) => openQuestions(context).length === 0,
  },
  actions: {
    heed: assign(({ context, event }) => {
      const delayMs = context.failures > 0 ? context.delayMs : pause(context);
      return event.type === "follow.unheard" ? { delayMs: Math.max(delayMs, retryAfterMs(event.error)) } : {};
    }),
    noteFailure: assign(({ context, event }) => afterFailure(context, errorIn(event))),
    take: assign(({ context, event }) =>
      event.type === "follow.status" ? { task: newest(context, event.task) } : {},
    ),
    noteAnswer: assign(({ context, event }) =>
      event.type === "follow.answered" ? { answered: [...context.answered, event.key] } : {},
    ),
  },
}).createMachine({
  id: "follow",
  context: ({ input }) => {
    const context = { ...input, failures: 0, failure: undefined, doubts: 0, delayMs: 0 };
    return { ...context, delayMs: pause(context) };
  },
  initial: "following",
  output: ({ event }) => event.output as FollowEnd,
  states: {
    following: {
      type: "parallel",
      always: [
        { guard: "hasEnded", target: "settled" },
        { guard: "asksInVain", target: "parked" },
      ],
      on: {
        "follow.status": { actions: "take" },
        "follow.answered": { actions: "noteAnswer" },
        "follow.leave": { target: "left" },
      },
      states: {
        waiting: {
          initial: "choosing",
          states: {
            choosing: {
              always: [
                { guard: "listens", target: "listening" },
                { guard: "isKnown", target: "pausing" },
                { target: "polling" },
              ],
            },
            polling: {
              invoke: {
                src: "look",
                input: ({ context }) => context.taskId,
                onDone: {
                  target: "pausing",
                  actions: assign(({ context, event }) => afterLook(context, event.output)),
                },
                onError: [
                  { guard: "isInVain", target: "#follow.lost" },
                  { target: "pausing", actions: "noteFailure" },
                ],
              },
            },
            pausing: { after: { pause: "polling" } },
            listening: {
              invoke: { src: "listen", input: ({ context }) => context.taskId },
              on: {
                "follow.unheard": [
                  { guard: "isHeldOff", target: "pausing", actions: "heed" },
                  { guard: "mayPoll", target: "polling" },
                  { target: "#follow.lost" },
                ],
              },
              initial: "subscribing",
              states: {
                subscribing: {
                  on: { "follow.acknowledged": { target: "acknowledged" } },
                  after: { acknowledgement: { guard: "mayPoll", target: "#follow.following.waiting.polling" } },
                },
                acknowledged: {
                  on: { "follow.status": { target: "quiet", actions: "take" } },
                  after: { firstState: "checking" },
                },
                checking: {
                  invoke: {
                    src: "look",
                    input: ({ context }) => context.taskId,
                    onDone: {
                      target: "quiet",
                      actions: assign(({ context, event }) => afterLook(context, event.output)),
                    },
                    onError: [
                      { guard: "isInVain", target: "#follow.lost" },
                      { target: "retrying", actions: "noteFailure" },
                    ],
                  },
                },
                retrying: { after: { pause: "checking" } },
                quiet: { after: { silence: { guard: "mayPoll", target: "checking" } } },
              },
            },
          },
        },
        asking: {
          initial: "nothing",
          states: {
            nothing: { always: { guard: "asks", target: "open" } },
            open: { always: { guard: "asksNothing", target: "nothing" } },
          },
        },
      },
    },
    settled: { type: "final", output: { type: "settled" } },
    parked: { type: "final", output: { type: "parked" } },
    left: { type: "final", output: { type: "left" } },
    lost: {
      type: "final",
      output: ({ event }) => ({ type: "lost", error: errorIn(event) }),
    },
  },
});
