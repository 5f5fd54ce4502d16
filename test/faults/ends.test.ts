// Faults that other implementations had about how tasks end, turned round.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { Host, JsonObject } from "../../src/mod.ts";
import { ProtocolError } from "../../src/mod.ts";
import { withChild } from "../support/child.ts";
import { turn } from "../support/clock.ts";
import { takeReports, withHost } from "../support/hosting.ts";
import type { Rpc } from "../support/rpc.ts";
import { TASKS, accept, onlyKey, textOf } from "../support/rpc.ts";
import { gate, until } from "../support/until.ts";

const Name = z.object({ name: z.string() });

const tools = (host: Host) => {
  host.tool("quick", { task: "required" }, () => "done");
  host.tool("ignores", { task: "required" }, () => new Promise<void>(() => {}));
  host.tool("elsewhere", { task: "required" }, (_input, task) => task.external());
};

/** A task once it has ended. */
async function ended(rpc: Rpc, taskId: string): Promise<JsonObject> {
  for (;;) {
    const task = (await rpc.get(taskId)) as unknown as JsonObject;
    if (task["status"] !== "working" && task["status"] !== "input_required") return task;
    await turn();
  }
}

/** The parameters of a notification. */
function paramsOf(message: JsonObject | undefined): JsonObject {
  return (message?.["params"] ?? {}) as JsonObject;
}

describe("a cancel", () => {
  it(
    "after completed leaves the result intact, and is acknowledged all the same (python-sdk#3003)",
    withHost({ tools }, async ({ rpc, clock }) => {
      const { taskId } = await rpc.task("quick");
      const completed = await ended(rpc, taskId);
      await clock.advance(5_000);
      const { _meta: _name, ...acknowledgement } = await rpc.cancel(taskId);
      assert.deepEqual(acknowledgement, { resultType: "complete" });
      const { pollIntervalMs: _hint, ...after } = await ended(rpc, taskId);
      const { pollIntervalMs: _earlier, ...before } = completed;
      assert.deepEqual(after, before);
      assert.equal(textOf(after["result"]), "done");
    }),
  );

  it(
    "is acknowledged at once even if the handler never looks at its signal (fast-mcp-scala#115)",
    withHost({ tools }, async ({ rpc, host }) => {
      const { taskId } = await rpc.task("ignores");
      await rpc.cancel(taskId);
      assert.equal((await rpc.get(taskId)).status, "cancelled", "the clock has not moved");
      assert.deepEqual([host.sizes.taken, host.sizes.live], [0, 0], "nor does the handler take up a slot");
    }),
  );

  it("fires the handler's AbortSignal before it is acknowledged (apify#763)", async () => {
    const reasons: unknown[] = [];
    await withHost(
      {
        tools: (host) =>
          host.tool("hears", { task: "required" }, (_input, { signal }) => {
            return new Promise<void>((resolve) => {
              signal.addEventListener("abort", () => {
                reasons.push((signal.reason as Error).message);
                resolve();
              });
            });
          }),
        options: { ttlMs: 10_000 },
      },
      async ({ rpc, clock }) => {
        const [first, second] = await Promise.all([rpc.task("hears"), rpc.task("hears")]);
        await rpc.cancel(first.taskId);
        assert.deepEqual(reasons, ["The task was cancelled by request."]);
        await clock.advance(10_000);
        assert.deepEqual(reasons.slice(1), ["Task has expired"], "as does expiry");
        assert.equal((await rpc.get(second.taskId)).status, "failed");
      },
    )();
  });

  it("at every point of a task's life yields one legal end, told once (tower-mcp#1304)", async () => {
    // The handler's steps, with as many turns of the event loop before the cancel as it takes to get past the last.
    for (let turns = 0; turns < 14; turns += 1) {
      await withHost(
        {
          tools: (host) =>
            host.tool("steps", { task: "required" }, async (_input, task) => {
              task.status("one");
              await turn();
              task.progress(1, 2);
              await turn();
              const { name } = await task.elicit("Who?", Name);
              await turn();
              return name;
            }),
        },
        async ({ direct }) => {
          const { taskId } = await direct.task("steps");
          const { events } = await direct.listen({ taskIds: [taskId] });
          const answering = (async () => {
            for (let tries = 0; tries < 40; tries += 1) {
              const task = (await direct.get(taskId)) as { inputRequests?: JsonObject };
              if (task.inputRequests !== undefined) {
                await direct.update(taskId, { [onlyKey(task.inputRequests)]: accept({ name: "Ada" }) });
                return;
              }
              await turn();
            }
          })();
          await turn(turns);
          await direct.cancel(taskId);
          const end = await ended(direct, taskId);
          await answering;
          await turn(5);
          const told = (await events.rest()).map((message) => paramsOf(message)["status"]);
          const ends = told.filter((status) => status === "completed" || status === "cancelled");
          assert.deepEqual(ends, [end["status"]], `after ${turns} turns: ${told.join()}`);
          assert.deepEqual(await ended(direct, taskId), end);
        },
      )();
    }
  });

  it(
    "is another thing than leaving: who stops listening or polling leaves the task alone (TanStack/ai#940)",
    withHost({ tools }, async ({ rpc, host }) => {
      const { taskId } = await rpc.task("ignores", {}, { headers: { connection: "close" } });
      const { events } = await rpc.listen({ taskIds: [taskId] });
      await events.leave();
      const abort = new AbortController();
      const asking = rpc.send("tasks/get", { taskId }, { signal: abort.signal });
      abort.abort();
      await asking.catch(() => {});
      await until(() => host.sizes.subscriptions === 0, "the reader to be gone");
      assert.equal((await rpc.get(taskId)).status, "working");
    }),
  );
});

