import type { AuthInfo } from "@modelcontextprotocol/server";
import { TaskRegistry } from "../registry/task-registry.ts";
import type { PolicyDefaults } from "../run/policy.ts";
import { checkDuration, checkPollInterval, checkTtl } from "../run/policy.ts";
import { memory } from "../store/memory.ts";
import type { TaskStore } from "../store/store.ts";
import type { Clock } from "../task/clock.ts";
import { systemClock } from "../task/clock.ts";
import { isJsonObject, type PollInterval } from "../task/task.ts";

/** What a host bounds. Whatever is over a limit is refused with an error that says so. */
export interface HostLimits {
  /** Tasks held at once, ended ones included until their time to live is over. Default 100 000. */
  tasks?: number;
  /** The same for one principal. Default 10 000. Callers without authentication are bounded by `tasks` alone. */
  tasksPerPrincipal?: number;
  /** Handlers working at once; more wait in line, and their tasks say so. Default 1 000. */
  running?: number;
  /** Plain calls waiting for a client's answers at once. Default 1 000. */
  rounds?: number;
  /** Bytes of one request. Default 4 MiB. On a wrapped handler it takes the place of the SDK's `maxRequestBodySize`. */
  bodyBytes?: number;
  /** Bytes of a call's arguments, as JSON. Default 1 MiB. */
  argumentBytes?: number;
  /** Bytes of a result, as JSON. Default 4 MiB. */
  resultBytes?: number;
  /** Bytes of the answers in one update, as JSON. Default 1 MiB. */
  answerBytes?: number;
  /** Subscriptions to tasks open at once. Default 10 000. */
  subscriptions?: number;
  /** Tasks that one subscription may name. Default 1 000. */
  taskIdsPerSubscription?: number;
}

/** Options of `createTasks`, and the part of `createHost`'s that is about tasks. Durations are milliseconds. */
export interface TasksOptions {
  /** Where tasks are kept. Default `memory()`. */
  store?: TaskStore;
  /** Where time comes from. Default the machine's clock. */
  clock?: Clock;
  /** How long a task is kept, from its creation; `null` for ever. Default one hour. */
  ttlMs?: number | null;
  /** The poll hint, or the range in which it grows with a task's age. Default `{ min: 100, max: 5_000 }`. */
  pollIntervalMs?: PollInterval;
  /** How long a call of an `optional` tool may take and still be answered inline. Default 100. */
  inlineWithinMs?: number;
  /** How long an ended task stays readable at least, an expired one included. Default one minute. */
  retainMs?: number;
  /** How long an expired task is told from an unknown one after that. Default one hour. */
  tombstoneMs?: number;
  /** How long a plain call waits for the answers to its questions. Default five minutes. */
  roundTtlMs?: number;
  /** How often a silent event stream shows a sign of life; 0 is never. Default 5 000, under Bun's idle timeout. */
  keepAliveMs?: number;
  limits?: HostLimits;
  /** Where the tasks can be listed and watched, for several hosts and clients to share. Default one of its own. */
  registry?: TaskRegistry;
  /**
   * Whose a request is, from its authentication: tasks belong to who made them. Default the token's `sub`, where the
   * verifier put one into `extra`, with its client id.
   */
  principal?: (authInfo: AuthInfo) => string;
  /** Hears of what went wrong and no client was told: a handler that threw, a store that failed. Default silent. */
  onError?: (error: unknown, about: { taskId?: string; tool?: string }) => void;
}

/** The options with nothing left open. */
export interface ResolvedOptions {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly defaults: PolicyDefaults;
  readonly retainMs: number;
  readonly tombstoneMs: number;
  readonly roundTtlMs: number;
  readonly keepAliveMs: number;
  readonly limits: Readonly<Required<HostLimits>>;
  readonly registry: TaskRegistry;
  readonly principalOf: (authInfo: AuthInfo | undefined) => string | undefined;
  readonly onError: (error: unknown, about: { taskId?: string; tool?: string }) => void;
}

const LIMITS: Required<HostLimits> = {
  tasks: 100_000,
  tasksPerPrincipal: 10_000,
  running: 1_000,
  rounds: 1_000,
  bodyBytes: 4 * 1024 * 1024,
  argumentBytes: 1024 * 1024,
  resultBytes: 4 * 1024 * 1024,
  answerBytes: 1024 * 1024,
  subscriptions: 10_000,
  taskIdsPerSubscription: 1_000,
};

