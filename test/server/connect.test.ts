// A host that serves a client over a transport it is given.
import { Client } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { linkedTransports } from "../../src/client/link.ts";
import type { Host, JsonObject } from "../../src/mod.ts";
import { HostClosedError, createHost } from "../../src/mod.ts";
import { turn } from "../support/clock.ts";
import { usedHeap } from "../support/heap.ts";
import { withHost } from "../support/hosting.ts";
import { LinkedPeer } from "../support/linked.ts";
import { SUBSCRIPTION_KEY, accept, onlyKey, textOf } from "../support/rpc.ts";
import { gate, until } from "../support/until.ts";

const aborted: unknown[] = [];

const tools = (host: Host) => {
  host.tool("quick", {}, () => "done");
  host.tool("external", { task: "required" }, (_input, task) => task.external());
  host.tool("asks", { task: "required" }, async (_input, task) => {
    const { name } = await task.elicit("Who?", z.object({ name: z.string() }));
    return `Hello, ${name}`;
  });
  host.tool("hangs", { task: "forbidden" }, async (_input, { signal }) => {
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => {
        aborted.push(signal.reason);
        resolve();
      });
    });
  });
};

/** A test with a connected client. */
const withPeer = (test: (peer: LinkedPeer, host: Host) => Promise<void>) =>
  withHost({ tools }, async ({ host }) => {
    const peer = new LinkedPeer(host);
    try {
      await test(peer, host);
    } finally {
      await peer.close();
    }
  });

describe("a client connected to a host", () => {
  it(
    "calls tools, inline and as tasks, answers questions, and cancels",
    withPeer(async (peer, host) => {
      assert.equal(textOf(await peer.call("quick")), "done");
      const { taskId } = await peer.task("asks");
      const asking = (await peer.get(taskId)) as unknown as { inputRequests: object };
      const inputResponses = { [onlyKey(asking.inputRequests)]: accept({ name: "Ann" }) };
      await peer.result("tasks/update", { taskId, inputResponses });
      await turn(3);
      assert.equal(textOf(((await peer.get(taskId)) as { result: unknown }).result), "Hello, Ann");
      const other = (await peer.task("external")).taskId;
      await peer.result("tasks/cancel", { taskId: other });
      assert.equal((await peer.get(other)).status, "cancelled");
      assert.equal(host.sizes.live, 0);
    }),
  );

  it(
    "listens: the acknowledgement, the present state, every change, and the end",
    withPeer(async (peer, host) => {
      const { taskId } = await peer.task("external");
      const id = await peer.begin("subscriptions/listen", { notifications: { taskIds: [taskId] } });
      const acknowledged = await peer.notification("notifications/subscriptions/acknowledged");
      assert.deepEqual(acknowledged["notifications"], { taskIds: [taskId] });
      await host.task(taskId).status("halfway");
      await host.task(taskId).complete("done");
      assert.ok("result" in (await peer.response(id)));
      const states = peer.unread.map(({ params }) => params as JsonObject);
      assert.deepEqual(
        states.map(({ status, statusMessage }) => [status, statusMessage]),
        [
          ["working", undefined],
          ["working", "halfway"],
          ["completed", undefined],
        ],
      );
      assert.ok(states.every(({ _meta }) => (_meta as JsonObject)[SUBSCRIPTION_KEY] === id));
    }),
  );

  it(
    "cancels a plain call by notification, and by going",
    withPeer(async (peer, host) => {
      const id = await peer.begin("tools/call", { name: "hangs", arguments: {} });
      await until(() => host.sizes.runs === 1, "the call to start");
      await peer.notify("notifications/cancelled", { requestId: id });
      await until(() => host.sizes.runs === 0, "the call to be let go");
      assert.equal(aborted.splice(0).length, 1);
      await peer.begin("tools/call", { name: "hangs", arguments: {} });
      await until(() => host.sizes.runs === 1, "the call to start");
      await peer.close();
      await peer.handle.closed;
      await until(() => host.sizes.runs === 0, "the call to be let go");
      assert.equal(aborted.splice(0).length, 1);
    }),
  );

  it(
    "gets copies: what it does to a result changes nothing of the host's",
    withPeer(async (peer, host) => {
      const { taskId } = await peer.task("external");
      const result = { content: [{ type: "text", text: "mine" }], structuredContent: { list: [1] } };
      await host.task(taskId).complete(result);
      const first = (await peer.get(taskId)) as unknown as { result: typeof result };
      first.result.structuredContent.list.push(2);
      (first.result.content[0] ?? assert.fail()).text = "changed";
      const second = (await peer.get(taskId)) as unknown as { result: typeof result };
      assert.deepEqual([second.result.structuredContent, textOf(second.result)], [{ list: [1] }, "mine"]);
    }),
  );

  it(
    "may be the SDK's own, of either era, and hears that the tools changed",
    withHost({ tools }, async ({ host }) => {
      for (const versionNegotiation of [{ mode: "auto" }, { mode: "legacy" }] as const) {
        const heard = gate();
        const client = new Client(
          { name: "sdk", version: "1" },
          { versionNegotiation, listChanged: { tools: { autoRefresh: false, onChanged: () => heard.open() } } },
        );
        const [ours, theirs] = linkedTransports();
        const { closed } = host.connect(theirs);
        await client.connect(ours);
        assert.equal(textOf(await client.callTool({ name: "quick", arguments: {} })), "done");
        host.notify.toolsChanged();
        await heard.opened;
        await client.close();
        await closed;
      }
    }),
  );
});

