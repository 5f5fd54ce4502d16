import { heapStats } from "bun:jsc";

/** Collects garbage, and gives the bytes of heap that are left. */
export function collect(): number {
  Bun.gc(true);
  return heapStats().heapSize;
}
