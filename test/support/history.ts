import assert from "node:assert/strict";
import type { StoredTask, TaskRecord } from "../../src/task/task.ts";
import { isTerminal, isTombstone } from "../../src/task/task.ts";

const NEXT: Record<string, readonly string[]> = {
  working: ["working", "input_required", "completed", "failed", "cancelled"],
  input_required: ["input_required", "working", "completed", "failed", "cancelled"],
  completed: ["expired"],
  failed: ["expired"],
  cancelled: ["expired"],
  expired: ["expired"],
};

/**
 * Checks that these are the states of one task, in an order that a task's life can have, and gives how it ended.
 * Throws `AssertionError`.
 */
export function checkHistory(history: readonly StoredTask[]): TaskRecord | undefined {
  let end: TaskRecord | undefined;
  const opened = new Set<string>();
  const closed = new Set<string>();
  for (const [at, state] of history.entries()) {
    const before = history[at - 1];
    if (before === undefined) assert.equal(state.status, "working");
    else {
      // A write that failed may have been done, and is then done again.
      if (before === state) continue;
      assert.ok(NEXT[before.status]?.includes(state.status), `${before.status} became ${state.status}`);
      assert.deepEqual([state.taskId, state.principal], [before.taskId, before.principal]);
    }
    if (isTombstone(state)) continue;
    for (const key of Object.keys(state.inputRequests)) {
      assert.ok(!closed.has(key), `${key} was opened again`);
      opened.add(key);
    }
    assert.equal(Object.keys(state.inputRequests).length > 0, state.status === "input_required");
    for (const key of opened) if (!Object.hasOwn(state.inputRequests, key)) closed.add(key);
    if (isTerminal(state)) {
      assert.equal(end, undefined, "two ends");
      end = state;
    }
    if (before !== undefined && !isTombstone(before)) {
      assert.equal(state.createdAt, before.createdAt);
      assert.ok(state.lastUpdatedAt >= before.lastUpdatedAt);
      assert.ok(before.ttlMs === null ? state.ttlMs === null : state.ttlMs === null || state.ttlMs >= before.ttlMs);
    }
  }
  return end;
}
