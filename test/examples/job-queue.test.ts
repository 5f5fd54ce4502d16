import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connected, serving } from "../support/examples.ts";

const factorise = (number: number) => ({ name: "factorise", arguments: { number } });
/** The largest prime that a JavaScript number holds exactly: nothing takes its worker longer. */
const LARGE_PRIME = 9_007_199_254_740_881;

describe("the job queue, worked by another process", () => {
  const url = serving("job-queue.ts");

  it("completes a task with what the worker reports", () =>
    connected(url(), async (client) => {
      const told: unknown[] = [];
      const { structuredContent } = await client.callTool(factorise(360), {
        onTaskStatus: ({ statusMessage }) => void told.push(statusMessage),
      });
      assert.deepEqual(structuredContent, { factors: [2, 2, 2, 3, 3, 5] });
      assert.equal(told[0], "queued");
    }));

  it("shows the worker's progress, and has it drop the job when the task is cancelled", () =>
    connected(url(), async (client) => {
      const call = client.beginCallTool(factorise(LARGE_PRIME));
      for await (const { statusMessage = "" } of call) {
        if (statusMessage.startsWith("dividing")) await call.cancel();
      }
      await assert.rejects(call.result(), /cancelled by request/);
      const { structuredContent } = await client.callTool(factorise(35));
      assert.deepEqual(structuredContent, { factors: [5, 7] });
    }));

  it("lets nobody else report", async () => {
    const response = await fetch(new URL("/jobs/take", url()), { method: "POST" });
    await response.body?.cancel();
    assert.equal(response.status, 401);
  });
});
