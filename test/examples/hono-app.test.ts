import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connected, served } from "../support/examples.ts";

const countdown = (from: number) => ({ name: "countdown", arguments: { from } });

describe("the host in a Hono app", () => {
  it("stands beside the app's own routes, and is closed to strangers", () =>
    served("hono-app.ts", async (url) => {
      assert.equal(await (await fetch(new URL("/", url))).text(), "The countdown is at /mcp");
      const response = await fetch(url, { method: "POST", body: "{}" });
      await response.body?.cancel();
      assert.equal(response.status, 401);
    }));

  it("knows who calls, and shows a task to nobody else", () =>
    served("hono-app.ts", (url) =>
      connected(
        url,
        (ann) =>
          connected(
            url,
            async (ben) => {
              let looked: Promise<void> | undefined;
              const { content } = await ann.call(countdown(4), ({ taskId }) => {
                looked ??= assert.rejects(ben.get(taskId), /Task not found/);
              });
              assert.deepEqual(content, [{ type: "text", text: "Lift-off, ann" }]);
              assert.ok(looked !== undefined, "it became a task");
              await looked;
            },
            { token: "ben-secret" },
          ),
        { token: "ann-secret" },
      ),
    ));
});
