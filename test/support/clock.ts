import { setImmediate } from "node:timers";
import type { Clock } from "../../src/task/clock.ts";

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is told to go on. Timers of one time fire in the order they were set. */
export class FakeClock implements Clock {
  #now: number;
  /** In the order they were set. */
  readonly #timers = new Set<Timer>();

  /** `now` is milliseconds since the epoch; default the start of 2026. */
  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** How long until the next timer fires, in milliseconds; `undefined` when none waits. */
  get untilNext(): number | undefined {
    const next = this.#next();
    return next === undefined ? undefined : Math.max(next.at - this.#now, 0);
  }

  now(): number {
    return this.#now;
  }

  setTimeout(callback: () => void, ms: number): unknown {
    // `NaN` counts as 0, as in the runtimes.
    const timer: Timer = { at: this.#now + (ms > 0 ? ms : 0), callback };
    this.#timers.add(timer);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer as Timer);
  }

  /**
   * Lets `ms` milliseconds go by: fires each timer that falls due, in order, those included that are set meanwhile, and
   * lets everything that follows from one run before the next fires.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await turn();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await turn();
    }
    this.#now = Math.max(this.#now, end);
  }

  #next(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.at < next.at) next = timer;
    return next;
  }
}

/** Lets every promise that can go on do so, `turns` times over with one turn of the event loop between. */
export async function turn(turns = 1): Promise<void> {
  for (let left = turns; left > 0; left -= 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Lets so many microtasks go first. */
export async function microtasks(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await Promise.resolve();
}
