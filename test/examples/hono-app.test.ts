import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TaskClient } from "../../src/mod.ts";
import { connected, serving } from "../support/examples.ts";

const countdown = (from: number) => ({ name: "countdown", arguments: { from } });

describe("the host in a Hono app", () => {
  const url = serving("hono-app.ts");

  it("stands beside the app's own routes, and is closed to strangers", async () => {
    assert.equal(await (await fetch(new URL("/", url()))).text(), "The countdown is at /mcp");
    const response = await fetch(url(), { method: "POST", body: "{}" });
    await response.body?.cancel();
    assert.equal(response.status, 401);
  });

  it("knows who calls, and shows a task to nobody else", () => {
    const beside = (ann: TaskClient) => connected(url(), (ben) => look(ann, ben), { token: "ben-secret" });
    return connected(url(), beside, { token: "ann-secret" });
  });
});

/** Has one call, and the other look at the task that comes of it. */
async function look(caller: TaskClient, other: TaskClient): Promise<void> {
  let looked: Promise<void> | undefined;
  const { content } = await caller.callTool(countdown(4), {
    onTaskStatus: ({ taskId }) => {
      looked ??= assert.rejects(other.getTask(taskId), /Task not found/);
    },
  });
  assert.deepEqual(content, [{ type: "text", text: "Lift-off, ann" }]);
  assert.ok(looked !== undefined, "it became a task");
  await looked;
}
