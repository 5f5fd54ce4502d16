import type { Tool } from "@modelcontextprotocol/client";
import { Followers } from "../registry/followers.ts";
import type { TaskEntry, TaskRegistry } from "../registry/task-registry.ts";
import { createRegistry } from "../registry/task-registry.ts";
import { checkDuration } from "../run/policy.ts";
import type { Clock } from "../task/clock.ts";
import { waitingClock } from "../task/clock.ts";
import type { DetailedTask, InputResponses, Task, ToolResult } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { VERSION } from "../task/version.ts";
import type { CallParams } from "./connection.ts";
import { Connection } from "./connection.ts";
import { RequestFailedError } from "./errors.ts";
import { toRequestFailure } from "./failures.ts";
import type { TaskRequestOptions, WaitOptions } from "./options.ts";
import { checkClock, resolveWait } from "./options.ts";
import type { Outcome } from "./outcome.ts";
import type { ResultOptions, Subject } from "./pending-request.ts";
import { PendingRequest } from "./pending-request.ts";
import { checkServer, readReference } from "./reference.ts";
import type { ClientTarget } from "./target.ts";
import { readTarget } from "./target.ts";
import { within } from "./within.ts";

/** Options of `createTaskClient`: its own, and the defaults of every wait. Durations are milliseconds. */
export interface TaskClientOptions extends WaitOptions {
  /** How a client that Errand makes names itself to the server. Default `errand`. */
  name?: string;
  /** The version that goes with the name. Default Errand's own. */
  version?: string;
  /** Where the followed tasks are listed; share it with a host to see both. Default one of its own. */
  registry?: TaskRegistry;
  /** Where time comes from. Default the machine's clock, with timers that keep the process alive as long as it waits. */
  clock?: Clock;
  /**
   * How long one request about a task, and connecting, may take; the call itself is bounded by the wait's `timeoutMs`
   * alone. A request of a wait that takes longer is made again. Default 30 000; `Infinity` never gives one up.
   */
  requestTimeoutMs?: number;
  /** What the client bounds. */
  limits?: {
    /** Looks at tasks (`tasks/get`) that are under way at once. Default 32. */
    requests?: number;
  };
}

/**
 * Makes a client that calls tools and gives their results, however long it takes. It connects when it is first used.
 * Throws `TypeError` or `RangeError` that says what to write.
 */
export function createTaskClient(target: ClientTarget, options: TaskClientOptions = {}): TaskClient {
  return new TaskClient(target, options);
}

/** Calls tools and follows their tasks on one server. */
export class TaskClient {
  /** The tasks that are followed, and what else its registry is shared with. */
  readonly registry: TaskRegistry;
  readonly #wait: WaitOptions;
  readonly #clock: Clock;
  readonly #requestTimeoutMs: number;
  readonly #connection: Connection;
  readonly #followers: Followers;
  readonly #pending = new Set<PendingRequest>();
  readonly #listed: ReturnType<TaskRegistry["attach"]>;
  readonly #target: string | undefined;

  /** @internal */
  constructor(target: ClientTarget, options: TaskClientOptions) {
    const {
      name = "errand",
      version = VERSION,
      registry = createRegistry(),
      clock = waitingClock,
      requestTimeoutMs = 30_000,
      limits: { requests = 32 } = {},
      ...wait
    } = options;
    checkClock(clock);
    checkDuration(requestTimeoutMs, "requestTimeoutMs", { infinity: true });
    if (!Number.isSafeInteger(requests) || requests < 1) throw new RangeError("limits.requests takes a whole number above 0.");
    resolveWait(wait);
    const read = readTarget(target, clock);
    this.#wait = wait;
    this.#clock = clock;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#connection = new Connection({ target: read, name, version, clock, requestTimeoutMs, requests });
    this.#followers = new Followers(this.#connection, clock);
    this.#target = read.url;
    this.registry = registry;
    this.#listed = registry.attach(() => this.#entries());
  }

  /**
   * Calls a tool and gives its result, however long it takes; a result with `isError` is one, too. Rejects with
   * `TaskFailedError`, `TaskCancelledError`, `InputRequiredError`, `InputHandlerError`, `WaitTimeoutError`,
   * `DetachedError` or `RequestFailedError`, with the reason of the signal, or as `beginCallTool` throws.
   */
  async callTool(params: CallParams, options: WaitOptions & ResultOptions = {}): Promise<ToolResult> {
    const { onTaskStatus, ...wait } = options;
    return this.beginCallTool(params, wait).result({ onTaskStatus });
  }

  /** Calls a tool and gives how it ended. It rejects with what `onTaskStatus` throws, and as `beginCallTool` throws. */
  async callAndWait(params: CallParams, options: WaitOptions & ResultOptions = {}): Promise<Outcome> {
    const { onTaskStatus, ...wait } = options;
    return this.beginCallTool(params, wait).outcome({ onTaskStatus });
  }

  /**
   * Begins a call, and gives at once what becomes of it. Throws `TypeError` or `RangeError` for parameters and options
   * that are none; whatever else goes wrong is in what it gives.
   */
  beginCallTool(params: CallParams, options: WaitOptions = {}): PendingRequest {
    if (!isJsonObject(params) || typeof params.name !== "string" || params.name === "") {
      throw new TypeError('A call takes the name of a tool: { name: "export", arguments: { year: 2026 } }.');
    }
    if (params.arguments !== undefined && !isJsonObject(params.arguments)) {
      throw new TypeError("A call's arguments are an object.");
    }
    return this.#begin({ call: params }, options);
  }

