import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import process from "node:process";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject, Sizes } from "../../src/mod.ts";
import { memory, serve } from "../../src/mod.ts";
import { withChild } from "../support/child.ts";
import { FakeClock, turn } from "../support/clock.ts";
import { usedHeap } from "../support/heap.ts";
import { seeded } from "../support/random.ts";
import { Rpc, SUBSCRIPTION_KEY, textOf } from "../support/rpc.ts";
import { until } from "../support/until.ts";
import type { Random, Shot } from "./messages.ts";
import { Gun, Loot } from "./messages.ts";
import { watchForNoise } from "./quiet.ts";
import { shoot } from "./raw-http.ts";
import type { Target } from "./target.ts";
import { targetAdopted, targetHost } from "./target.ts";

/** Another run is had with `ERRAND_FUZZ_SEED=5`, a longer one with `ERRAND_FUZZ_TIMES=20`. */
const seed = Number(process.env["ERRAND_FUZZ_SEED"] ?? "20260728");
const times = Number(process.env["ERRAND_FUZZ_TIMES"] ?? "1");

/** How many shots are under way at once. */
const BATCH = 50;

/** Says with whatever goes wrong how to see it again. */
function reproducibly(work: (random: Random) => Promise<void>): () => Promise<void> {
  return async () => {
    try {
      await work(seeded(seed));
    } catch (error) {
      throw new Error(`With ERRAND_FUZZ_SEED=${seed}: ${String(error)}`, { cause: error });
    }
  };
}

function told(shot: Shot): string {
  return JSON.stringify(shot).slice(0, 2_000);
}

/** Fails when a host holds anything. */
function holdsNothing({ ignored: _ignored, ...sizes }: Sizes): void {
  assert.deepEqual(sizes, Object.fromEntries(Object.keys(sizes).map((name) => [name, 0])), "nothing is held");
}

/** Fires shots at a target in process and waits for all the answers, on its own clock. */
class Range {
  readonly #target: Target;
  readonly #clock: FakeClock;
  readonly #loot: Loot;
  #streams: ReadableStreamDefaultReader<Uint8Array>[] = [];

  constructor(target: Target, clock: FakeClock, loot: Loot) {
    this.#target = target;
    this.#clock = clock;
    this.#loot = loot;
  }

  async fire(shots: readonly Shot[]): Promise<void> {
    const unanswered = new Set(shots);
    const all = Promise.all(
      shots.map(async (shot) => {
        await this.#one(shot);
        unanswered.delete(shot);
      }),
    );
    // Calls that take their time do so on the clock that stands still.
    for (let left = 200; unanswered.size > 0 && left > 0; left -= 1) {
      await Promise.race([all, turn(2)]);
      await this.#clock.advance(100);
    }
    assert.deepEqual([...unanswered].map(told), [], "every shot is answered");
    await all;
    if (this.#streams.length > 100) await this.leave();
  }

  /** Leaves every stream that is open. */
  async leave(): Promise<void> {
    await Promise.all(this.#streams.splice(0).map((reader) => reader.cancel()));
  }

  async #one(shot: Shot): Promise<void> {
    const { method, headers, body } = shot;
    const request = new Request("http://127.0.0.1/mcp", {
      method,
      headers: { host: "127.0.0.1", ...headers },
      ...(method !== "GET" && { body }),
    });
    const response = await this.#target.fetch(request);
    if (response.status >= 500) assert.fail(`HTTP ${response.status} for ${told(shot)}: ${await response.text()}`);
    if (response.headers.get("content-type") === "text/event-stream" && response.body !== null) {
      const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
      await reader.read();
      this.#streams.push(reader);
      return;
    }
    const text = await response.text();
    if (text !== "") this.#loot.take(body, JSON.parse(text));
  }
}

/** The bytes of a shot as HTTP/1.1, most of them as they should be. */
function volley({ method, headers, body }: Shot, random: Random): { bytes: Uint8Array; leaves: boolean } {
  const chance = (share: number) => random() < share;
  const payload = Buffer.from(body);
  const lines = Object.entries(headers).filter(([name]) => name !== "content-length");
  let framed: Uint8Array = payload;
  if (chance(0.15)) {
    lines.push(["transfer-encoding", chance(0.1) ? "gzip, chunked" : "chunked"]);
    if (chance(0.2)) lines.push(["content-length", "5"]);
    const size = chance(0.1) ? "-1" : payload.length.toString(16);
    framed = Buffer.concat([Buffer.from(`${size}\r\n`), payload, Buffer.from(chance(0.9) ? "\r\n0\r\n\r\n" : "\r\n")]);
  } else {
    const length = payload.length + (chance(0.1) ? Math.floor(random() * 40) - 20 : 0);
    lines.push(["content-length", chance(0.03) ? "1e3" : String(length)]);
  }
  if (chance(0.05)) lines.push(["x-strange", "\u0001"], ["mcp-method", "tasks/get"], ["mcp-name", "again"]);
  const host = chance(0.95) ? "127.0.0.1" : "evil.example";
  const head = [`${method} /mcp HTTP/1.1`, `host: ${host}`, ...lines.map((line) => line.join(": "))].join("\r\n");
  const bytes = Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), framed]);
  const cut = chance(0.1) ? Math.floor(random() * bytes.length) : bytes.length;
  return { bytes: bytes.subarray(0, cut), leaves: chance(0.1) };
}