describe("a connection", () => {
  it(
    "is closed by either side, alone: the host goes on, and so do its tasks",
    withHost({ tools }, async ({ host }) => {
      const [one, other, third] = [new LinkedPeer(host), new LinkedPeer(host), new LinkedPeer(host)];
      const { taskId } = await one.task("external");
      const listen = await other.begin("subscriptions/listen", {
        notifications: { taskIds: [taskId], toolsListChanged: true },
      });
      await other.notification("notifications/tasks");
      await one.close();
      await one.handle.closed;
      assert.equal((await third.get(taskId)).status, "working");
      await other.handle.close();
      await other.handle.closed;
      await turn(1);
      // The SDK ends its part of the subscription first, which tells the client that the server meant it.
      assert.ok("result" in (await other.response(listen)));
      assert.ok(other.closed);
      assert.deepEqual([host.sizes.subscriptions, host.sizes.watched, host.sizes.live], [0, 0, 1]);
      assert.equal(textOf(await third.call("quick")), "done");
      await third.handle.close();
      await third.handle.close();
    }),
  );

  it("ends when the host is closed, having told how its tasks and subscriptions ended", async () => {
    const host = createHost({ name: "h", version: "1" });
    tools(host);
    const peers = [new LinkedPeer(host), new LinkedPeer(host)];
    for (const peer of peers) {
      const { taskId } = await peer.task("asks");
      const id = await peer.begin("subscriptions/listen", { notifications: { taskIds: [taskId] } }, { id: "sub" });
      assert.equal(id, "sub");
      await peer.notification("notifications/tasks");
    }
    await host.close();
    for (const peer of peers) {
      assert.equal((await peer.notification("notifications/tasks"))["status"], "failed");
      assert.ok("result" in (await peer.response("sub")));
      await peer.handle.closed;
      assert.ok(peer.closed);
    }
    assert.throws(() => new LinkedPeer(host), HostClosedError);
    assert.throws(() => host.stdio(), HostClosedError);
  });

  it("is over when its transport cannot start, and the host hears why", async () => {
    const errors: unknown[] = [];
    const host = createHost({ name: "h", version: "1", onError: (error) => errors.push(error) });
    const broken = {
      start: () => Promise.reject(new Error("no line")),
      send: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
    await host.connect(broken).closed;
    assert.deepEqual(errors.map((error) => (error as Error).message), ["no line"]);
    await host.close();
  });

  it("takes a transport and nothing else", async () => {
    const host = createHost({ name: "h", version: "1" });
    for (const wrong of [undefined, null, "stdio", {}, { start() {}, send() {} }]) {
      assert.throws(() => host.connect(wrong as never), {
        name: "TypeError",
        message: "host.connect takes a transport of the MCP SDK, for example new StdioServerTransport().",
      });
    }
    await host.close();
  });

  it("leaves nothing behind, though a thousand come and go", async () => {
    const host = createHost({ name: "h", version: "1" });
    tools(host);
    const owner = new LinkedPeer(host);
    const { taskId } = await owner.task("external");
    const round = async (count: number) => {
      const peers = Array.from({ length: count }, () => new LinkedPeer(host));
      await Promise.all(
        peers.map(async (peer, at) => {
          await peer.call("quick");
          await peer.begin("subscriptions/listen", { notifications: { taskIds: [taskId], toolsListChanged: true } });
          await peer.notification("notifications/tasks");
          if (at % 2 === 0) await peer.begin("tools/call", { name: "hangs", arguments: {} });
        }),
      );
      assert.equal(host.sizes.subscriptions, count);
      await Promise.all(peers.map((peer, at) => (at % 3 === 0 ? peer.handle.close() : peer.close())));
      await Promise.all(peers.map((peer) => peer.handle.closed));
      await until(() => host.sizes.runs === 0, "the calls to be let go");
    };
    await round(100);
    aborted.length = 0;
    const before = await usedHeap();
    await round(1_000);
    aborted.length = 0;
    const grown = (await usedHeap()) - before;
    assert.ok(grown < 1_000_000, `grown by ${grown} bytes`);
    const { subscriptions, watched, taken, waiting, live, streams } = host.sizes;
    assert.deepEqual([subscriptions, watched, taken, waiting, live, streams], [0, 0, 0, 0, 1, 0]);
    await host.close();
  });
});
