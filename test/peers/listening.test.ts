// What the official peers are told of tasks that they listen to.
import type { SubscriptionFilter } from "@modelcontextprotocol/client";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { DetailedTask } from "../../src/mod.ts";
import type { Peer, PeerServer } from "../support/peers.ts";
import { begin, cancel, notificationsOf, transports, update } from "../support/peers.ts";
import { onlyKey, textOf } from "../support/rpc.ts";
import { beginIn, openSession } from "../support/sessions.ts";
import { patiently, until } from "../support/until.ts";

/** The states that are no end. */
const GOES_ON: readonly DetailedTask["status"][] = ["working", "input_required"];

for (const [transport, start] of Object.entries(transports)) {
  describe(`listening to tasks over ${transport}`, () => {
    let server: PeerServer;
    let peer: Peer;

    before(async () => {
      server = await start();
      peer = await server.connect();
    });
    after(() => server.close());

    /** Listens to tasks; `told` is what is heard of them. */
    const listen = async (...taskIds: string[]) => {
      const told = notificationsOf(peer);
      // `taskIds` is the extension's part of the filter, which the SDK's types do not know.
      const subscription = await peer.client.listen({ taskIds } as SubscriptionFilter);
      assert.deepEqual(peer.raw.acknowledged.at(-1), taskIds);
      const ended = (taskId: string) => told.some((task) => task.taskId === taskId && !GOES_ON.includes(task.status));
      const closed = async () => {
        const how = await patiently(() => subscription.closed);
        // The SDK hands a notification on a little later than it closes the subscription.
        await until(() => taskIds.every(ended), "the ends of the tasks");
        return how;
      };
      return { told, closed };
    };
    const call = (name: string, args: Record<string, string>) => peer.client.callTool({ name, arguments: args });

    it("brings every change, once and in order", async () => {
      const { taskId } = await begin(peer, "external");
      const { told, closed } = await listen(taskId);
      const heard = (states: number) => until(() => told.length === states, `state ${states}`);
      await heard(1);
      await call("tell", { taskId, status: "half of it" });
      await heard(2);
      await call("tell", { taskId, status: "nearly all" });
      await heard(3);
      await call("ask", { taskId });
      await heard(4);
      const key = onlyKey((told[3] as Extract<DetailedTask, { status: "input_required" }>).inputRequests);
      await update(peer, taskId, { [key]: { action: "accept", content: { name: "Ann" } } });
      assert.equal(await closed(), "graceful");
      assert.deepEqual(
        told.map(({ status, statusMessage = "" }) => [status, statusMessage]),
        [
          ["working", ""],
          ["working", "half of it"],
          ["working", "nearly all"],
          ["input_required", "nearly all"],
          ["working", "nearly all"],
          ["completed", ""],
        ],
      );
      const end = told.at(-1);
      assert.ok(end?.status === "completed");
      assert.equal(textOf(end.result), "asked Ann");
    });

    it("goes on until the last of several tasks has ended, however each ends", async () => {
      const finished = await begin(peer, "external");
      const cancelled = await begin(peer, "hangs");
      const failed = await begin(peer, "fails");
      const { told, closed } = await listen(finished.taskId, cancelled.taskId, failed.taskId);
      await cancel(peer, cancelled.taskId);
      await call("finish", { taskId: finished.taskId, text: "done" });
      assert.equal(await closed(), "graceful");
      const endOf = ({ taskId }: { taskId: string }) => told.filter((task) => task.taskId === taskId).at(-1);
      assert.equal(endOf(finished)?.status, "completed");
      assert.equal(endOf(cancelled)?.status, "cancelled");
      const failure = endOf(failed);
      assert.ok(failure?.status === "failed");
      assert.deepEqual(failure.error, { code: -32050, message: "Out of paper", data: { tray: 2 } });
    });

    it("tells the end of a task that ended before, and then ends", async () => {
      const { taskId } = await begin(peer, "external");
      await call("finish", { taskId, text: "long done" });
      const { told, closed } = await listen(taskId);
      assert.equal(await closed(), "graceful");
      assert.deepEqual(
        told.map((task) => (task.status === "completed" ? textOf(task.result) : task.status)),
        ["long done"],
      );
    });

    it("lets an ext-tasks session answer and settle without a single poll", async () => {
      // The session hears what the client has no handler for.
      const listener = await server.beside(peer);
      const session = openSession(listener);
      try {
        const execution = await beginIn(session, "slow_poll");
        const { taskId } = execution.handle;
        const settled = execution.settle();
        await listener.client.listen({ taskIds: [taskId] } as SubscriptionFilter);
        await call("ask", { taskId });
        const { outcome } = await patiently(() => settled);
        assert.equal(textOf(resultFromTaskOutcome(outcome)), "asked Ann");
        assert.deepEqual(session.asked, [{ delivery: "task-update", what: "Name?" }]);
        assert.deepEqual(session.sent, ["tools/call", "tasks/update"]);
      } finally {
        await session.close();
      }
    });
  });
}