describe("exactly one terminal event is told", () => {
  it(
    "over HTTP, and the stream then ends (inspector#2308, inspector#1037)",
    withHost({ tools }, async ({ rpc, host }) => {
      const { taskId } = await rpc.task("elsewhere");
      const { events } = await rpc.listen({ taskIds: [taskId] });
      const task = host.task(taskId);
      await Promise.allSettled([
        task.complete("first"),
        task.complete("second"),
        task.fail(new Error("third")),
        rpc.cancel(taskId),
        task.status("fourth"),
      ]);
      const told = await events.rest();
      const statuses = told.slice(0, -1).map((message) => paramsOf(message)["status"]);
      const { status } = await rpc.get(taskId);
      assert.deepEqual(statuses.filter((one) => one !== "working"), [status], `of ${statuses.join()}`);
      assert.equal(statuses.at(-1), status, "nothing after it but the stream's end");
      // To whoever listens only now it is told once, too.
      const late = await rpc.listen({ taskIds: [taskId] });
      assert.equal((await late.events.rest()).length, 2);
    }),
  );

  it(
    "over stdio (inspector#2308)",
    withChild("stdio-host", async (child) => {
      const { taskId } = await child.task("external");
      const id = child.begin("subscriptions/listen", { notifications: { taskIds: [taskId] } });
      await child.notification("notifications/subscriptions/acknowledged");
      await child.notification("notifications/tasks", ({ status }) => status === "working");
      const finished = ["first", "second"].map((text) => child.begin("tools/call", { name: "finish", arguments: { taskId, text } }));
      for (const finish of finished) await child.response(finish);
      await child.request("tasks/cancel", { taskId });
      const end = await child.notification("notifications/tasks");
      assert.deepEqual([end["status"], textOf(end["result"])], ["completed", "first"]);
      await child.response(id);
      await child.request("tasks/get", { taskId });
      assert.deepEqual(child.unread, []);
    }),
  );
});

describe("a result", () => {
  it(
    "is readable repeatedly, by anyone with the id, as long as the task lives (rust-sdk#638)",
    withHost({ tools, options: { ttlMs: 60_000, retainMs: 1_000 } }, async ({ rpc, direct, clock }) => {
      const { taskId } = await rpc.task("quick");
      await ended(rpc, taskId);
      for (let reads = 0; reads < 10; reads += 1) {
        await clock.advance(5_900);
        const read = reads % 2 === 0 ? rpc : direct;
        assert.equal(textOf((await ended(read, taskId))["result"]), "done");
      }
      await clock.advance(2_000);
      assert.deepEqual(await rpc.error("tasks/get", { taskId }), {
        code: -32602,
        message: "Failed to retrieve task: Task has expired",
      });
    }),
  );

  it(
    "with isError skips output validation (mcp-ts-core#241)",
    withHost(
      {
        tools: (host) => {
          const outputSchema = z.object({ count: z.number() });
          const refused = { content: [{ type: "text", text: "No such file" }], isError: true };
          host.tool("inline", { outputSchema, task: "forbidden" }, () => refused);
          host.tool("as_task", { outputSchema, task: "required" }, () => refused);
          host.tool("wrong", { outputSchema, task: "required" }, () => ({ count: "many" }) as never);
        },
      },
      async ({ rpc }) => {
        const inline = await rpc.call("inline");
        const { result } = await ended(rpc, (await rpc.task("as_task")).taskId);
        for (const given of [inline, result as JsonObject]) {
          assert.deepEqual([textOf(given), given["isError"]], ["No such file", true]);
        }
        const wrong = await ended(rpc, (await rpc.task("wrong")).taskId);
        assert.match(textOf(wrong["result"]), /^Output validation error: .*wrong/);
      },
    ),
  );
});

