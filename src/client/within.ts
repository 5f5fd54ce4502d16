import type { Clock } from "../task/clock.ts";

/** Does work under a signal that fires with the given one, and after `ms` milliseconds. Rejects as soon as it fires. */
export async function within<Result>(
  { clock, ms, signal, late }: { clock: Clock; ms: number; signal: AbortSignal; late: () => Error },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const timer = ms === Number.POSITIVE_INFINITY ? undefined : clock.setTimeout(() => over.abort(late()), ms);
  const onAbort = () => over.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await unless(over.signal, () => work(over.signal));
  } finally {
    clock.clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** The outcome of some work, or a rejection with the signal's reason as soon as it fires. */
export function unless<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Waits `ms` milliseconds, or until the signal fires, and then rejects with its reason. */
export function pauseFor(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const onAbort = () => {
      clock.clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = clock.setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
