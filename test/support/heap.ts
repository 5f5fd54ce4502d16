import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes of heap in use once all garbage is collected. */
export async function usedHeap(): Promise<number> {
  collect();
  // What finalizers and microtasks let go of goes with the second collection.
  await setImmediate();
  collect();
  return process.memoryUsage().heapUsed;
}

function collect(): void {
  if ("Bun" in globalThis) {
    Bun.gc(true);
    return;
  }
  setFlagsFromString("--expose-gc");
  const gc = (globalThis.gc ?? runInNewContext("gc")) as () => void;
  gc();
}
