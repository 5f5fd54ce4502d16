// The official SDK's client, which knows the protocol but not yet the Tasks extension.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { SubscriptionFilter } from "@modelcontextprotocol/client";
import type { DetailedTask } from "../../src/mod.ts";
import type { Peer, PeerServer } from "../support/peers.ts";
import { begin, cancel, get, notificationsOf, polled, transports, update } from "../support/peers.ts";
import { onlyKey, textOf } from "../support/rpc.ts";
import { until } from "../support/until.ts";

for (const [transport, start] of Object.entries(transports)) {
  describe(`the official client, over ${transport}`, () => {
    let server: PeerServer;
    let peer: Peer;

    const ended = (taskId: string) =>
      polled(peer, taskId, (task): task is DetailedTask => task.status !== "working");

    before(async () => {
      server = await start();
      peer = await server.connect();
    });
    after(() => server.close());

    it("negotiates this revision, and sees that the server knows tasks", () => {
      assert.equal(peer.client.getProtocolEra(), "modern");
      assert.deepEqual(peer.client.getServerCapabilities()?.extensions, { "io.modelcontextprotocol/tasks": {} });
      assert.deepEqual(peer.client.getServerVersion(), { name: "peer-host", version: "1.0.0" });
    });

    it("lists the tools and calls one that is answered inline", async () => {
      const { tools } = await peer.client.listTools();
      assert.ok(tools.some(({ name }) => name === "quick"));
      const result = await peer.client.callTool({ name: "quick", arguments: { a: 4 } });
      assert.equal(textOf(result), "got 4");
      const wrong = await peer.client.callTool({ name: "quick", arguments: { a: "four" } });
      assert.equal(wrong.isError, true);
    });

    it("answers a plain call's question and is told its progress, round by round", async () => {
      const { transport } = peer.client;
      assert.ok(transport);
      const pass = transport.onmessage;
      const told: unknown[] = [];
      // Seen as it arrives: the client drops a progress that comes in one piece with the response after it.
      transport.onmessage = (message, extra) => {
        if ("method" in message && message.method === "notifications/progress") told.push(message.params?.["progress"]);
        pass?.(message, extra);
      };
      try {
        const result = await peer.client.callTool({ name: "asks_inline", arguments: {} }, { onprogress: () => {} });
        assert.equal(textOf(result), "Hello, Ann");
        assert.deepEqual(told, [1, 2]);
      } finally {
        transport.onmessage = pass;
      }
    });

    it("polls a task to its end", async () => {
      const { taskId, status } = await begin(peer, "required");
      assert.equal(status, "working");
      assert.match((await get(peer, taskId)).statusMessage ?? "", /^(half \(1\/2\))?$/);
      const task = await ended(taskId);
      assert.equal(task.status, "completed");
      assert.equal(textOf((task as { result: unknown }).result), "worked");
    });

    it("answers a task's question", async () => {
      const { taskId } = await begin(peer, "asks");
      const task = await ended(taskId);
      assert.equal(task.status, "input_required");
      const key = onlyKey((task as { inputRequests: object }).inputRequests);
      const inputResponses = { [key]: { action: "accept", content: { name: "Bea" } } };
      await update(peer, taskId, inputResponses);
      assert.equal(textOf(((await ended(taskId)) as { result: unknown }).result), "Hello, Bea");
    });

    it("cancels a task", async () => {
      const { taskId } = await begin(peer, "hangs");
      await cancel(peer, taskId);
      assert.equal((await get(peer, taskId)).status, "cancelled");
    });

    it("gets errors as errors", async () => {
      await assert.rejects(get(peer, "nobody"), { code: -32602, message: /Task not found/ });
      const { taskId } = await begin(peer, "fails");
      const task = (await ended(taskId)) as { status: string; error: unknown };
      assert.equal(task.status, "failed");
      assert.deepEqual(task.error, { code: -32050, message: "Out of paper", data: { tray: 2 } });
    });

    it("settles from notifications, without polling", async () => {
      const { taskId } = await begin(peer, "external");
      const told = notificationsOf(peer);
      const subscription = await peer.client.listen({ taskIds: [taskId, "nobody"] } as SubscriptionFilter);
      assert.deepEqual(peer.raw.acknowledged.at(-1), [taskId]);
      await until(() => told.length === 1, "the present state");
      await peer.client.callTool({ name: "finish", arguments: { taskId, text: "done elsewhere" } });
      await until(() => told.length === 3, "the end");
      assert.deepEqual(
        told.map(({ status, statusMessage }) => statusMessage ?? status),
        ["working", "nearly", "completed"],
      );
      // The server ends a subscription whose last task has ended, and says so.
      assert.deepEqual(await subscription.closed, "graceful");
    });

    it("closes a subscription that goes on, and hears no more of it", async () => {
      const { taskId } = await begin(peer, "external");
      const told = notificationsOf(peer);
      const filter = { taskIds: [taskId], toolsListChanged: true };
      const subscription = await peer.client.listen(filter);
      await until(() => told.length === 1, "the present state");
      await subscription.close();
      await peer.client.callTool({ name: "finish", arguments: { taskId, text: "unheard" } });
      assert.equal((await get(peer, taskId)).status, "completed");
      assert.deepEqual(
        told.map(({ status }) => status),
        ["working"],
      );
    });

    if (transport === "HTTP") {
      it("finds a task by its id from a new connection", async () => {
        const { taskId } = await begin(peer, "external");
        const other = await server.connect();
        assert.equal((await get(other, taskId)).status, "working");
        await peer.client.callTool({ name: "finish", arguments: { taskId, text: "for both" } });
        assert.equal(textOf(((await get(other, taskId)) as { result: unknown }).result), "for both");
      });
    }

    it("of an older revision gets plain results", async () => {
      const { client } = await server.connect({ versionNegotiation: { mode: "legacy" } });
      assert.equal(client.getProtocolEra(), "legacy");
      assert.equal(textOf(await client.callTool({ name: "quick", arguments: { a: 4 } })), "got 4");
      await assert.rejects(client.callTool({ name: "required", arguments: {} }), { code: -32021 });
    });
  });
}
