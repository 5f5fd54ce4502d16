import type { Actor } from "xstate";
import { createActor } from "xstate";
import type { TaskEvent } from "../../machines/task.ts";
import { taskMachine } from "../../machines/task.ts";
import type { Quota, TaskStore } from "../store/store.ts";
import type { Refine } from "../task/answers.ts";
import { checkedAnswers } from "../task/answers.ts";
import type { Clock } from "../task/clock.ts";
import { HostClosedError, QuotaExceededError, RpcCode, TaskExpiredError, TaskNotFoundError } from "../task/errors.ts";
import type { Askable, JsonObject, PollInterval, StoredTask, TaskRecord } from "../task/task.ts";
import { isTerminal, isTombstone } from "../task/task.ts";
import { RETRY_MS, Sweep } from "./sweep.ts";

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
  readonly pollIntervalMs: PollInterval;
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
  /** Told of each new state of every task once it is stored, its creation and its end among them. */
  readonly onStored?: TaskListener | undefined;
}

/** A task that has not ended, with its actor. */
interface LiveTask {
  readonly actor: Actor<typeof taskMachine>;
  /** Told of each new state before those who watch: nearly every task has this one listener and no other. */
  readonly owner: TaskListener | undefined;
  /** The newest state that the store holds: all that anyone is told. */
  stored: TaskRecord;
  /** Settles when the store holds the actor's state. */
  writing: Promise<void> | undefined;
  /** The timer that tries a write again which failed. */
  retry: unknown;
}

const NONE: Record<string, never> = Object.freeze({});

/**
 * Holds the actors. Every change of a task goes through here: as an event to its actor, then into the store, and only
 * then to whoever watches it.
 */
export class Registry {
  readonly #options: RegistryOptions;
  readonly #live = new Map<string, LiveTask>();
  /** The tasks that are being made or woken: whoever needs one meanwhile waits for the same actor. */
  readonly #coming = new Map<string, Promise<LiveTask | undefined>>();
  readonly #listeners = new Map<string, Set<TaskListener>>();
  readonly #sweep: Sweep;
  #closed = false;
  #ignored = 0;

  constructor(options: RegistryOptions) {
    this.#options = options;
    const { store, clock, onError } = options;
    this.#sweep = new Sweep({ store, clock, takeStep: (task) => this.#takeStep(task), onError });
  }