const MINUTE_MS = 60_000;

const STORE_METHODS: readonly (keyof TaskStore)[] = [
  "create",
  "get",
  "put",
  "delete",
  "due",
  "nextDue",
  "count",
  "close",
];
const CLOCK_METHODS: readonly (keyof Clock)[] = ["now", "setTimeout", "clearTimeout"];

const REGISTRY_METHODS: readonly (keyof TaskRegistry)[] = ["list", "watch", "attach"];

/** Checks the options and fills in the defaults. Throws `TypeError` or `RangeError` that says what to write. */
export function resolveOptions(options: TasksOptions): ResolvedOptions {
  const {
    store = memory(),
    clock = systemClock,
    ttlMs = 60 * MINUTE_MS,
    pollIntervalMs = { min: 100, max: 5_000 },
    inlineWithinMs = 100,
    retainMs = MINUTE_MS,
    tombstoneMs = 60 * MINUTE_MS,
    roundTtlMs = 5 * MINUTE_MS,
    keepAliveMs = 5_000,
    limits = {},
    registry = new TaskRegistry(),
    principal = defaultPrincipal,
    onError = () => {},
  } = options;
  checkMethods(store, STORE_METHODS, "store takes a TaskStore, for example memory().");
  checkMethods(clock, CLOCK_METHODS, "clock takes a Clock: now(), setTimeout(callback, ms) and clearTimeout(timer).");
  checkMethods(registry, REGISTRY_METHODS, "registry takes what createRegistry() gives.");
  checkTtl(ttlMs, "ttlMs");
  checkPollInterval(pollIntervalMs, "pollIntervalMs");
  checkDuration(inlineWithinMs, "inlineWithinMs", { infinity: true });
  checkDuration(retainMs, "retainMs");
  checkDuration(tombstoneMs, "tombstoneMs");
  checkDuration(roundTtlMs, "roundTtlMs");
  checkDuration(keepAliveMs, "keepAliveMs");
  checkFunction(onError, "onError");
  checkFunction(principal, "principal");
  return {
    store,
    clock,
    defaults: { ttlMs, pollIntervalMs, inlineWithinMs },
    retainMs,
    tombstoneMs,
    roundTtlMs,
    keepAliveMs,
    limits: resolveLimits(limits),
    registry,
    principalOf: (authInfo) => {
      if (authInfo === undefined) return undefined;
      const made: unknown = principal(authInfo);
      // Anything else would pass for somebody, or for nobody at all.
      if (typeof made !== "string") throw new TypeError("principal gives a string: whose the request is.");
      return made;
    },
    onError: (error, about) => {
      try {
        onError(error, about);
      } catch {
        // Whoever hears of errors must not make more of them.
      }
    },
  };
}

/** Throws unless a value has these methods. */
function checkMethods(value: unknown, methods: readonly string[], message: string): void {
  const has = (method: string) => typeof (value as { [name: string]: unknown })[method] === "function";
  if (typeof value !== "object" || value === null || !methods.every(has)) throw new TypeError(message);
}

/** Throws unless a value is a function. */
export function checkFunction(value: unknown, name: string): void {
  if (typeof value !== "function") throw new TypeError(`${name} takes a function.`);
}

/** Throws unless a value is a transport. */
export function checkTransport(value: unknown): void {
  checkMethods(
    value,
    ["start", "send", "close"],
    "host.connect takes a transport of the MCP SDK, for example new StdioServerTransport().",
  );
}

function resolveLimits(limits: HostLimits): Required<HostLimits> {
  for (const [name, limit] of Object.entries(limits)) {
    if (!Object.hasOwn(LIMITS, name)) {
      throw new TypeError(`limits.${name} is unknown. The limits are ${Object.keys(LIMITS).join(", ")}.`);
    }
    if (!(Number.isSafeInteger(limit) && limit > 0) && limit !== Number.POSITIVE_INFINITY) {
      throw new RangeError(`limits.${name} takes a whole number above 0, or Infinity.`);
    }
  }
  return { ...LIMITS, ...limits };
}

function defaultPrincipal({ clientId, extra }: AuthInfo): string {
  const sub = isJsonObject(extra) ? extra["sub"] : undefined;
  return JSON.stringify(typeof sub === "string" ? [clientId, sub] : [clientId]);
}
