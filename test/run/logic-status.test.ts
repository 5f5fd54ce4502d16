// What a machine says of itself is better than the name of its state.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { emit, setup } from "xstate";
import type { TaskEmitted } from "../../src/run/logic-handler.ts";
import { logicHandler } from "../../src/run/logic-handler.ts";
import { startRunner, taskOf } from "../support/running.ts";

const parcel = setup({ types: { emitted: {} as TaskEmitted } }).createMachine({
  initial: "packing",
  states: {
    packing: { entry: emit({ type: "task.status", message: "packing 40 boxes" }), after: { 1_000: "loading" } },
    loading: {
      entry: emit({ type: "task.progress", done: 0, total: 2, message: "loading" }),
      after: {
        100: { actions: emit({ type: "task.progress", done: 1, total: 2, message: "loading" }) },
        1_000: "driving",
      },
    },
    driving: { after: { 1_000: "arrived" } },
    arrived: { type: "final" },
  },
  output: "arrived",
});

describe("a machine that emits its status", () => {
  it("is shown by it, and by the names of its states where it emits none", async () => {
    const run = startRunner();
    const { taskId } = taskOf(await run.call(logicHandler(parcel, run.clock), "required"));
    const seen: unknown[] = [];
    for (const ms of [0, 1_000, 100, 900]) {
      await run.clock.advance(ms);
      seen.push((await run.get(taskId)).statusMessage);
    }
    assert.deepEqual(seen, ["packing 40 boxes", "loading (0/2)", "loading (1/2)", "driving"]);
    await run.clock.advance(1_000);
    assert.equal((await run.get(taskId)).status, "completed");
    run.isEmpty();
  });
});
