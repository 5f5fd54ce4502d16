import type { Actor } from "xstate";
import { createActor } from "xstate";
import type { TaskEvent } from "../../machines/task.ts";
import { taskMachine } from "../../machines/task.ts";
import type { Quota, TaskStore } from "../store/store.ts";
import type { Refine } from "../task/answers.ts";
import { checkedAnswers } from "../task/answers.ts";
import type { Clock } from "../task/clock.ts";
import { RpcCode, TaskExpiredError, TaskNotFoundError } from "../task/errors.ts";
import type { Askable, JsonObject, PollInterval, StoredTask, TaskRecord } from "../task/task.ts";
import { isTerminal, isTombstone } from "../task/task.ts";

/** An event as a caller gives it: the registry adds the time, and how long an ended task is kept. */
export type Change = TaskEvent extends infer Event
  ? Event extends TaskEvent
    ? Omit<Event, "at" | "dueAt">
    : never
  : never;

/** Called with each new state of a task once it is stored. */
export type TaskListener = (record: TaskRecord) => void;

/** What a task is made of. */
export interface TaskSeed {
  readonly taskId: string;
  readonly principal: string | undefined;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly askable: Askable;
  readonly statusMessage: string | undefined;
  readonly ttlMs: number | null;
  readonly pollInterval: PollInterval;
}

export interface RegistryOptions {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly quota: Quota;
  /** How long an ended task stays readable at least, expired ones included, in milliseconds. */
  readonly retainMs: number;
  /** How long a tombstone tells "expired" from "not found", in milliseconds. */
  readonly tombstoneMs: number;
  readonly onError: (error: unknown, taskId: string | undefined) => void;
}

/** A task that has not ended, with its actor. */
interface LiveTask {
  readonly actor: Actor<typeof taskMachine>;
  /** The newest state that the store holds: all that anyone is told. */
  stored: TaskRecord;
  /** Settles when the store holds the actor's state. */
  writing: Promise<void> | undefined;
}

const NONE: Record<string, never> = Object.freeze({});

/** How many tasks one step of the sweep takes from the store. */
const SWEEP_STEP = 256;
/** How long after a failed store call it is tried again. */
const RETRY_MS = 1_000;

/**
 * Holds the actors. Every change of a task goes through here: as an event to its actor, then into the store, and only
 * then to whoever watches it.
 */