  /**
   * Waits for a task that is there, whoever made it: by its id, or by a state of it. Each wait asks by itself what its
   * task asks: do not have two of them for one task, unless only one answers.
   */
  follow(task: Task | string, options: WaitOptions = {}): PendingRequest {
    const taskId = typeof task === "string" ? task : task?.taskId;
    if (typeof taskId !== "string" || taskId === "") throw new TypeError("follow takes a task, or the id of one.");
    const known = typeof task !== "string" && task.status === "working" ? { ...task, status: task.status } : undefined;
    return this.#begin({ taskId, task: known, tool: undefined, server: undefined, answered: [] }, options);
  }

  /**
   * Goes on waiting where `reference` was taken, in this process or another: what was answered is not asked again.
   * Throws `InvalidReferenceError`; where a name tells the server, and not a URL, the wait ends with it.
   */
  resume(reference: string, options: WaitOptions = {}): PendingRequest {
    const { server, ...rest } = readReference(reference);
    if (server !== undefined) checkServer(server, this.#target);
    return this.#begin({ ...rest, server, task: undefined }, options);
  }

  /** The task as it is now (`tasks/get`). Rejects with `RequestFailedError`. */
  getTask(taskId: string, options: TaskRequestOptions = {}): Promise<DetailedTask> {
    return this.#request("tasks/get", options, (signal) => this.#connection.look(taskId, signal));
  }

  /**
   * Answers questions by hand (`tasks/update`), by their keys: `{ [key]: { action: "accept", content: { … } } }`.
   * Rejects with `RequestFailedError`, also where the server refuses an answer.
   */
  updateTask(taskId: string, inputResponses: InputResponses, options: TaskRequestOptions = {}): Promise<void> {
    return this.#request("tasks/update", options, (signal) => this.#connection.update(taskId, { ...inputResponses }, signal));
  }

  /**
   * Asks the server to cancel a task (`tasks/cancel`), and resolves when it has taken note; the task may end otherwise.
   * Rejects with `RequestFailedError`.
   */
  cancelTask(taskId: string, options: TaskRequestOptions = {}): Promise<void> {
    return this.#request("tasks/cancel", options, (signal) => this.#connection.cancel(taskId, signal));
  }

  /** Whether the server advertises the Tasks extension. Calls work either way. Rejects with `RequestFailedError`. */
  serverSupports(options: TaskRequestOptions = {}): Promise<boolean> {
    return this.#request("connecting", options, (signal) => this.#connection.supportsTasks(signal));
  }

  /** The server's tools (`tools/list`), of all pages. Rejects with `RequestFailedError`. */
  listTools(options: TaskRequestOptions = {}): Promise<Tool[]> {
    return this.#request("tools/list", options, async (signal) => {
      const client = await this.#connection.client(signal);
      // The SDK's own limit is set aside: `timeoutMs` bounds it.
      const listed = await client.listTools(undefined, { signal, timeout: 2 ** 31 - 1 }).catch((error: unknown) => {
        throw toRequestFailure(error);
      });
      return listed.tools;
    });
  }

  /** Connects now. Otherwise the first use does. Rejects with `RequestFailedError`. */
  async connect(options: TaskRequestOptions = {}): Promise<void> {
    await this.#request("connecting", options, (signal) => this.#connection.client(signal));
  }

  /**
   * Leaves what is waited for (`DetachedError`), and closes the connection, and with it the process of a command; a given
   * SDK client stays open. Tasks keep running, but for those of a command that ends with its connection.
   */
  async close(): Promise<void> {
    for (const pending of this.#pending) pending.detach();
    this.#listed.detach();
    await this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #begin(subject: Subject, options: WaitOptions): PendingRequest {
    const pending: PendingRequest = new PendingRequest(subject, {
      connection: this.#connection,
      followers: this.#followers,
      clock: this.#clock,
      wait: resolveWait(options, this.#wait),
      onTask: (task) => this.#listed.tell(this.#entryOf(pending, task)),
      onEnd: () => this.#pending.delete(pending),
    });
    this.#pending.add(pending);
    return pending;
  }

  async #request<Result>(
    what: string,
    { timeoutMs = this.#requestTimeoutMs, signal = NEVER }: TaskRequestOptions,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    checkDuration(timeoutMs, "timeoutMs", { infinity: true });
    const late = () => new RequestFailedError({ message: `${what} took longer than ${timeoutMs} ms` });
    return within({ clock: this.#clock, ms: timeoutMs, signal, late }, work);
  }

  #entryOf({ tool }: PendingRequest, task: DetailedTask): TaskEntry {
    const { server } = this.#connection;
    return { role: "followed", task, ...(tool !== undefined && { tool }), ...(server !== undefined && { server }) };
  }

  /** Several waits for one task are one entry. */
  #entries(): Iterable<TaskEntry> {
    const entries = new Map<string, TaskEntry>();
    for (const pending of this.#pending) {
      if (pending.task !== undefined) entries.set(pending.task.taskId, this.#entryOf(pending, pending.task));
    }
    return entries.values();
  }
}

const NEVER = new AbortController().signal;
