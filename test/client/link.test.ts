// Two transports in one process: what one sends, the other gets as it would over a wire.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { linkedTransports } from "../../src/client/link.ts";
import type { JsonObject } from "../../src/mod.ts";
import { turn } from "../support/clock.ts";

type End = ReturnType<typeof linkedTransports>[0];

const message = (params: JsonObject) => ({ jsonrpc: "2.0" as const, method: "note", params });

/** Notes what happens at an end. */
function observed(end: End): { got: unknown[]; closes: number; errors: string[] } {
  const seen = { got: [] as unknown[], closes: 0, errors: [] as string[] };
  end.onmessage = (one) => seen.got.push((one as { params?: unknown }).params);
  end.onclose = () => (seen.closes += 1);
  end.onerror = (error) => seen.errors.push(error.message);
  return seen;
}

describe("linked transports", () => {
  it("deliver in order, both ways, and never within send", async () => {
    const [one, other] = linkedTransports();
    const [atOne, atOther] = [observed(one), observed(other)];
    await Promise.all([one.start(), other.start()]);
    for (let at = 0; at < 3; at += 1) {
      void one.send(message({ at }));
      void other.send(message({ back: at }));
    }
    assert.deepEqual([atOne.got, atOther.got], [[], []]);
    await turn(1);
    assert.deepEqual(atOther.got, [{ at: 0 }, { at: 1 }, { at: 2 }]);
    assert.deepEqual(atOne.got, [{ back: 0 }, { back: 1 }, { back: 2 }]);
  });

  it("keep what comes before they start, and what is sent from a listener comes after it", async () => {
    const [one, other] = linkedTransports();
    const seen = observed(other);
    other.onmessage = (got) => {
      const { params } = got as { params: JsonObject };
      seen.got.push(params);
      if (params["at"] === 1) void one.send(message({ at: 3 }));
    };
    await one.start();
    await one.send(message({ at: 1 }));
    await one.send(message({ at: 2 }));
    await turn(1);
    assert.deepEqual(seen.got, []);
    await other.start();
    await turn(1);
    assert.deepEqual(seen.got, [{ at: 1 }, { at: 2 }, { at: 3 }]);
  });

  it("give a copy, and just what JSON makes of it", async () => {
    const [one, other] = linkedTransports();
    const seen = observed(other);
    await other.start();
    const list = [1, undefined];
    const params = { list, none: undefined, at: new Date(0) };
    await one.send(message(params));
    list.push(7);
    await turn(1);
    assert.deepEqual(seen.got, [{ list: [1, null], at: "1970-01-01T00:00:00.000Z" }]);
    await assert.rejects(one.send(message({ big: 1n })), TypeError);
    const around: JsonObject = {};
    around["around"] = around;
    await assert.rejects(one.send(message(around)), TypeError);
  });

  it("close together, each once, after what was sent before", async () => {
    for (const closing of ["one", "other"] as const) {
      const [one, other] = linkedTransports();
      const [atOne, atOther] = [observed(one), observed(other)];
      await Promise.all([one.start(), other.start()]);
      void one.send(message({ to: "other" }));
      void other.send(message({ to: "one" }));
      await { one, other }[closing].close();
      await turn(1);
      const there = closing === "one" ? atOther : atOne;
      const here = closing === "one" ? atOne : atOther;
      // Who closes wants to hear no more.
      assert.deepEqual([here.got, there.got.length], [[], 1]);
      await Promise.all([one.close(), other.close()]);
      await turn(1);
      assert.deepEqual([atOne.closes, atOther.closes], [1, 1]);
      await assert.rejects(one.send(message({})), /The connection is closed/);
      await assert.rejects(other.send(message({})), /The connection is closed/);
      await assert.rejects(one.start(), /closed already/);
    }
  });

  it("refuse what is sent to an end that is closed, before the news of it is there", async () => {
    const [one, other] = linkedTransports();
    await other.close();
    await assert.rejects(one.send(message({})), /The connection is closed/);
    const seen = observed(one);
    await one.start();
    await turn(1);
    assert.equal(seen.closes, 1);
  });

  it("start once, and survive a listener that throws", async () => {
    const [one, other] = linkedTransports();
    const seen = observed(other);
    other.onmessage = () => {
      throw new Error("cannot");
    };
    await other.start();
    await assert.rejects(other.start(), /started already/);
    await one.send(message({}));
    await one.send(message({}));
    await turn(1);
    assert.deepEqual(seen.errors, ["cannot", "cannot"]);
  });
});
