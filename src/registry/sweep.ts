import type { TaskStore } from "../store/store.ts";
import type { Clock } from "../task/clock.ts";
import type { StoredTask } from "../task/task.ts";

/** How many tasks one sweep takes from the store. */
const SWEEP_STEP = 256;

/** How long after a failed store call it is tried again, in milliseconds. */
export const RETRY_MS = 1_000;

export interface SweepOptions {
  readonly store: TaskStore;
  readonly clock: Clock;
  /** Does with a task what is due: it may be due no more. */
  readonly takeStep: (task: StoredTask) => Promise<void>;
  readonly onError: (error: unknown, taskId: string | undefined) => void;
}

/** Looks at tasks again when they are due: one timer for all of them, as the store says which is next. */
export class Sweep {
  readonly #options: SweepOptions;
  #timer: unknown;
  #timerAt = Number.POSITIVE_INFINITY;
  #sweeping: Promise<void> | undefined;
  /** Whether the timer fired during a sweep, which may have looked too early. */
  #again = false;
  #closed = false;

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  /** Arms the timer for what the store already holds. Rejects when the store fails, which is then asked again. */
  async start(): Promise<void> {
    try {
      this.arm((await this.#options.store.nextDue()) ?? null);
    } catch (error) {
      this.arm(this.#options.clock.now() + RETRY_MS);
      throw error;
    }
  }

  /** Has the timer fire at a time at the latest; `null` is never. */
  arm(dueAt: number | null): void {
    if (this.#closed || dueAt === null || this.#timerAt <= dueAt) return;
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    this.#timerAt = dueAt;
    this.#timer = clock.setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      if (this.#sweeping !== undefined) {
        this.#again = true;
        return;
      }
      this.#sweeping = this.#sweep().finally(() => {
        this.#sweeping = undefined;
      });
    }, dueAt - clock.now());
  }

  /** Stops the timer, and resolves once the sweep that is under way has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#options.clock.clearTimeout(this.#timer);
    await this.#sweeping;
  }

  /** Takes a portion of what is due, and arms the timer for the next: between two, everything else gets its turn. */
  async #sweep(): Promise<void> {
    const { store, clock, onError } = this.#options;
    this.#again = false;
    let next: number | null;
    try {
      const due = await store.due(clock.now(), SWEEP_STEP);
      const failed = await this.#takeSteps(due);
      next = failed ? clock.now() + RETRY_MS : ((await store.nextDue()) ?? null);
      if (this.#again && !failed) next = clock.now();
    } catch (error) {
      onError(error, undefined);
      next = clock.now() + RETRY_MS;
    }
    this.arm(next);
  }

  /** Takes the step of each task, and gives whether one failed: the others are not to wait for it. */
  async #takeSteps(due: readonly StoredTask[]): Promise<boolean> {
    const { takeStep, onError } = this.#options;
    let failed = false;
    for (const task of due) {
      if (this.#closed) break;
      try {
        await takeStep(task);
      } catch (error) {
        if (this.#closed) break;
        failed = true;
        onError(error, task.taskId);
      }
    }
    return failed;
  }
}
