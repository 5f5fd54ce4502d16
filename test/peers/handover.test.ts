// A task belongs to no connection: another client of the host, on another transport, goes on with it by its id.
import type { SubscriptionFilter } from "@modelcontextprotocol/client";
import type { SerializedTaskReference } from "@modelcontextprotocol/ext-tasks/client";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Peer, PeerServer } from "../support/peers.ts";
import { begin, cancel, get, notificationsOf, transports } from "../support/peers.ts";
import { textOf } from "../support/rpc.ts";
import type { Session } from "../support/sessions.ts";
import { beginIn, openSession } from "../support/sessions.ts";
import { patiently, until } from "../support/until.ts";

/** The package's own type of an id. */
type TaskId = SerializedTaskReference["taskId"];

for (const [transport, start] of Object.entries(transports)) {
  describe(`a task made over ${transport}, in the hands of another client`, () => {
    let server: PeerServer;
    let peer: Peer;
    let other: Peer;
    let session: Session;

    before(async () => {
      server = await start();
      peer = await server.connect();
      other = await server.beside(peer);
      session = openSession(other);
    });
    after(async () => {
      await session.close();
      await server.close();
    });

    /** What a session keeps of a task, to resume it. */
    const referenceTo = (taskId: string): SerializedTaskReference => ({
      endpointId: "peer-host",
      generation: "v2",
      taskId: taskId as TaskId,
      originalOperation: "tools/call",
    });
    /** Drives a task to its end in the other client's session. */
    const resume = async (taskId: string) => {
      const execution = await session.resumeTask(referenceTo(taskId));
      return patiently(() => execution.settle());
    };
    const stopped = async (taskId: string) => {
      const result = await patiently(() => peer.client.callTool({ name: "stopped", arguments: { taskId } }));
      assert.equal(textOf(result), "stopped");
    };

    it("is answered and driven to its end by an ext-tasks session", async () => {
      const { taskId } = await begin(peer, "asks_twice");
      const { outcome } = await resume(taskId);
      assert.equal(textOf(resultFromTaskOutcome(outcome)), "Ann of Oslo");
      const task = await get(peer, taskId);
      assert.ok(task.status === "completed");
      assert.equal(textOf(task.result), "Ann of Oslo");
    });

    it("is resumed after its end, whatever that was", async () => {
      const completed = await begin(peer, "errs");
      const { outcome: erred } = await resume(completed.taskId);
      assert.equal(resultFromTaskOutcome(erred).isError, true);
      const failed = await begin(peer, "fails");
      const { outcome: failure } = await resume(failed.taskId);
      assert.ok(failure.status === "failed");
      const { code, message, data } = failure.error;
      assert.deepEqual({ code, message, data }, { code: -32050, message: "Out of paper", data: { tray: 2 } });
      const cancelled = await begin(peer, "hangs");
      await cancel(peer, cancelled.taskId);
      assert.equal((await resume(cancelled.taskId)).outcome.status, "cancelled");
    });

    it("is no task of the host that nobody made", async () => {
      await assert.rejects(session.resumeTask(referenceTo("nowhere")), { code: -32602 });
    });

    it("is cancelled by the other, which its maker and its work hear of", async () => {
      const { taskId } = await begin(peer, "hangs");
      const told = notificationsOf(peer);
      const subscription = await peer.client.listen({ taskIds: [taskId] } as SubscriptionFilter);
      await session.task(taskId as TaskId).cancel();
      assert.equal(await patiently(() => subscription.closed), "graceful");
      await until(() => told.at(-1)?.status === "cancelled", "its end");
      await stopped(taskId);
    });

    it("is cancelled by the session that drives it, and the work hears of it", async () => {
      const execution = await beginIn(session, "hangs");
      await execution.cancel();
      const { outcome } = await patiently(() => execution.settle());
      assert.equal(outcome.status, "cancelled");
      await stopped(execution.handle.taskId);
    });

    it("is let go of by one session and taken up by the next", async () => {
      const first = openSession(peer);
      let kept: string | undefined;
      const execution = await beginIn(first, "asks");
      await execution.handoff((reference) => void (kept = JSON.stringify(reference)));
      // A session that closes cancels what it still holds.
      await execution.result();
      await first.close();
      assert.ok(kept !== undefined);
      const resumed = await session.resumeTask(JSON.parse(kept) as SerializedTaskReference);
      const { outcome } = await patiently(() => resumed.settle());
      assert.equal(textOf(resultFromTaskOutcome(outcome)), "Hello, Ann");
    });
  });
}
