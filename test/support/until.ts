import { clearTimeout, setImmediate, setTimeout } from "node:timers";

/** How long a condition may take to come true, in milliseconds of the machine's time. */
const PATIENCE_MS = 20_000;

/**
 * Resolves as soon as a condition holds, which is looked at on each turn of the event loop. Rejects when it does not
 * come true in 20 s, saying what was waited for.
 */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const givenUpAt = Date.now() + PATIENCE_MS;
  while (!condition()) {
    if (Date.now() > givenUpAt) throw new Error(`Waited in vain for ${what}.`);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** Does what `work` does, and rejects when that takes more than 20 s, so that a test which hangs says so. */
export async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Hung for ${PATIENCE_MS} ms.`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([work(), tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

/** A promise with its ends, for a handler that a test lets go on. */
export interface Gate<Value = void> {
  readonly opened: Promise<Value>;
  open(value: Value): void;
}

/** Makes a gate: what waits for `opened` goes on when somebody calls `open`. */
export function gate<Value = void>(): Gate<Value> {
  const { promise, resolve } = Promise.withResolvers<Value>();
  return { opened: promise, open: resolve };
}
