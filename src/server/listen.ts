import type { RequestId } from "@modelcontextprotocol/server";
import { SUBSCRIPTION_ID_META_KEY } from "@modelcontextprotocol/server";
import type { Registry } from "../registry/registry.ts";
import type { Clock } from "../task/clock.ts";
import { ProtocolError, RpcCode, TaskExpiredError, TaskNotFoundError } from "../task/errors.ts";
import type { JsonObject, TaskRecord } from "../task/task.ts";
import { isTerminal } from "../task/task.ts";
import { toDetailedTask } from "../wire/2026-07-28.ts";
import type { Message } from "./frames.ts";

/** Where a subscription's messages go. */
export interface Sink {
  /** Whether the reader keeps up. When it does again, the sink calls `Subscription.flush`. */
  readonly ready: boolean;
  write(message: Message): void;
  /** Writes the last messages there are, together. Nothing more comes. */
  end(last: readonly Message[]): void;
}

export interface ListenOptions {
  readonly registry: Registry;
  readonly clock: Clock;
  /** How many subscriptions may be open at once, and how many tasks one may name. */
  readonly subscriptions: number;
  readonly taskIdsPerSubscription: number;
  /** The `_meta` of results. */
  readonly resultMeta: () => JsonObject;
}

/** A subscription's id is held as long as it is open, and goes out with every message. */
const MAX_ID_LENGTH = 256;

/** The subscriptions to tasks of a host, over whatever transport (Tasks, "Task Status Notifications"). */
export class ListenHub {
  readonly #options: ListenOptions;
  readonly #open = new Set<Subscription>();
  /** The JSON of the last announced state: every listener of a task is told the same, and it may be long. */
  #told: { record: TaskRecord; at: number; json: string } | undefined;

