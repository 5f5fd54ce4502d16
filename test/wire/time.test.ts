import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { isoTime } from "../../src/wire/2026-07-28.ts";

describe("a time on the wire", () => {
  it("is written as Date writes it, whatever day was written before", () => {
    const wholeDay = fc.integer({ min: -100_000_000, max: 99_999_999 }).map((day) => day * 86_400_000);
    const ofThisTime = fc.integer({ min: Date.UTC(2020), max: Date.UTC(2040) });
    const any = fc.double({ min: -8.64e15, max: 8.64e15, noNaN: true });
    fc.assert(
      fc.property(fc.oneof(wholeDay, ofThisTime, any), (time) => {
        assert.equal(isoTime(time), new Date(time).toISOString());
      }),
      { seed: 1, numRuns: 5_000 },
    );
  });

  it("is none when there is none", () => {
    assert.throws(() => isoTime(Number.NaN), RangeError);
  });
});