export class Registry {
  readonly #options: RegistryOptions;
  readonly #live = new Map<string, LiveTask>();
  readonly #waking = new Map<string, Promise<LiveTask | undefined>>();
  readonly #listeners = new Map<string, Set<TaskListener>>();
  #timer: unknown;
  #timerAt = Number.POSITIVE_INFINITY;
  #sweeping: Promise<void> | undefined;
  #closed = false;
  #ignored = 0;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** How much is held, for tests and for figures: actors, watched tasks, and events that came too late. */
  get sizes(): { live: number; watched: number; ignored: number } {
    return { live: this.#live.size, watched: this.#listeners.size, ignored: this.#ignored };
  }

  /** Arms the sweep for what a durable store already holds. */
  async start(): Promise<void> {
    this.#arm((await this.#options.store.nextDue()) ?? null);
  }

  /** Makes a task, `working`, and resolves once it is stored. Rejects with `QuotaExceededError`. */
  async create(seed: TaskSeed): Promise<TaskRecord> {
    const now = this.#options.clock.now();
    const record: TaskRecord = {
      taskId: seed.taskId,
      principal: seed.principal,
      tool: seed.tool,
      arguments: seed.arguments,
      askable: seed.askable,
      status: "working",
      statusMessage: seed.statusMessage,
      createdAt: now,
      lastUpdatedAt: now,
      ttlMs: seed.ttlMs,
      pollInterval: seed.pollInterval,
      inputRequests: NONE,
      inputResponses: NONE,
      result: undefined,
      error: undefined,
      dueAt: seed.ttlMs === null ? null : now + seed.ttlMs,
    };
    await this.#options.store.create(record, this.#options.quota);
    this.#revive(record);
    this.#arm(record.dueAt);
    return record;
  }

  /**
   * The task as the store holds it. Rejects with `TaskNotFoundError`, for another's task too, and with
   * `TaskExpiredError` for one that was discarded.
   */
  async get(taskId: string, principal: string | undefined): Promise<TaskRecord> {
    const task = this.#live.get(taskId)?.stored ?? (await this.#options.store.get(taskId));
    if (task === undefined || task.principal !== principal) throw new TaskNotFoundError();
    if (isTombstone(task)) throw new TaskExpiredError();
    return task;
  }

  /** The task whoever it belongs to, or `undefined`. For the host itself, never for a request. */
  async find(taskId: string): Promise<TaskRecord | undefined> {
    const task = this.#live.get(taskId)?.stored ?? (await this.#options.store.get(taskId));
    return task === undefined || isTombstone(task) ? undefined : task;
  }

  /**
   * Changes a task, and resolves once the change is stored and told. A task that is unknown or has ended stays as it
   * is: the first end wins. Resolves to whether the event had a task to go to.
   */
  async change(taskId: string, change: Change): Promise<boolean> {
    const live = this.#live.get(taskId) ?? (await this.#wake(taskId));
    if (live === undefined || isTerminal(live.actor.getSnapshot().context)) {
      this.#ignored += 1;
      return false;
    }
    live.actor.send(this.#stamp(change, live.actor.getSnapshot().context));
    if (live.actor.getSnapshot().context !== live.stored) await this.#write(live);
    return true;
  }

  /**
   * Answers open questions. Every answer to an open key must fit, or `InvalidAnswerError` is thrown and nothing
   * changes; other keys are ignored (Tasks, "Task Update Requests"). `refine` says what else a question asks for.
   */
  async answer(taskId: string, responses: JsonObject, refine?: Refine): Promise<void> {
    const record = await this.find(taskId);
    if (record === undefined) return;
    const inputResponses = await checkedAnswers(record.inputRequests, responses, refine);
    if (Object.keys(inputResponses).length > 0) await this.change(taskId, { type: "task.answer", inputResponses });
  }

  /** Moves the end of a task's time to live to `ms` milliseconds from now, unless it is later already. */
  async extend(taskId: string, ms: number): Promise<void> {
    const record = this.#live.get(taskId)?.actor.getSnapshot().context ?? (await this.find(taskId));
    if (record === undefined || record.ttlMs === null) return;
    const ttlMs = Math.ceil(this.#options.clock.now() + ms - record.createdAt);
    if (ttlMs > record.ttlMs) await this.change(taskId, { type: "task.extend", ttlMs });
  }

  /** Calls `listener` with every new state of a task, once stored, until the returned function is called. */
  watch(taskId: string, listener: TaskListener): () => void {
    let listeners = this.#listeners.get(taskId);
    if (listeners === undefined) this.#listeners.set(taskId, (listeners = new Set()));
    listeners.add(listener);
    return () => {
      if (listeners.delete(listener) && listeners.size === 0 && this.#listeners.get(taskId) === listeners) {
        this.#listeners.delete(taskId);
      }
    };
  }

  /** Stops the timer, writes what is not yet stored, and lets go of every actor. The store stays open. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#options.clock.clearTimeout(this.#timer);
    await Promise.allSettled([this.#sweeping, ...[...this.#live.values()].map((live) => live.writing)]);
    for (const live of this.#live.values()) live.actor.stop();
    this.#live.clear();
    this.#listeners.clear();
  }

  #stamp(change: Change, record: TaskRecord): TaskEvent {
    const at = this.#options.clock.now();
    switch (change.type) {
      case "task.extend":
        return { ...change, at, dueAt: change.ttlMs === null ? null : record.createdAt + change.ttlMs };
      case "task.complete":
      case "task.fail":
      case "task.cancel":
        return {
          ...change,
          at,
          dueAt: record.ttlMs === null ? null : Math.max(record.createdAt + record.ttlMs, at + this.#options.retainMs),
        };
      default:
        return { ...change, at };
    }
  }

  #revive(record: TaskRecord): LiveTask {
    const actor = createActor(taskMachine, {
      input: record,
      // A machine starts as `working`; a task that was asked something goes on where it was.
      ...(record.status !== "working" && {
        snapshot: taskMachine.resolveState({ value: record.status, context: record }),
      }),
    });
    actor.subscribe({ error: (error) => this.#options.onError(error, record.taskId) });
    actor.start();
    const live: LiveTask = { actor, stored: record, writing: undefined };
    this.#live.set(record.taskId, live);
    return live;
  }

  /** The actor of a task that only the store knows, made anew; `undefined` when there is none or it has ended. */
  #wake(taskId: string): Promise<LiveTask | undefined> {
    let waking = this.#waking.get(taskId);
    if (waking === undefined) {
      waking = this.#options.store
        .get(taskId)
        .then((task) => {
          if (task === undefined || isTombstone(task) || isTerminal(task)) return undefined;
          return this.#live.get(taskId) ?? this.#revive(task);
        })
        .finally(() => this.#waking.delete(taskId));
      this.#waking.set(taskId, waking);
    }
    return waking;
  }

  /** Resolves once the store holds the actor's present state. One write at a time; what comes meanwhile goes with the next. */
  #write(live: LiveTask): Promise<void> {
    live.writing ??= this.#writeAll(live).finally(() => {
      live.writing = undefined;
    });
    return live.writing;
  }