describe("a failed task", () => {
  it(
    "shows code, message and data of its error (vscode#335229)",
    withHost(
      {
        tools: (host) => {
          host.tool("fails", { task: "required" }, () => {
            throw new ProtocolError(-32042, "The disk is full", { free: 0, disk: { name: "a" } });
          });
          host.tool("breaks", { task: "required" }, () => {
            throw new Error("of no concern");
          });
        },
      },
      async ({ rpc, reported }) => {
        const failed = await ended(rpc, (await rpc.task("fails")).taskId);
        assert.deepEqual(
          [failed["status"], failed["error"], failed["result"]],
          ["failed", { code: -32042, message: "The disk is full", data: { free: 0, disk: { name: "a" } } }, undefined],
        );
        const { taskId } = await rpc.task("breaks");
        const broke = await ended(rpc, taskId);
        assert.deepEqual(broke["error"], { code: -32603, message: "Internal error" });
        const { events } = await rpc.listen({ taskIds: [taskId] });
        assert.deepEqual(paramsOf(await events.next())["error"], broke["error"]);
        assert.deepEqual(takeReports(reported), ["breaks: of no concern"]);
      },
    ),
  );
});

describe("a statusMessage", () => {
  it("round-trips, in whatever letters (vscode#287893, apify#555)", async () => {
    const words = ["at once", "über 50 %\n\"quoted\"", "\u{1f4e6} packing", "\u2028", ""];
    let go = gate();
    await withHost(
      {
        tools: (host) =>
          host.tool("tells", { task: "required" }, async (_input, task) => {
            for (const word of words) {
              task.status(word);
              await go.opened;
              go = gate();
            }
          }),
      },
      async ({ rpc }) => {
        const { taskId, statusMessage } = await rpc.task("tells");
        assert.ok(statusMessage === undefined || statusMessage === words[0]);
        const { events } = await rpc.listen({ taskIds: [taskId] });
        for (const word of words) {
          assert.equal((await rpc.get(taskId)).statusMessage, word);
          assert.equal(paramsOf(await events.next())["statusMessage"], word);
          go.open();
        }
        assert.equal((await ended(rpc, taskId))["status"], "completed");
        await events.leave();
      },
    )();
  });
});

describe("an unknown id", () => {
  const NEVER = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

  it(
    "is an error on every method, never `working` (kicad-mcp-pro#75)",
    withHost({ tools }, async ({ rpc, host }) => {
      for (const taskId of [NEVER, "", "x", "__proto__", "constructor", "../../etc", "x".repeat(4_000)]) {
        const headers = { "mcp-name": taskId };
        for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
          const error = await rpc.error(method, { taskId, inputResponses: {} }, { headers });
          assert.equal(error.code, -32602, `${method} of "${taskId}"`);
          assert.match(error.message, /Task not found$/);
        }
        const { acknowledged, events } = await rpc.listen({ taskIds: [taskId] });
        assert.deepEqual(acknowledged.notifications, {});
        assert.equal((await events.rest()).length, 1, "the end at once");
        await assert.rejects(host.task(taskId).complete(), { code: "TASK_NOT_FOUND" });
      }
      assert.equal(host.sizes.watched, 0);
    }),
  );

  it(
    "gives the same error whichever way it comes (strands#3661)",
    withHost({ tools }, async ({ rpc, direct }) => {
      const asked: [string, JsonObject, JsonObject | undefined][] = [
        ["tasks/get", { taskId: NEVER }, undefined],
        ["tasks/cancel", { taskId: NEVER }, undefined],
        ["tasks/update", { taskId: NEVER, inputResponses: {} }, undefined],
        ["tasks/get", { taskId: NEVER }, {}],
        ["tasks/list", {}, undefined],
      ];
      await withChild("stdio-host", async (child) => {
        for (const [method, params, capabilities = TASKS] of asked) {
          // In front of the SDK, through it (it looks at what is strange in `_meta`), and on stdio.
          const fast = await rpc.error(method, params, { capabilities });
          const slow = await direct.error(method, params, { capabilities, meta: { strange: 1 } });
          const stdio = await child.error(method, params, { capabilities });
          assert.deepEqual(slow, fast, method);
          assert.deepEqual(stdio, fast, method);
        }
      })();
    }),
  );
});
