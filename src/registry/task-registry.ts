import type { DetailedTask } from "../task/task.ts";

/** A task that this process holds, or waits for. */
export interface TaskEntry {
  /** Whether it is run here for others, or waited for on another server. */
  readonly role: "hosted" | "followed";
  /** What a hosted one holds (questions, result, error) is the stored object itself: not to be changed. */
  readonly task: DetailedTask;
  /** The tool's name, where it is known. */
  readonly tool?: string;
  /** Of a followed task: its server's URL, or its name. */
  readonly server?: string;
  /** Of a hosted task: whom it belongs to. */
  readonly principal?: string;
}

/** Makes a registry for hosts and clients to share: `createHost({ registry })`, `createTaskClient(url, { registry })`. */
export function createRegistry(): TaskRegistry {
  return new TaskRegistry();
}

/** The open tasks of a process, hosted and followed alike, and what becomes of them. */
export class TaskRegistry {
  readonly #sources = new Set<() => Iterable<TaskEntry>>();
  readonly #listeners = new Set<(entry: TaskEntry) => unknown>();

  /** The tasks that have not ended. */
  list(): TaskEntry[] {
    return [...this.#sources].flatMap((entries) => [...entries()]);
  }

  /**
   * Calls `listener` with every state of every task, its last included: of a hosted one once it is stored, of a followed
   * one once it is read. Gives the function that ends it. What a listener throws is dropped, and harms nobody.
   */
  watch(listener: (entry: TaskEntry) => void): () => void {
    if (typeof listener !== "function") throw new TypeError("registry.watch takes a function: (entry) => …");
    // A function of its own, so that the same one may watch twice.
    const watcher = (entry: TaskEntry): unknown => listener(entry);
    this.#listeners.add(watcher);
    return () => {
      this.#listeners.delete(watcher);
    };
  }

  /** Whether anybody watches: what is told to nobody need not be made. @internal */
  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  /** Adds a source of tasks, and gives what tells of them, and what takes the source away again. @internal */
  attach(entries: () => Iterable<TaskEntry>): { tell: (entry: TaskEntry) => void; detach: () => void } {
    this.#sources.add(entries);
    return {
      tell: (entry) => {
        for (const listener of this.#listeners) {
          try {
            const outcome = listener(entry);
            if (outcome instanceof Promise) outcome.catch(() => {});
          } catch {
            // Whoever watches must not harm what they watch, neither now nor, with a promise, later.
          }
        }
      },
      detach: () => {
        this.#sources.delete(entries);
      },
    };
  }
}
