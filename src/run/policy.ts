import type { JsonObject, PollInterval } from "../task/task.ts";

/** Whether a call becomes a task: never, when it takes long, or always where the client must know tasks. */
export type TaskMode = "forbidden" | "optional" | "required";

/** How a tool's calls become tasks. What is left out comes from the host. */
export interface TaskOptions {
  /** Default `optional`. A client without the extension gets -32021 from a `required` tool. */
  mode?: TaskMode;
  /**
   * How many milliseconds a call may take and still be answered inline. Default 100 for `optional`, and 0 for
   * `required`, whose task is stored before its handler starts. `Infinity` leaves it to the handler's `task.begin()`;
   * a question asked before that is a multi-round-trip result. Any other question makes the call a task at once.
   */
  inlineWithinMs?: number;
  /** The time to live from creation, in milliseconds; `null` for ever. */
  ttlMs?: number | null;
  /** The poll hint in milliseconds, or the range in which it grows with the task's age. */
  pollIntervalMs?: PollInterval;
  /** Whether `progress` and `status` move the end of the time to live to `ttlMs` from then. Default `false`. */
  extendOnProgress?: boolean;
}

/** What a policy may look at to decide on one call. */
export interface CallInfo {
  readonly principal: string | undefined;
  /** Whether the client declared the Tasks extension on this request. */
  readonly tasks: boolean;
  readonly arguments: JsonObject;
}

/** A tool's policy: a mode, options, or a function that decides on each call. */
export type TaskPolicy<Input = unknown> =
  | TaskMode
  | TaskOptions
  | ((input: Input, call: CallInfo) => TaskMode | TaskOptions | Promise<TaskMode | TaskOptions>);

/** A policy with nothing left to decide. */
export type ResolvedPolicy = Required<TaskOptions>;

/** What a host says for the tools that do not. */
export interface PolicyDefaults {
  readonly inlineWithinMs: number;
  readonly ttlMs: number | null;
  readonly pollIntervalMs: PollInterval;
}

const POLICY_OPTIONS: ReadonlySet<string> = new Set<keyof TaskOptions>([
  "mode",
  "inlineWithinMs",
  "ttlMs",
  "pollIntervalMs",
  "extendOnProgress",
]);

/** Options with the defaults filled in. Throws `TypeError` or `RangeError` that says what to write. */
export function resolvePolicy(policy: TaskMode | TaskOptions, defaults: PolicyDefaults, where: string): ResolvedPolicy {
  const options: TaskOptions = typeof policy === "string" ? { mode: policy } : policy;
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`${where}: the policy is a mode, or options such as { mode: "optional" }.`);
  }
  for (const option in options) {
    if (!POLICY_OPTIONS.has(option)) {
      throw new TypeError(`${where}: ${option} is unknown. The options are ${[...POLICY_OPTIONS].join(", ")}.`);
    }
  }
  const { mode = "optional" } = options;
  if (mode !== "forbidden" && mode !== "optional" && mode !== "required") {
    throw new TypeError(`${where}: the mode is "forbidden", "optional" or "required".`);
  }
  const {
    inlineWithinMs = mode === "required" ? 0 : defaults.inlineWithinMs,
    ttlMs = defaults.ttlMs,
    pollIntervalMs = defaults.pollIntervalMs,
    extendOnProgress = false,
  } = options;
  checkDuration(inlineWithinMs, `${where}: inlineWithinMs`, { infinity: true });
  checkTtl(ttlMs, `${where}: ttlMs`);
  checkPollInterval(pollIntervalMs, `${where}: pollIntervalMs`);
  if (typeof extendOnProgress !== "boolean") throw new TypeError(`${where}: extendOnProgress takes true or false.`);
  return { mode, inlineWithinMs, ttlMs, pollIntervalMs, extendOnProgress };
}

/** Throws unless a value is a number of milliseconds of 0 or more. */
export function checkDuration(value: number, name: string, { infinity = false } = {}): void {
  if (typeof value === "number" && value >= 0 && (Number.isFinite(value) || infinity)) return;
  throw new RangeError(`${name} takes milliseconds: a number of 0 or more${infinity ? ", or Infinity" : ""}.`);
}

/** Throws unless a value is a time to live. */
export function checkTtl(value: number | null, name: string): void {
  if (value === null || (Number.isSafeInteger(value) && value > 0)) return;
  throw new RangeError(`${name} takes a whole number of milliseconds above 0, or null for ever.`);
}

/** Throws unless a value is a poll hint. */
export function checkPollInterval(value: PollInterval, name: string): void {
  const { min, max } = typeof value === "object" && value !== null ? value : { min: value, max: value };
  if (Number.isSafeInteger(min) && Number.isSafeInteger(max) && min > 0 && max >= min) return;
  throw new RangeError(`${name} takes a whole number of milliseconds above 0, or { min, max } of such.`);
}
