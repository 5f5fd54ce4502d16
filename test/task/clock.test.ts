import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../../src/task/clock.ts";

/** Waits for the machine's own clock: nothing else is under test here. */
const elapsed = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe("the machine's clock", () => {
  it("tells the time", () => {
    assert.ok(Math.abs(systemClock.now() - Date.now()) < 1_000);
  });

  it("calls back once, at once for what is past, and not at all when told to forget", async () => {
    const called: string[] = [];
    systemClock.setTimeout(() => called.push("now"), 0);
    systemClock.setTimeout(() => called.push("past"), -1_000);
    systemClock.clearTimeout(systemClock.setTimeout(() => called.push("forgotten"), 0));
    systemClock.clearTimeout(undefined);
    await elapsed(50);
    assert.deepEqual(called.toSorted(), ["now", "past"]);
  });

  it("does not fire what is too far away for 32 bits", async () => {
    const called: number[] = [];
    const delays = [2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, 1e15, Number.POSITIVE_INFINITY];
    const timers = delays.map((ms) => systemClock.setTimeout(() => called.push(ms), ms));
    await elapsed(50);
    for (const timer of timers) systemClock.clearTimeout(timer);
    assert.deepEqual(called, []);
  });
});
