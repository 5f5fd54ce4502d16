import { memory } from "../../src/store/memory.ts";
import type { Quota, TaskStore } from "../../src/store/store.ts";
import type { StoredTask, TaskRecord } from "../../src/task/task.ts";
import { microtasks, turn } from "./clock.ts";

/** How a call goes wrong: without having done its work, or having done it and not being able to say so. */
export type Failure = "before" | "after";

export interface WitnessOptions {
  /** What keeps tasks. Default `memory()`. */
  inner?: TaskStore;
  /** Waits before and after the work of each call. */
  delay?: () => Promise<void>;
  /** Whether a call fails, by its number from 1 on and its name. */
  failure?: (call: number, name: keyof TaskStore) => Failure | undefined;
}

/** What a store that fails on demand rejects with. */
export class StoreFailure extends Error {}

/**
 * A store that sees what is done to it, waits as long as it is told to, and fails when it is told to. What nobody may
 * do to a store is kept in `faults`.
 */
export class WitnessStore implements TaskStore {
  /** Every state that each task had in the store, in order. */
  readonly history = new Map<string, StoredTask[]>();
  /** The states whose writing was acknowledged. */
  readonly acknowledged = new Set<StoredTask>();
  readonly faults: string[] = [];
  calls = 0;
  readonly #inner: TaskStore;
  readonly #options: WitnessOptions;
  readonly #writing = new Set<string>();
  #closed = false;

  constructor(options: WitnessOptions = {}) {
    this.#inner = options.inner ?? memory();
    this.#options = options;
  }

  create(record: TaskRecord, quota: Quota): Promise<void> {
    return this.#write("create", record, () => this.#inner.create(record, quota));
  }

  put(task: StoredTask): Promise<void> {
    return this.#write("put", task, async () => {
      const there = await this.#inner.get(task.taskId);
      await this.#inner.put(task);
      return there !== undefined;
    });
  }

  async delete(taskId: string): Promise<void> {
    await this.#call("delete", () => this.#inner.delete(taskId));
  }

  get(taskId: string): Promise<StoredTask | undefined> {
    return this.#call("get", () => this.#inner.get(taskId));
  }

  due(at: number, limit: number): Promise<StoredTask[]> {
    return this.#call("due", () => this.#inner.due(at, limit));
  }

  nextDue(): Promise<number | undefined> {
    return this.#call("nextDue", () => this.#inner.nextDue());
  }

  count(): Promise<number> {
    return this.#inner.count();
  }

  async close(): Promise<void> {
    if (this.#writing.size > 0) this.faults.push(`closed while ${[...this.#writing].join(", ")} was being written`);
    this.#closed = true;
  }

  async #write(name: "create" | "put", task: StoredTask, work: () => Promise<boolean | void>): Promise<void> {
    const { taskId } = task;
    if (this.#writing.has(taskId)) this.faults.push(`two writes of ${taskId} at once`);
    this.#writing.add(taskId);
    try {
      await this.#call(name, async () => {
        if ((await work()) !== false) this.history.set(taskId, [...(this.history.get(taskId) ?? []), task]);
      });
      this.acknowledged.add(task);
    } finally {
      this.#writing.delete(taskId);
    }
  }

  async #call<Result>(name: keyof TaskStore, work: () => Promise<Result>): Promise<Result> {
    if (this.#closed) this.faults.push(`${name} was called after close`);
    this.calls += 1;
    const failure = this.#options.failure?.(this.calls, name);
    await this.#options.delay?.();
    if (failure === "before") throw new StoreFailure(`${name} failed before its work`);
    const result = await work();
    await this.#options.delay?.();
    if (failure === "after") throw new StoreFailure(`${name} failed after its work`);
    return result;
  }
}

/** Waits for some microtasks, or for some turns of the event loop, or not at all. */
export function randomDelay(random: () => number): () => Promise<void> {
  return async () => {
    const much = random();
    if (much < 0.3) return;
    if (much < 0.7) await microtasks(Math.ceil(random() * 5));
    else await turn(Math.ceil(random() * 3));
  };
}
