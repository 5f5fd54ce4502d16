// The registry that hosts and clients share: what it lists, what it tells, and whom it harms.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TaskEntry } from "../../src/mod.ts";
import { TaskRegistry, createRegistry } from "../../src/mod.ts";
import { turn } from "../support/clock.ts";

/** An entry of a task that works. */
function entry(taskId: string, role: TaskEntry["role"] = "hosted"): TaskEntry {
  const time = "2026-01-01T00:00:00.000Z";
  return { role, task: { taskId, status: "working", createdAt: time, lastUpdatedAt: time, ttlMs: null } };
}

const idsOf = (entries: readonly TaskEntry[]) => entries.map(({ role, task }) => `${role} ${task.taskId}`);

describe("a task registry", () => {
  it("lists what its sources have at the moment", () => {
    const registry = createRegistry();
    assert.ok(registry instanceof TaskRegistry);
    assert.deepEqual(registry.list(), []);
    const hosted = [entry("a")];
    const one = registry.attach(() => hosted);
    const other = registry.attach(function* () {
      yield entry("b", "followed");
    });
    assert.deepEqual(idsOf(registry.list()), ["hosted a", "followed b"]);
    hosted.push(entry("c"));
    assert.deepEqual(idsOf(registry.list()), ["hosted a", "hosted c", "followed b"]);
    one.detach();
    assert.deepEqual(idsOf(registry.list()), ["followed b"]);
    one.detach();
    other.detach();
    assert.deepEqual(registry.list(), []);
  });

  it("tells everyone who watches, from when they begin until they end", () => {
    const registry = createRegistry();
    const source = registry.attach(() => []);
    const heard: string[] = [];
    const watch = (who: string) => registry.watch(({ task }) => heard.push(`${who}: ${task.taskId}`));
    assert.equal(registry.isWatched, false);
    source.tell(entry("a"));
    const endOne = watch("one");
    source.tell(entry("b"));
    const endOther = watch("other");
    source.tell(entry("c"));
    endOne();
    endOne();
    source.tell(entry("d"));
    assert.equal(registry.isWatched, true);
    endOther();
    source.tell(entry("e"));
    assert.equal(registry.isWatched, false);
    assert.deepEqual(heard, ["one: b", "one: c", "other: c", "other: d"]);
  });

  it("lets the same function watch twice, and end each by itself", () => {
    const registry = createRegistry();
    const source = registry.attach(() => []);
    let heard = 0;
    const listener = () => {
      heard += 1;
    };
    const end = registry.watch(listener);
    registry.watch(listener);
    source.tell(entry("a"));
    end();
    source.tell(entry("b"));
    assert.equal(heard, 3);
  });

  it("lets a listener end itself, and others, while it is told", () => {
    const registry = createRegistry();
    const source = registry.attach(() => []);
    const heard: string[] = [];
    const ends = ["one", "other"].map((who) =>
      registry.watch(() => {
        heard.push(who);
        for (const end of ends) end();
      }),
    );
    source.tell(entry("a"));
    source.tell(entry("b"));
    assert.deepEqual(heard, ["one"]);
  });

  it("is harmed by no listener: neither one that throws, nor one that rejects", async () => {
    const registry = createRegistry();
    const source = registry.attach(() => []);
    const heard: string[] = [];
    registry.watch(() => {
      throw new Error("cannot");
    });
    registry.watch(() => Promise.reject(new Error("cannot either")) as unknown as void);
    registry.watch(({ task }) => heard.push(task.taskId));
    source.tell(entry("a"));
    // A rejection that nobody takes would end the process.
    await turn(3);
    assert.deepEqual(heard, ["a"]);
  });

  it("is watched by a function and nothing else", () => {
    for (const wrong of [undefined, null, "listener", {}]) {
      assert.throws(() => createRegistry().watch(wrong as never), {
        name: "TypeError",
        message: "registry.watch takes a function: (entry) => …",
      });
    }
  });
});