describe(`whatever comes, from seed ${seed},`, () => {
  for (const [what, makeTarget] of [
    ["a host", targetHost],
    ["an adopted server", targetAdopted],
  ] as const) {
    it(
      `to ${what} in process, breaks nothing, is answered, and leaves nothing behind`,
      reproducibly(async (random) => {
        const loot = new Loot();
        const gun = new Gun(random, loot);
        const clock = new FakeClock();
        const store = memory();
        const reported: unknown[] = [];
        const onError = (error: unknown) => reported.push(error);
        const target: Target = makeTarget({ clock, store, onError, limits: { bodyBytes: 200_000 } });
        const range = new Range(target, clock, loot);
        const watch = watchForNoise();
        const batches = 64 * times;
        let early = Number.POSITIVE_INFINITY;
        try {
          for (let batch = 1; batch <= batches; batch += 1) {
            await range.fire(Array.from({ length: BATCH }, () => gun.load()));
            if (batch === Math.floor(batches / 4) || batch === batches) {
              await range.leave();
              // Rounds, tasks and tombstones outlive their time.
              await clock.advance(200_000);
              holdsNothing(target.sizes);
              assert.deepEqual([await store.count(), await store.nextDue()], [0, undefined]);
              if (batch < batches) early = await usedHeap();
            }
          }
          const grown = (await usedHeap()) - early;
          assert.ok(grown < 4_000_000, `the heap has grown by ${grown} bytes`);
          assert.deepEqual(reported, [], "nothing to report");
          assert.equal(({} as { polluted?: unknown }).polluted, undefined);
          assert.deepEqual(watch.noises, []);
        } finally {
          watch.end();
          await target.close();
        }
        assert.equal(clock.pending, 0, "no timer is left");
      }),
    );
  }

  it(
    "over connections, breaks nothing and leaves nothing behind",
    reproducibly(async (random) => {
      const gun = new Gun(random, new Loot());
      const clock = new FakeClock();
      const reported: unknown[] = [];
      const host = targetHost({ clock, onError: (error) => reported.push(error), limits: { bodyBytes: 100_000 } });
      const watch = watchForNoise();
      const served = await serve(host, { port: 0 });
      try {
        const statuses = new Set<number | undefined>();
        for (let batch = 0; batch < 14 * times; batch += 1) {
          const volleys = Array.from({ length: BATCH }, () => volley(gun.load(), random));
          const shots = Promise.all(volleys.map((one) => shoot(served.port, one)));
          const ticking = setInterval(() => void clock.advance(100), 5);
          for (const status of await shots) statuses.add(status);
          clearInterval(ticking);
        }
        // A runtime's own 501 says that it knows no such transfer encoding.
        statuses.delete(501);
        assert.deepEqual([...statuses].filter((status) => status !== undefined && status >= 500), []);
        assert.equal(textOf(await new Rpc(served.url).call("echo", { text: "still there" })), '{"text":"still there"}');
        await clock.advance(200_000);
        await until(() => host.sizes.subscriptions === 0 && host.sizes.runs === 0, "the host to be left");
        holdsNothing(host.sizes);
        assert.deepEqual(reported, [], "nothing to report");
        assert.deepEqual(watch.noises, []);
      } finally {
        watch.end();
        await served.close();
      }
    }),
  );

  it(
    "over stdio, breaks nothing and leaves nothing behind",
    reproducibly((random) =>
      withChild("target", async (child) => {
        const loot = new Loot();
        const gun = new Gun(random, loot);
        const subscribed = new Set<unknown>();
        let asked = 0;
        const state = async () => {
          const result = await child.call("sizes", {}, { id: `state ${(asked += 1)}` });
          return JSON.parse(textOf(result)) as { sizes: Sizes; noises: string[] };
        };
        const read = async (shots: readonly string[]) => {
          const byId = new Map(shots.map((shot) => [/"id":(\d+)/.exec(shot)?.[1], shot]));
          while (child.unread.length > 0) {
            const answer = await child.next(() => true);
            const { _meta: meta } = (answer["params"] ?? {}) as { _meta?: JsonObject };
            if (meta?.[SUBSCRIPTION_KEY] !== undefined) subscribed.add(meta[SUBSCRIPTION_KEY]);
            const shot = byId.get(String(answer["id"]));
            if (shot !== undefined) loot.take(shot, answer);
          }
        };
        await state(); // A connection is of the era of what comes first.
        for (let batch = 0; batch < 44 * times; batch += 1) {
          const shots = Array.from({ length: BATCH * 2 }, () => gun.load().body.replaceAll("\n", " "));
          child.write(`${shots.join("\n")}\n`);
          await state();
          await read(shots);
        }
        const givenUpAt = Date.now() + 20_000;
        // Its tasks and rounds live for a second; the call that asks is a run itself.
        const left = { live: 0, watched: 0, runs: 1, elsewhere: 0, rounds: 0, taken: 1, waiting: 0, subscriptions: 0, streams: 0 };
        for (let now = await state(); ; now = await state()) {
          await read([]);
          for (const requestId of subscribed) child.notify("notifications/cancelled", { requestId });
          subscribed.clear();
          assert.deepEqual(now.noises, []);
          const { ignored: _ignored, ...sizes } = now.sizes;
          if (isDeepStrictEqual(sizes, left)) break;
          if (Date.now() > givenUpAt) assert.deepEqual(sizes, left);
          await setTimeout(20);
        }
      })(),
    ),
  );
});
