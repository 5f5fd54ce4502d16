import type { StoredTask, TaskRecord } from "../task/task.ts";

/** How many tasks a store may hold; tombstones do not count. */
export interface Quota {
  /** In all. */
  readonly tasks: number;
  /** Of one principal. Tasks without a principal are bounded by `tasks` alone. */
  readonly tasksPerPrincipal: number;
}

/**
 * Where tasks are kept. Every promise resolves only once the change is as durable as the store makes it, and a record
 * that was read is never changed by anyone. Test your own with the contract suite.
 */
export interface TaskStore {
  /**
   * Adds a task. Rejects with `QuotaExceededError` when it would break the quota, which then leaves nothing behind;
   * counting and adding are one step, whatever else goes on.
   */
  create(record: TaskRecord, quota: Quota): Promise<void>;
  /** The task, or its tombstone, or `undefined`. */
  get(taskId: string): Promise<StoredTask | undefined>;
  /**
   * Puts a newer state in the place of a task that is there. One that is not there stays away, and a tombstone gives
   * way to a tombstone only: a write that comes late brings nothing back.
   */
  put(task: StoredTask): Promise<void>;
  /** Removes a task or a tombstone; one that is not there is no error. */
  delete(taskId: string): Promise<void>;
  /** Up to `limit` tasks and tombstones whose `dueAt` is at or before a time, the earliest first. */
  due(at: number, limit: number): Promise<StoredTask[]>;
  /** A time at or before the earliest `dueAt` of all, or `undefined` when nothing is due ever. */
  nextDue(): Promise<number | undefined>;
  /** How many tasks are held, tombstones not counted. */
  count(): Promise<number>;
  /** Ends the store's work. Nothing is called after it. */
  close(): Promise<void>;
}
