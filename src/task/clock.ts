import { clearTimeout, setTimeout } from "node:timers";

/** Where Errand takes its time from. Give your own to test without waiting. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Calls `callback` once, `ms` milliseconds from now: at once for 0 and less, never for `Infinity`. A host's timers
   * must not keep the process alive; a client's should, as long as it waits.
   */
  setTimeout(callback: () => void, ms: number): unknown;
  /** Forgets a timer that `setTimeout` gave. */
  clearTimeout(timer: unknown): void;
}

/** The runtimes' timers count in 32 bits: a longer delay would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** A timer of more than 24 days, made of shorter ones. */
class LongTimer {
  #current: NodeJS.Timeout;

  constructor(
    callback: () => void,
    ms: number,
    set: (callback: () => void, ms: number) => NodeJS.Timeout,
  ) {
    const wait = (left: number): NodeJS.Timeout =>
      left <= LONGEST_DELAY_MS
        ? set(callback, left)
        : set(() => {
            this.#current = wait(left - LONGEST_DELAY_MS);
          }, LONGEST_DELAY_MS);
    this.#current = wait(ms);
  }

  clear(): void {
    clearTimeout(this.#current);
  }
}

function machineClock(set: (callback: () => void, ms: number) => NodeJS.Timeout): Clock {
  return {
    now: () => Date.now(),
    setTimeout: (callback, ms) =>
      ms > LONGEST_DELAY_MS ? new LongTimer(callback, ms, set) : set(callback, Math.max(ms, 0)),
    clearTimeout: (timer) => {
      if (timer instanceof LongTimer) timer.clear();
      else clearTimeout(timer as NodeJS.Timeout | undefined);
    },
  };
}

/** The machine's clock. Its timers never keep the process alive. */
export const systemClock: Clock = machineClock((callback, ms) => setTimeout(callback, ms).unref());

/** The machine's clock with timers that keep the process alive: for what somebody waits for. */
export const waitingClock: Clock = machineClock(setTimeout);