  /** How much is held, for tests and for figures: actors, those to come, watched tasks, and events that came too late. */
  get sizes(): { live: number; coming: number; watched: number; ignored: number } {
    const { size: live } = this.#live;
    return { live, coming: this.#coming.size, watched: this.#listeners.size, ignored: this.#ignored };
  }

  /** The tasks that have not ended and have an actor here, each as the store holds it. */
  *open(): Iterable<TaskRecord> {
    for (const { stored } of this.#live.values()) yield stored;
  }

  /** Arms the sweep for what a durable store already holds. Rejects when the store fails, which is then asked again. */
  start(): Promise<void> {
    return this.#sweep.start();
  }

  /**
   * Makes a task, `working`, and resolves once it is stored. `owner` is told of each new state, as by `watch`, until
   * the task ends. Rejects with `QuotaExceededError`.
   */
  async create(seed: TaskSeed, owner?: TaskListener): Promise<TaskRecord> {
    this.#checkOpen();
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
      pollIntervalMs: seed.pollIntervalMs,
      inputRequests: NONE,
      inputResponses: NONE,
      result: undefined,
      error: undefined,
      dueAt: seed.ttlMs === null ? null : now + seed.ttlMs,
    };
    const { store, quota, onStored } = this.#options;
    const made = store.create(record, quota).then(() => {
      const live = this.#revive(record, owner);
      if (onStored !== undefined) this.#tell(onStored, record);
      return live;
    });
    // Others may see the task in the store before it is told here: a second actor of it would be lost.
    const coming = made.catch(() => undefined);
    this.#coming.set(record.taskId, coming);
    try {
      await made;
    } catch (error) {
      // A store that failed may hold the task all the same.
      if (!(error instanceof QuotaExceededError)) this.#sweep.arm(record.dueAt);
      throw error;
    } finally {
      this.#coming.delete(record.taskId);
    }
    this.#sweep.arm(record.dueAt);
    return record;
  }

  /**
   * The task as the store holds it. Rejects with `TaskNotFoundError`, for another's task too, and with
   * `TaskExpiredError` for one that was discarded.
   */
  async get(taskId: string, principal: string | undefined): Promise<TaskRecord> {
    const task = this.#told(taskId) ?? (await this.#options.store.get(taskId));
    if (task === undefined || task.principal !== principal) throw new TaskNotFoundError();
    if (isTombstone(task)) throw new TaskExpiredError();
    return task;
  }

  /** The task whoever it belongs to, or `undefined`. For the host itself, never for a request. */
  async find(taskId: string): Promise<TaskRecord | undefined> {
    const task = this.#told(taskId) ?? (await this.#options.store.get(taskId));
    return task === undefined || isTombstone(task) ? undefined : task;
  }

  /**
   * Changes a task, and resolves once the change is stored and told. A task that is unknown or has ended stays as it
   * is: the first end wins. Resolves to whether the event had a task to go to, and where that has ended, once its end
   * is stored.
   */
  async change(taskId: string, change: Change): Promise<boolean> {
    this.#checkOpen();
    const live = this.#live.get(taskId) ?? (await this.#wake(taskId));
    // Closing does not wait for what begins after it.
    this.#checkOpen();
    if (live === undefined || isTerminal(live.actor.getSnapshot().context)) {
      this.#ignored += 1;
      if (live !== undefined) await this.#write(live);
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
    if (this.#closed) return () => {};
    let listeners = this.#listeners.get(taskId);
    if (listeners === undefined) this.#listeners.set(taskId, (listeners = new Set()));
    listeners.add(listener);
    return () => {
      if (listeners.delete(listener) && listeners.size === 0 && this.#listeners.get(taskId) === listeners) {
        this.#listeners.delete(taskId);
      }
    };
  }

  /**
   * Stops the timers, writes what is not yet stored, and lets go of every actor. What is asked of the registry after
   * it is refused with `HostClosedError`. The store stays open.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const { clock } = this.#options;
    await Promise.allSettled([this.#sweep.close(), ...this.#coming.values()]);
    for (const { retry } of this.#live.values()) clock.clearTimeout(retry);
    await Promise.allSettled([...this.#live.values()].map((live) => this.#write(live)));
    for (const { actor } of this.#live.values()) actor.stop();
    this.#live.clear();
    this.#listeners.clear();
  }

  #checkOpen(): void {
    if (this.#closed) throw new HostClosedError();
  }

  /** What may be told of a live task: what the store holds. */
  #told(taskId: string): StoredTask | undefined {
    this.#checkOpen();
    return this.#live.get(taskId)?.stored;
  }

  #stamp(change: Change, record: TaskRecord): TaskEvent {
    // The machine's clock may be put back; a task's history goes forward.
    const at = Math.max(this.#options.clock.now(), record.lastUpdatedAt);
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

  #revive(record: TaskRecord, owner?: TaskListener): LiveTask {
    const actor = createActor(taskMachine, {
      input: record,
      // A task goes on where it was, with the stored record itself as its context: another object is news.
      snapshot: taskMachine.resolveState({ value: record.status, context: record }),
    });
    actor.subscribe({ error: (error) => this.#options.onError(error, record.taskId) });
    actor.start();
    // An actor keeps its options for good, and with them a snapshot that has served: half a kilobyte for each task.
    Object.assign(actor.options, { input: undefined, snapshot: undefined });
    const live: LiveTask = { actor, owner, stored: record, writing: undefined, retry: undefined };
    this.#live.set(record.taskId, live);
    return live;
  }

  /** The actor of a task that only the store knows, made anew; `undefined` when there is none or it has ended. */
  #wake(taskId: string): Promise<LiveTask | undefined> {
    let coming = this.#coming.get(taskId);
    if (coming === undefined) {
      coming = this.#options.store
        .get(taskId)
        .then((task) => {
          if (task === undefined || isTombstone(task) || isTerminal(task)) return undefined;
          return this.#revive(task);
        })
        .finally(() => this.#coming.delete(taskId));
      this.#coming.set(taskId, coming);
    }
    return coming;
  }

  /** Resolves once the store holds the actor's present state. One write at a time; what comes meanwhile goes with the next. */
  #write(live: LiveTask): Promise<void> {
    if (live.writing === undefined && live.actor.getSnapshot().context !== live.stored) {
      live.writing = this.#writeAll(live).catch((error: unknown) => {
        live.writing = undefined;
        throw error;
      });
    }
    return live.writing ?? Promise.resolve();
  }

  async #writeAll(live: LiveTask): Promise<void> {
    for (;;) {
      const record = live.actor.getSnapshot().context;
      if (record === live.stored) {
        this.#options.clock.clearTimeout(live.retry);
        live.retry = undefined;
        // Not a microtask later: the change that comes next must find nobody writing.
        live.writing = undefined;
        return;
      }
      try {
        await this.#options.store.put(record);
      } catch (error) {
        this.#options.onError(error, record.taskId);
        this.#retry(live);
        throw error;
      }
      live.stored = record;
      if (isTerminal(record)) {
        this.#live.delete(record.taskId);
        this.#sweep.arm(record.dueAt);
      }
      this.#announce(record, live.owner);
    }
  }

  /** Tries a write again: nobody was told yet, so that is safe, and without it an end could be lost. */
  #retry(live: LiveTask): void {
    if (this.#closed) return;
    live.retry ??= this.#options.clock.setTimeout(() => {
      live.retry = undefined;
      void this.#write(live).catch(() => {});
    }, RETRY_MS);
  }

  #announce(record: TaskRecord, owner: TaskListener | undefined): void {
    const { onStored } = this.#options;
    if (owner !== undefined) this.#tell(owner, record);
    if (onStored !== undefined) this.#tell(onStored, record);
    const listeners = this.#listeners.get(record.taskId);
    if (listeners === undefined) return;
    if (isTerminal(record)) this.#listeners.delete(record.taskId);
    for (const listener of listeners) this.#tell(listener, record);
  }

  #tell(listener: TaskListener, record: TaskRecord): void {
    try {
      listener(record);
    } catch (error) {
      this.#options.onError(error, record.taskId);
    }
  }

  /** What is due of a task: it ends, becomes a tombstone, or is forgotten. */
  async #takeStep(task: StoredTask): Promise<void> {
    const { store, clock, tombstoneMs } = this.#options;
    if (isTombstone(task)) return store.delete(task.taskId);
    const { taskId, principal } = task;
    // Since the store was asked, the task may have ended, or its life been extended. What is not stored yet goes first.
    const live = this.#live.get(taskId);
    if (live !== undefined) await this.#write(live);
    const newest = live?.stored ?? task;
    if (newest.dueAt === null || newest.dueAt > clock.now()) return;
    if (isTerminal(newest)) {
      return store.put({ taskId, principal, status: "expired", dueAt: clock.now() + tombstoneMs });
    }
    await this.change(taskId, {
      type: "task.fail",
      error: { code: RpcCode.internal, message: "Task has expired" },
    });
  }
}
