import { clearTimeout, setTimeout } from "node:timers";

/** Where Errand takes its time from. Give your own to test without waiting. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `callback` once, `ms` milliseconds from now. A timer must not keep the process alive. */
  setTimeout(callback: () => void, ms: number): unknown;
  /** Forgets a timer that `setTimeout` gave. */
  clearTimeout(timer: unknown): void;
}

/** Timers count in 32 bits: a longer delay would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** The machine's clock. Its timers never keep the process alive, and a delay over 24 days fires early, at 24 days. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, ms) => setTimeout(callback, Math.min(Math.max(ms, 0), LONGEST_DELAY_MS)).unref(),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};