  async #writeAll(live: LiveTask): Promise<void> {
    for (;;) {
      const record = live.actor.getSnapshot().context;
      if (record === live.stored) return;
      try {
        await this.#options.store.put(record);
      } catch (error) {
        this.#options.onError(error, record.taskId);
        // Nobody was told yet, so trying again is safe; without it an end that was not stored would be lost.
        if (!this.#closed) this.#options.clock.setTimeout(() => void this.#write(live).catch(() => {}), RETRY_MS);
        throw error;
      }
      live.stored = record;
      if (isTerminal(record)) {
        this.#live.delete(record.taskId);
        this.#arm(record.dueAt);
      }
      this.#announce(record);
    }
  }

  #announce(record: TaskRecord): void {
    const listeners = this.#listeners.get(record.taskId);
    if (listeners === undefined) return;
    if (isTerminal(record)) this.#listeners.delete(record.taskId);
    for (const listener of listeners) {
      try {
        listener(record);
      } catch (error) {
        this.#options.onError(error, record.taskId);
      }
    }
  }

  #arm(dueAt: number | null): void {
    if (this.#closed || dueAt === null || this.#timerAt <= dueAt) return;
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    this.#timerAt = dueAt;
    this.#timer = clock.setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.#sweeping ??= this.#sweep().finally(() => {
        this.#sweeping = undefined;
      });
    }, dueAt - clock.now());
  }

  /** Takes every step that is due, in bounded portions, and arms the timer for the next. */
  async #sweep(): Promise<void> {
    const { store, clock, onError } = this.#options;
    try {
      for (let more = true; more && !this.#closed; ) {
        const due = await store.due(clock.now(), SWEEP_STEP);
        for (const task of due) await this.#overdue(task);
        more = due.length === SWEEP_STEP;
      }
      this.#arm((await store.nextDue()) ?? null);
    } catch (error) {
      onError(error, undefined);
      this.#arm(clock.now() + RETRY_MS);
    }
  }

  async #overdue(task: StoredTask): Promise<void> {
    const { store, clock, tombstoneMs } = this.#options;
    if (isTombstone(task)) return store.delete(task.taskId);
    if (isTerminal(task)) {
      const { taskId, principal } = task;
      return store.put({ taskId, principal, status: "expired", dueAt: clock.now() + tombstoneMs });
    }
    await this.change(task.taskId, {
      type: "task.fail",
      error: { code: RpcCode.internal, message: "Task has expired" },
    });
  }
}
