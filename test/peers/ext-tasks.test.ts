// The official extension package's requestor: sessions that take a result or a task alike.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { SubscriptionFilter } from "@modelcontextprotocol/client";
import type { SerializedTaskReference } from "@modelcontextprotocol/ext-tasks/client";
import { TaskFailedError, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import type { JsonObject } from "../../src/mod.ts";
import type { Peer, PeerServer } from "../support/peers.ts";
import { transports } from "../support/peers.ts";
import { textOf } from "../support/rpc.ts";
import type { Session } from "../support/sessions.ts";
import { beginIn, openSession } from "../support/sessions.ts";
import { patiently } from "../support/until.ts";

for (const [transport, start] of Object.entries(transports)) {
  describe(`the official ext-tasks session, over ${transport}`, () => {
    let server: PeerServer;
    let peer: Peer;
    let session: Session;
    before(async () => {
      server = await start();
      peer = await server.connect();
      session = openSession(peer);
    });
    after(async () => {
      await session.close();
      await server.close();
    });

    const settle = async (name: string, args: JsonObject = {}) => {
      const execution = await session.callTool(name, args as never);
      const { outcome, lastTask } = await patiently(() => execution.settle());
      return { kind: execution.kind, outcome, lastTask };
    };

    it("sees that the server can execute, cancel and be answered", () => {
      const { execution, cancellation, inputResponses } = session.capabilities;
      assert.deepEqual([execution, cancellation, inputResponses], [true, true, true]);
    });

    it("takes an inline result for one", async () => {
      const { kind, outcome } = await settle("quick", { a: 4 });
      assert.equal(kind, "immediate");
      assert.equal(textOf(resultFromTaskOutcome(outcome)), "got 4");
    });

    it("drives a task to its result", async () => {
      const { kind, outcome, lastTask } = await settle("required");
      assert.equal(kind, "task");
      assert.equal(textOf(resultFromTaskOutcome(outcome)), "worked");
      assert.equal(lastTask?.status, "completed");
      const { outcome: counted } = await settle("counts");
      assert.deepEqual((resultFromTaskOutcome(counted) as JsonObject)["structuredContent"], { count: 3 });
    });

    it("takes a tool's own error for a result, and a JSON-RPC error for a failure", async () => {
      const { outcome: erred } = await settle("errs");
      assert.equal((resultFromTaskOutcome(erred) as JsonObject)["isError"], true);
      const { outcome: failed } = await settle("fails");
      assert.equal(failed.status, "failed");
      assert.ok(failed.status === "failed" && failed.error instanceof TaskFailedError);
      assert.deepEqual(
        [failed.error.code, failed.error.message, failed.error.data],
        [-32050, "Out of paper", { tray: 2 }],
      );
    });

    it("has its application answer a question, in a task and in a plain call's round", async () => {
      for (const [tool, delivery] of [
        ["asks", "task-update"],
        ["asks_inline", "request-retry"],
      ] as const) {
        session.asked.length = 0;
        const { outcome } = await settle(tool);
        assert.equal(textOf(resultFromTaskOutcome(outcome)), "Hello, Ann");
        assert.deepEqual(session.asked, [{ delivery, what: "Name?" }], "asked once, however often it polled");
      }
    });

    it("cancels a task", async () => {
      const execution = await session.callTool("hangs");
      assert.equal(execution.kind, "task");
      await execution.cancel();
      const { outcome } = await patiently(() => execution.settle());
      assert.equal(outcome.status, "cancelled");
    });

    it("hands a task over to a later session by its reference", async () => {
      const execution = await beginIn(session, "external");
      let reference: SerializedTaskReference | undefined;
      await execution.handoff((serialized) => {
        reference = JSON.parse(JSON.stringify(serialized)) as SerializedTaskReference;
      });
      assert.ok(reference !== undefined);
      const { taskId } = reference;
      // A session that closes cancels what it still holds.
      await execution.result().catch(() => {});
      await session.close();
      // A process on stdio takes its tasks with it: there, the same connection gets a new session.
      if (transport === "HTTP") peer = await server.connect();
      session = openSession(peer);
      const resumed = await session.resumeTask(reference);
      await peer.client.callTool({ name: "finish", arguments: { taskId, text: "resumed" } });
      const { outcome } = await patiently(() => resumed.settle());
      assert.equal(textOf(resultFromTaskOutcome(outcome)), "resumed");
    });

    it("settles from notifications, while it is not polling", async () => {
      const execution = await beginIn(session, "slow_poll");
      const { taskId } = execution.handle;
      const settled = execution.settle();
      session.sent.length = 0;
      const subscription = await peer.client.listen({ taskIds: [taskId] } as SubscriptionFilter);
      await peer.client.callTool({ name: "finish", arguments: { taskId, text: "told" } });
      const { outcome, lastTask } = await patiently(() => settled);
      assert.equal(textOf(resultFromTaskOutcome(outcome)), "told");
      assert.equal(lastTask?.status, "completed");
      assert.deepEqual(session.sent, [], "no request of the session's was needed");
      assert.equal(await subscription.closed, "graceful");
    });
  });
}
