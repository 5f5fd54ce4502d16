import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { memory } from "../../src/store/memory.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { aTask } from "../support/task.ts";
import { storeContract } from "./contract.ts";

storeContract("memory()", () => memory());

const ROOMY = { tasks: 1_000, tasksPerPrincipal: 1_000 };

async function bury(store: TaskStore, taskId: string, dueAt: number): Promise<void> {
  await store.create(aTask({ taskId, principal: "ann" }), ROOMY);
  await store.put({ taskId, principal: "ann", status: "expired", dueAt });
}

describe("memory()", () => {
  it("keeps so many tombstones, and lets the oldest go first", async () => {
    const store = memory({ tombstones: 3 });
    for (let at = 0; at < 10; at += 1) await bury(store, `t${at}`, 1_000 - at);
    for (let at = 0; at < 10; at += 1) {
      const task = await store.get(`t${at}`);
      assert.equal(task?.status, at < 7 ? undefined : "expired");
    }
    assert.equal(await store.count(), 0);
    assert.deepEqual(
      (await store.due(2_000, 10)).map(({ taskId }) => taskId),
      ["t9", "t8", "t7"],
    );
    assert.equal(await store.nextDue(), 991);
  });

  it("keeps no tombstone when told so", async () => {
    const store = memory({ tombstones: 0 });
    await bury(store, "one", 1_000);
    assert.equal(await store.get("one"), undefined);
    assert.equal(await store.nextDue(), undefined);
    await store.create(aTask({ taskId: "one", principal: "ann" }), { tasks: 1, tasksPerPrincipal: 1 });
    assert.equal(await store.count(), 1);
  });

  it("says what it takes", () => {
    for (const tombstones of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "9" as unknown as number]) {
      assert.throws(() => memory({ tombstones }), { name: "RangeError", message: /tombstones.*whole number of 0 or more/ });
    }
  });
});
