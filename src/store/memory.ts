import TinyQueue from "tinyqueue";
import { QuotaExceededError } from "../task/errors.ts";
import type { StoredTask, TaskRecord } from "../task/task.ts";
import { isTombstone } from "../task/task.ts";
import type { Quota, TaskStore } from "./store.ts";

/** Options of `memory`. */
export interface MemoryStoreOptions {
  /** How many tombstones are kept at most; the oldest give way. Default 100 000. */
  tombstones?: number;
}

interface Row {
  task: StoredTask;
  /** The time of this row's entry in the schedule. */
  scheduledAt: number | undefined;
}

interface Entry {
  readonly at: number;
  readonly taskId: string;
}

const byTime = (a: Entry, b: Entry): number => a.at - b.at;

/** How many entries the schedule may hold in vain, beside one for each row. */
const SPARE_ENTRIES = 64;

/** A store that holds tasks in this process's memory and loses them with it. */
export function memory(options: MemoryStoreOptions = {}): TaskStore {
  const { tombstones = 100_000 } = options;
  if (!Number.isSafeInteger(tombstones) || tombstones < 0) {
    throw new RangeError("memory({ tombstones }) takes a whole number of 0 or more.");
  }
  return new MemoryStore(tombstones);
}

class MemoryStore implements TaskStore {
  readonly #rows = new Map<string, Row>();
  readonly #perPrincipal = new Map<string, number>();
  /** In the order they were made, which is the order they give way in. */
  readonly #tombstones = new Set<string>();
  readonly #maxTombstones: number;
  /** Entries that time has overtaken are put right when their turn comes, or when they are the greater part. */
  #schedule = new TinyQueue<Entry>([], byTime);

  constructor(maxTombstones: number) {
    this.#maxTombstones = maxTombstones;
  }

  async create(record: TaskRecord, quota: Quota): Promise<void> {
    if (this.#rows.has(record.taskId)) throw new Error(`A task with the id ${record.taskId} is there already.`);
    if (this.#rows.size - this.#tombstones.size >= quota.tasks) {
      throw new QuotaExceededError("The server holds as many tasks as it may.");
    }
    if (this.#countOf(record.principal) >= quota.tasksPerPrincipal) {
      throw new QuotaExceededError("You have as many tasks as you may.");
    }
    this.#count(record.principal, 1);
    const row: Row = { task: record, scheduledAt: undefined };
    this.#rows.set(record.taskId, row);
    this.#plan(row);
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    return this.#rows.get(taskId)?.task;
  }

  async put(task: StoredTask): Promise<void> {
    const row = this.#rows.get(task.taskId);
    if (row === undefined) return;
    if (isTombstone(task)) {
      if (!isTombstone(row.task)) this.#bury(row.task);
    } else if (isTombstone(row.task)) {
      return;
    }
    row.task = task;
    if (this.#rows.has(task.taskId)) this.#plan(row);
    this.#trim();
  }

  async delete(taskId: string): Promise<void> {
    const row = this.#rows.get(taskId);
    if (row === undefined) return;
    this.#rows.delete(taskId);
    if (!this.#tombstones.delete(taskId)) this.#count(row.task.principal, -1);
    this.#trim();
  }

  async due(at: number, limit: number): Promise<StoredTask[]> {
    const rows: Row[] = [];
    while (rows.length < limit) {
      const row = this.#first();
      if (row?.scheduledAt === undefined || row.scheduledAt > at) break;
      this.#schedule.pop();
      row.scheduledAt = undefined;
      rows.push(row);
    }
    for (const row of rows) this.#plan(row);
    return rows.map(({ task }) => task);
  }

  async nextDue(): Promise<number | undefined> {
    return this.#first()?.scheduledAt;
  }

  async count(): Promise<number> {
    return this.#rows.size - this.#tombstones.size;
  }

  async close(): Promise<void> {}

  /** The row that is due first, its entry on top of the schedule. */
  #first(): Row | undefined {
    for (let entry = this.#schedule.peek(); entry !== undefined; entry = this.#schedule.peek()) {
      const row = this.#rows.get(entry.taskId);
      if (row?.scheduledAt === entry.at && row.task.dueAt === entry.at) return row;
      this.#schedule.pop();
      if (row?.scheduledAt !== entry.at) continue;
      row.scheduledAt = undefined;
      this.#plan(row);
    }
    return undefined;
  }

  #plan(row: Row): void {
    const { dueAt, taskId } = row.task;
    if (dueAt === null || (row.scheduledAt !== undefined && row.scheduledAt <= dueAt)) return;
    row.scheduledAt = dueAt;
    this.#schedule.push({ at: dueAt, taskId });
  }

  /** Rids the schedule of entries in vain, once they are many: a busy store would hold them until their time comes. */
  #trim(): void {
    if (this.#schedule.length <= 2 * this.#rows.size + SPARE_ENTRIES) return;
    const entries: Entry[] = [];
    for (const [taskId, row] of this.#rows) {
      row.scheduledAt = row.task.dueAt ?? undefined;
      if (row.scheduledAt !== undefined) entries.push({ at: row.scheduledAt, taskId });
    }
    this.#schedule = new TinyQueue(entries, byTime);
  }

  #bury(task: TaskRecord): void {
    this.#count(task.principal, -1);
    this.#tombstones.add(task.taskId);
    for (const oldest of this.#tombstones) {
      if (this.#tombstones.size <= this.#maxTombstones) break;
      this.#tombstones.delete(oldest);
      this.#rows.delete(oldest);
    }
  }

  #countOf(principal: string | undefined): number {
    return principal === undefined ? 0 : (this.#perPrincipal.get(principal) ?? 0);
  }

  #count(principal: string | undefined, change: 1 | -1): void {
    if (principal === undefined) return;
    const count = this.#countOf(principal) + change;
    if (count === 0) this.#perPrincipal.delete(principal);
    else this.#perPrincipal.set(principal, count);
  }
}
