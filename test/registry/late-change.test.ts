// A write that has just ended must not swallow the change that comes in the same breath.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Registry } from "../../src/registry/registry.ts";
import { memory } from "../../src/store/memory.ts";
import { FakeClock, turn } from "../support/clock.ts";
import { ASKS_ALL } from "../support/task.ts";

describe("a change while another is being written", () => {
  it("is stored and told, however many microtasks after the other it comes", async () => {
    for (let microtasks = 0; microtasks < 20; microtasks += 1) {
      const registry = new Registry({
        store: memory(),
        clock: new FakeClock(),
        quota: { tasks: 10, tasksPerPrincipal: 10 },
        retainMs: 1_000,
        tombstoneMs: 1_000,
        onError: assert.ifError,
      });
      await registry.create({
        taskId: "t",
        principal: undefined,
        tool: "work",
        arguments: {},
        askable: ASKS_ALL,
        statusMessage: undefined,
        ttlMs: 60_000,
        pollIntervalMs: 100,
      });
      const told: string[] = [];
      registry.watch("t", ({ status }) => told.push(status));
      const first = registry.change("t", { type: "task.status", message: "half of it" });
      for (let at = 0; at < microtasks; at += 1) await Promise.resolve();
      const second = registry.change("t", { type: "task.ask", inputRequests: { go: { method: "roots/list" } } });
      await Promise.all([first, second]);
      assert.equal((await registry.get("t", undefined)).status, "input_required", `${microtasks} microtasks later`);
      await turn();
      assert.equal(told.at(-1), "input_required", `${microtasks} microtasks later`);
      await registry.close();
    }
  });
});
