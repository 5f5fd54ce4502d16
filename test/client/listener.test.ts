// How few streams listen to many tasks, and how seldom one is told of again.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FollowEvent } from "../../machines/follow.ts";
import type { RequestOptions } from "../../src/client/channel.ts";
import { Listener } from "../../src/client/listener.ts";
import type { JsonObject } from "../../src/task/task.ts";
import { FakeClock } from "../support/clock.ts";

/** A server that acknowledges every stream at once, and counts what it is asked. */
class Server {
  readonly clock = new FakeClock();
  readonly listener: Listener;
  readonly open = new Set<RequestOptions>();
  /** How many tasks each stream was asked for. */
  readonly sizes: number[] = [];
  /** How often each task was told to those who listen. */
  readonly told = new Map<string, FollowEvent["type"][]>();

  constructor() {
    this.listener = new Listener({ clock: this.clock, request: (taskIds, options) => this.#listen(taskIds, options) });
  }

  /** Listens to more tasks, and gives what ends that for each. */
  async add(count: number): Promise<(() => void)[]> {
    const ends = Array.from({ length: count }, () => {
      const taskId = `task-${this.told.size}`;
      const events: FollowEvent["type"][] = [];
      this.told.set(taskId, events);
      return this.listener.add(taskId, ({ type }) => events.push(type));
    });
    await this.clock.advance(10);
    return ends;
  }

  #listen(taskIds: string[], options: RequestOptions): Promise<JsonObject> {
    this.sizes.push(taskIds.length);
    this.open.add(options);
    return new Promise((_resolve, reject) => {
      options.signal.addEventListener("abort", () => {
        this.open.delete(options);
        reject(options.signal.reason as Error);
      });
      queueMicrotask(() =>
        options.onNotification?.("notifications/subscriptions/acknowledged", { notifications: { taskIds } }),
      );
    });
  }
}

describe("listening to tasks that keep coming", () => {
  it("keeps one stream for few", async () => {
    const server = new Server();
    for (let added = 0; added < 64; added += 1) await server.add(1);
    assert.equal(server.open.size, 1);
    assert.equal(server.sizes.at(-1), 64);
    server.listener.close();
  });

  for (const at of [1, 40, 700]) {
    it(`keeps few streams for many, and asks for each task few times (${at} at a time)`, async () => {
      const server = new Server();
      for (let added = 0; added < 4_000; added += at) await server.add(at);
      assert.ok(server.open.size <= 16, `${server.open.size} streams`);
      assert.ok(server.sizes.every((size) => size <= 1_000));
      const askedFor = server.sizes.reduce((all, size) => all + size, 0) / server.told.size;
      // One at a time there are 64 in a stream before it is left alone.
      assert.ok(askedFor <= (at === 1 ? 64 : 8), `each was asked for ${askedFor} times`);
      for (const events of server.told.values()) assert.deepEqual(events, ["follow.acknowledged"]);
      server.listener.close();
    });
  }

  it("leaves no stream when all are left", async () => {
    const server = new Server();
    const ends: (() => void)[] = [];
    for (let added = 0; added < 1_000; added += 50) ends.push(...(await server.add(50)));
    assert.ok(server.open.size > 1);
    for (const end of ends) end();
    assert.equal(server.open.size, 0);
    await server.clock.advance(10);
    assert.equal(server.open.size, 0, "nor is a new one opened");
    assert.equal(server.clock.pending, 0);
  });
});
