import { checkDuration } from "../run/policy.ts";
import type { FollowMode } from "../task/follow.ts";
import type { Clock } from "../task/clock.ts";
import type { Progress } from "./connection.ts";
import type { Input } from "./input.ts";
import { checkInput } from "./input.ts";

/** How a call is waited for. Durations are milliseconds. What is left out is as the client's own options say. */
export interface WaitOptions {
  /**
   * `listen` to the task (`subscriptions/listen`), `poll` it (`tasks/get`), or `auto`: listen where the server can, and
   * poll where it cannot or a stream broke off. With `listen` alone, that is the wait's error. Default `auto`.
   */
  mode?: FollowMode | undefined;
  /**
   * Bounds everything in a wait: connecting, the call, requests that hang, and input handlers. The task keeps running.
   * Default 60 000; `Infinity` waits for ever.
   */
  timeoutMs?: number | undefined;
  /**
   * Ends the wait, which then rejects with the signal's reason. The task keeps running; one that the call becomes only
   * then is cancelled.
   */
  signal?: AbortSignal | undefined;
  /** The pause between two looks at a task whose server says none (`pollIntervalMs`). Default 1 000. */
  pollIntervalMs?: number | undefined;
  /** The least that the pause may be, whatever the server says. Default 100. */
  minPollIntervalMs?: number | undefined;
  /**
   * The most that the pause may be, whatever the server says, but for `Retry-After`; and, where `mode` is `auto`, how long a
   * task that is listened to is not looked at, or half of `timeoutMs` where that is less. Default 300 000.
   */
  maxPollIntervalMs?: number | undefined;
  /**
   * Who answers what the call or its task asks: handlers by kind, a function of the task, or `"return"`, which ends the
   * wait with the questions. It is also what the call declares: a server that keeps to the protocol asks nothing of a
   * kind without a handler, and anything where `input` is a function or `"return"`. Default the given SDK client's own
   * handlers, and nobody for clients that Errand makes. Servers of the revisions before 2026-07-28 ask a given client alone.
   */
  input?: Input | undefined;
  /** Whether the task is cancelled when answering fails (`InputHandlerError`). Default `false`: it keeps running. */
  cancelOnInputError?: boolean | undefined;
  /**
   * Hears how far a call is that is no task (yet), where its server says so (MCP, "Progress"). A task tells it in its
   * `statusMessage`. What it throws is dropped. Default nobody.
   */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The options of a wait with nothing left open. */
export type ResolvedWait = {
  [Option in Exclude<keyof WaitOptions, "signal" | "input" | "onProgress">]-?: NonNullable<WaitOptions[Option]>;
} & Pick<WaitOptions, "signal" | "input" | "onProgress">;

const DEFAULTS = {
  mode: "auto",
  timeoutMs: 60_000,
  pollIntervalMs: 1_000,
  minPollIntervalMs: 100,
  maxPollIntervalMs: 300_000,
  cancelOnInputError: false,
} as const;

const OPTIONS: readonly string[] = [...Object.keys(DEFAULTS), "signal", "input", "onProgress"];

/** The options that are not left out. */
function given(options: WaitOptions): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Fills in what is left out. Throws `TypeError` or `RangeError` that says what to write. */
export function resolveWait(options: WaitOptions, client: WaitOptions = {}): ResolvedWait {
  for (const option of Object.keys(options)) {
    if (!OPTIONS.includes(option)) throw new TypeError(`${option} is unknown. The options are ${OPTIONS.join(", ")}.`);
  }
  const resolved: ResolvedWait = { ...DEFAULTS, ...given(client), ...given(options) };
  const { mode, timeoutMs, signal, pollIntervalMs, minPollIntervalMs, maxPollIntervalMs, input, onProgress } = resolved;
  if (mode !== "auto" && mode !== "listen" && mode !== "poll") {
    throw new TypeError('mode is "auto", "listen" or "poll".');
  }
  checkDuration(timeoutMs, "timeoutMs", { infinity: true });
  checkPause(pollIntervalMs, "pollIntervalMs");
  checkPause(minPollIntervalMs, "minPollIntervalMs");
  checkPause(maxPollIntervalMs, "maxPollIntervalMs");
  if (minPollIntervalMs > maxPollIntervalMs) throw new RangeError("minPollIntervalMs must not be over maxPollIntervalMs.");
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw new TypeError("signal takes an AbortSignal.");
  if (onProgress !== undefined && typeof onProgress !== "function") throw new TypeError("onProgress takes a function.");
  if (typeof resolved.cancelOnInputError !== "boolean") throw new TypeError("cancelOnInputError takes true or false.");
  checkInput(input);
  return resolved;
}

function checkPause(value: number, name: string): void {
  if (Number.isFinite(value) && value > 0) return;
  throw new RangeError(`${name} takes milliseconds: a number above 0.`);
}

/** Options of a request by itself. */
export interface TaskRequestOptions {
  /** How many milliseconds the request may take, connecting included. Default the client's `requestTimeoutMs`. */
  timeoutMs?: number | undefined;
  /** Gives the request up, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Throws unless a value is a clock. */
export function checkClock(clock: Clock): void {
  const methods = ["now", "setTimeout", "clearTimeout"] as const;
  if (methods.every((method) => typeof clock?.[method] === "function")) return;
  throw new TypeError("clock takes a Clock: now(), setTimeout(callback, ms) and clearTimeout(timer).");
}