  constructor(options: ListenOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Finds those of the tasks that a principal may see and starts to watch them. Nothing is sent before
   * `Subscription.start`. Throws `ProtocolError` for a filter that is none, or too large, and when there are too many.
   */
  async subscribe(id: RequestId, taskIds: unknown, principal: string | undefined): Promise<Subscription> {
    const { registry, subscriptions, taskIdsPerSubscription } = this.#options;
    if (!Array.isArray(taskIds) || !taskIds.every((taskId) => typeof taskId === "string")) {
      throw new ProtocolError(RpcCode.invalidParams, "Invalid params: notifications.taskIds must be an array of strings");
    }
    if (typeof id === "string" && id.length > MAX_ID_LENGTH) {
      throw new ProtocolError(RpcCode.invalidParams, `The id of a subscription may have ${MAX_ID_LENGTH} characters`);
    }
    const unique = [...new Set(taskIds)];
    if (unique.length > taskIdsPerSubscription) {
      throw new ProtocolError(
        RpcCode.invalidParams,
        `Invalid params: notifications.taskIds may name ${taskIdsPerSubscription} tasks, not ${unique.length}`,
      );
    }
    if (this.#open.size >= subscriptions) throw new ProtocolError(RpcCode.internal, "Subscription limit reached");
    const subscription = new Subscription(id, {
      json: (record) => this.#json(record),
      resultMeta: this.#options.resultMeta,
      onEnd: () => this.#open.delete(subscription),
    });
    this.#open.add(subscription);
    try {
      await Promise.all(unique.map((taskId) => subscription.watch(registry, taskId, principal)));
    } catch (error) {
      subscription.drop();
      throw error;
    }
    return subscription;
  }

  /** Ends every subscription with its result, the sign that the server meant it. */
  close(): void {
    for (const subscription of this.#open) subscription.end();
  }

  /** A task as `notifications/tasks` has it, open at the end for its `_meta`. */
  #json(record: TaskRecord): string {
    // The poll hint grows with the task's age, until there is nothing to poll for.
    const at = this.#options.clock.now();
    if (this.#told?.record !== record || (this.#told.at !== at && !isTerminal(record))) {
      this.#told = { record, at, json: JSON.stringify(toDetailedTask(record, at)).slice(0, -1) };
    }
    return this.#told.json;
  }
}

interface SubscriptionOptions {
  readonly json: (record: TaskRecord) => string;
  readonly resultMeta: () => JsonObject;
  readonly onEnd: () => void;
}

/**
 * One `subscriptions/listen`: after the acknowledgement the present state of each task, then every change once and in
 * order. For a reader that is slow the newest state of a task takes the place of the one that still waits, so that
 * what waits is bounded by the number of tasks.
 */
export class Subscription {
  readonly #id: RequestId;
  readonly #options: SubscriptionOptions;
  readonly #idJson: string;
  readonly #unwatch = new Map<string, () => void>();
  /** What waits to be written, by what it is about; a newer one takes the older one's place. */
  readonly #waiting = new Map<string, Message>();
  /** The newest state of each task that is watched, until the subscription starts. */
  #latest: Map<string, TaskRecord> | undefined = new Map();
  #sink: Sink | undefined;
  /** Whether something else than tasks may still come. */
  #others = false;
  #ended = false;

  constructor(id: RequestId, options: SubscriptionOptions) {
    this.#id = id;
    this.#idJson = JSON.stringify(id);
    this.#options = options;
  }

  /** The tasks that are listened to, as the acknowledgement names them. */
  get taskIds(): string[] {
    return [...this.#unwatch.keys()];
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Watches a task, unless the principal may not see it. Rejects when that cannot be found out. */
  async watch(registry: Registry, taskId: string, principal: string | undefined): Promise<void> {
    // Watching comes before looking, so that no change falls between the two.
    const unwatch = registry.watch(taskId, (record) => this.#onRecord(record));
    try {
      const record = await registry.get(taskId, principal);
      if (this.#ended) unwatch();
      else {
        this.#unwatch.set(taskId, unwatch);
        if (this.#latest?.has(taskId) === false) this.#latest.set(taskId, record);
      }
    } catch (error) {
      unwatch();
      this.#latest?.delete(taskId);
      if (!(error instanceof TaskNotFoundError || error instanceof TaskExpiredError)) throw error;
    }
  }

  /**
   * Sends the acknowledgement, then the tasks' present states, and from now on every change. `others` is the honoured
   * part of the filter that is not about tasks, whose notifications `write` brings.
   */
  start(sink: Sink, others: JsonObject): void {
    if (this.#ended) return sink.end([]);
    this.#sink = sink;
    this.#others = Object.keys(others).length > 0;
    const { taskIds } = this;
    const notifications = { ...others, ...(taskIds.length > 0 && { taskIds }) };
    this.offer("acknowledged", () => [this.#notification("notifications/subscriptions/acknowledged", { notifications })]);
    const latest = this.#latest ?? new Map<string, TaskRecord>();
    this.#latest = undefined;
    for (const taskId of taskIds) {
      const record = latest.get(taskId);
      if (record !== undefined) this.#onRecord(record);
    }
    this.flush();
  }

  /** Sends a message as soon as the reader takes it, unless a newer one about the same is offered first. */
  offer(about: string, message: Message): void {
    if (this.#ended) return;
    this.#waiting.set(about, message);
    this.flush();
  }

  /** Writes what waits, as far as the reader keeps up. */
  flush(): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    const isLast = this.#latest === undefined && this.#unwatch.size === 0 && !this.#others;
    for (const [about, message] of this.#waiting) {
      if (!sink.ready) return;
      // What is told last goes out with the result: one write instead of two.
      if (isLast && this.#waiting.size === 1) break;
      this.#waiting.delete(about);
      sink.write(message);
    }
    if (isLast) this.end();
  }

  /** Nothing but tasks can come any more. */
  endOthers(): void {
    this.#others = false;
    this.flush();
  }

  /**
   * Ends the subscription with its result (MCP, "Graceful Closure"). What still waits goes first, even to a slow
   * reader: it is the last there is to tell, and bounded.
   */
  end(): void {
    if (this.#ended) return;
    const sink = this.#sink;
    const waiting = [...this.#waiting.values()];
    this.drop();
    const _meta = { ...this.#options.resultMeta(), [SUBSCRIPTION_ID_META_KEY]: this.#id };
    const result = JSON.stringify({ jsonrpc: "2.0", id: this.#id, result: { resultType: "complete", _meta } });
    sink?.end([...waiting, () => [result]]);
  }

  /** Lets go of everything, without a word: the reader has gone. */
  drop(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const unwatch of this.#unwatch.values()) unwatch();
    this.#unwatch.clear();
    this.#waiting.clear();
    this.#latest = undefined;
    this.#sink = undefined;
    this.#options.onEnd();
  }

  #onRecord(record: TaskRecord): void {
    if (this.#latest !== undefined) {
      this.#latest.set(record.taskId, record);
      return;
    }
    if (isTerminal(record)) {
      this.#unwatch.get(record.taskId)?.();
      this.#unwatch.delete(record.taskId);
    }
    this.offer(record.taskId, () => [
      '{"jsonrpc":"2.0","method":"notifications/tasks","params":',
      this.#options.json(record),
      `,"_meta":{"${SUBSCRIPTION_ID_META_KEY}":${this.#idJson}}}}`,
    ]);
  }

  #notification(method: string, params: JsonObject): string {
    return JSON.stringify({ jsonrpc: "2.0", method, params: { ...params, _meta: { [SUBSCRIPTION_ID_META_KEY]: this.#id } } });
  }
}
