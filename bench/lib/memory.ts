import { memoryUsage } from "node:process";
import { setImmediate } from "node:timers/promises";

/** Bytes of heap that are in use after a full garbage collection. */
export async function usedHeap(): Promise<number> {
  // What was let go of by finalizers and microtasks goes with the second collection.
  await collect();
  await setImmediate();
  return collect();
}

async function collect(): Promise<number> {
  if ("Bun" in globalThis) return (await import("./memory.bun.ts")).collect();
  if (globalThis.gc === undefined) throw new Error("Run this with --expose-gc.");
  globalThis.gc();
  return memoryUsage().heapUsed;
}
