// Faults that other implementations had about connections, proxies and idle hosts, turned round.
import assert from "node:assert/strict";
import type { IncomingMessage, Server } from "node:http";
import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Host, JsonObject, Served } from "../../src/mod.ts";
import { createHost, createTasks, serve } from "../../src/mod.ts";
import { withChild } from "../support/child.ts";
import { turn } from "../support/clock.ts";
import { usedHeap } from "../support/heap.ts";
import { withHost } from "../support/hosting.ts";
import { REVISION, Rpc, accept, envelope, onlyKey, textOf } from "../support/rpc.ts";
import type { Gate } from "../support/until.ts";
import { gate, patiently, until } from "../support/until.ts";

const Name = z.object({ name: z.string() });

/** What a connection has for itself, and no proxy passes on. */
const HOP_BY_HOP: ReadonlySet<string> = new Set(["connection", "keep-alive", "host", "transfer-encoding"]);

function passedOn({ headers }: IncomingMessage): { [name: string]: string } {
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

interface Proxy {
  readonly url: string;
  /** The routing headers of each request, as it saw them. */
  readonly routed: string[];
  close(): Promise<void>;
}

/**
 * A proxy that forwards requests and responses as they come, `Mcp-*` headers and all. In pieces, it sends the bodies on
 * without their length, a few bytes at a time.
 */
async function startProxy(upstream: string, { inPieces }: { inPieces: boolean }): Promise<Proxy> {
  const routed: string[] = [];
  const server: Server = createServer((asked, answer) => {
    const headers = passedOn(asked);
    routed.push([headers["mcp-method"], headers["mcp-name"]].filter((part) => part !== undefined).join(" "));
    if (inPieces) delete headers["content-length"];
    const { method = "POST" } = asked;
    const forwarded = sendRequest(upstream, { method, headers, agent: false }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, passedOn(answered));
      answer.flushHeaders();
      answered.on("data", (chunk: Uint8Array) => answer.write(chunk));
      answered.on("end", () => answer.end());
    });
    // Whoever leaves the proxy leaves the server behind it, too.
    answer.on("close", () => forwarded.destroy());
    forwarded.on("error", () => answer.destroy());
    asked.on("data", (chunk: Uint8Array) => {
      const size = inPieces ? 50 : chunk.length;
      for (let at = 0; at < chunk.length; at += size) forwarded.write(chunk.slice(at, at + size));
    });
    asked.on("end", () => forwarded.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    routed,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

describe("a proxy in between", () => {
  const tools = (host: Host) => {
    host.tool("asks", { task: "required" }, async (_input, task) => (await task.elicit("Who?", Name)).name);
    host.tool("ignores", { task: "required" }, () => new Promise<void>(() => {}));
  };
  for (const [how, inPieces] of [["as they come", false], ["in pieces without a length", true]] as const) {
    it(
      `passes create, get, update, cancel and listen, bodies ${how} (fastmcp#2574)`,
      withHost({ tools }, async ({ served, host }) => {
        const proxy = await startProxy(served.url, { inPieces });
        try {
          const rpc = new Rpc(proxy.url);
          const { taskId } = await rpc.task("asks");
          const { events } = await rpc.listen({ taskIds: [taskId] });
          await until(() => host.sizes.taken === 0, "the question");
          await rpc.update(taskId, { [onlyKey(await rpc.questions(taskId))]: accept({ name: "Ada" }) });
          await until(() => host.sizes.live === 0, "the task to end");
          assert.equal(textOf(((await rpc.get(taskId)) as { result?: unknown }).result), "Ada");
          const told = (await events.rest()).map(({ params }) => (params as JsonObject | undefined)?.["status"]);
          assert.deepEqual(told.slice(-2), ["completed", undefined], `told ${told.join()}`);

          const ignored = await rpc.task("ignores");
          const left = await rpc.listen({ taskIds: [ignored.taskId] });
          await left.events.leave();
          await until(() => host.sizes.subscriptions === 0, "the host to see that the reader has gone");
          await rpc.cancel(ignored.taskId);
          assert.equal((await rpc.get(ignored.taskId)).status, "cancelled");
          assert.equal((await rpc.error("tasks/get", { taskId: "unknown" })).code, -32602);
          assert.deepEqual(new Set(proxy.routed), new Set([
            "tools/call asks",
            "tools/call ignores",
            `tasks/get ${taskId}`,
            `tasks/update ${taskId}`,
            `tasks/cancel ${ignored.taskId}`,
            `tasks/get ${ignored.taskId}`,
            "tasks/get unknown",
            "subscriptions/listen",
          ]));
        } finally {
          await proxy.close();
        }
      }),
    );
  }
});

/** Posts a tool call over a connection of its own, which is cut off once the task's id has come, and gives that. */
function callAndCutOff(port: number, name: string): Promise<string> {
  const params = { name, arguments: {}, _meta: envelope() };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const head = [
    "POST /mcp HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    `content-length: ${body.length}`,
    `mcp-protocol-version: ${REVISION}`,
    "mcp-method: tools/call",
    `mcp-name: ${name}`,
  ];
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`${head.join("\r\n")}\r\n\r\n${body}`));
    let received = "";
    let taskId: string | undefined;
    socket.setEncoding("utf8").on("data", (text: string) => {
      received += text;
      taskId = /"taskId":"([\w-]+)"/.exec(received)?.[1];
      if (taskId !== undefined) socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => {
      if (taskId === undefined) reject(new Error(`No task came: ${received}`));
      else resolve(taskId);
    });
  });
}

/** A server whose `goes_on` works until `go` opens, and the signals of those that do. */
interface Outliving {
  readonly target: Parameters<typeof serve>[0];
  readonly signals: AbortSignal[];
  readonly go: Gate;
}

function ownHost(): Outliving {
  const signals: AbortSignal[] = [];
  const go = gate();
  const host = createHost({ name: "own", version: "1.0.0" });
  host.tool("goes_on", { task: "required" }, async (_input, task) => {
    signals.push(task.signal);
    await go.opened;
    return "went on";
  });
  return { target: host, signals, go };
}

function adoptedServer(): Outliving {
  const signals: AbortSignal[] = [];
  const go = gate();
  const tasks = createTasks();
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "adopted", version: "1.0.0" });
    server.registerTool("goes_on", {}, async (ctx) => {
      signals.push(ctx.mcpReq.signal);
      await go.opened;
      return { content: [{ type: "text" as const, text: "went on" }] };
    });
    return tasks.adopt(server, { goes_on: "required" });
  });
  return { target: tasks.wrap(handler), signals, go };
}

describe("work outlives the connection that began it", () => {
  for (const [whose, make] of [["a host's own", ownHost], ["an adopted SDK server's", adoptedServer]] as const) {
    it(`though that is cut off: ${whose} (mcp-go#897, mcp-go#900)`, async () => {
      const { target, signals, go } = make();
      const served: Served = await serve(target, { port: 0 });
      try {
        await patiently(async () => {
          const taskId = await callAndCutOff(served.port, "goes_on");
          const rpc = new Rpc(served.url);
          // The server has every chance to see that the client has gone: other requests come and go.
          for (let asked = 0; asked < 5; asked += 1) {
            assert.equal((await rpc.get(taskId)).status, "working");
            await turn(5);
          }
          assert.deepEqual(signals.map(({ aborted }) => aborted), [false]);
          go.open();
          let task = await rpc.get(taskId);
          for (; task.status === "working"; task = await rpc.get(taskId)) await turn();
          assert.equal(textOf((task as { result?: unknown }).result), "went on");
        });
      } finally {
        await served.close();
      }
    });
  }
});

describe("what serves a request", () => {
  it("is let go of when the request is over, though its task lives on (fastmcp#4456, fastmcp#4519)", async () => {
    const servers: WeakRef<McpServer>[] = [];
    await withHost(
      {
        tools: (host) => {
          host.tool("ignores", { task: "required" }, () => new Promise<void>(() => {}));
          host.tool("elsewhere", { task: "required" }, (_input, task) => task.external());
          host.tool("asks", { task: "required" }, async (_input, task) => (await task.elicit("Who?", Name)).name);
        },
        options: { setup: (server) => void servers.push(new WeakRef(server)) },
      },
      async ({ direct, host }) => {
        const names = ["ignores", "elsewhere", "asks"];
        // Whoever asks for progress is told of it by the server that took the request.
        const asking = { meta: { progressToken: "p" } };
        for (let made = 0; made < 150; made += 1) await direct.task(names[made % names.length] ?? "", {}, asking);
        assert.equal(host.sizes.live, 150);
        assert.equal(servers.length, 150);
        // What the stack or a turn of the event loop happens to hold may go with a later collection, or the last few stay.
        let kept = servers.length;
        for (let tries = 0; tries < 5 && kept > 0; tries += 1) {
          await turn(5);
          await usedHeap();
          kept = servers.filter((server) => server.deref() !== undefined).length;
        }
        assert.ok(kept < 15, `${kept} of 150 servers are held`);
      },
    )();
  });
});

describe("an idle host", () => {
  it(
    "says nothing while its tasks wait, on stdout or stderr, and ends with its input (fastmcp#4435)",
    withChild("stdio-host", async (child) => {
      const taskIds: string[] = [];
      for (const tool of ["external", "asks", "hangs", "sleeps"]) taskIds.push((await child.task(tool)).taskId);
      child.begin("subscriptions/listen", { notifications: { taskIds } });
      await child.notification("notifications/subscriptions/acknowledged");
      for (const taskId of taskIds) await child.notification("notifications/tasks", (task) => task["taskId"] === taskId);
      // To be idle takes time, which is the host's own to measure.
      assert.equal(textOf(await child.call("naps", { ms: 300 })), "rested");
      assert.deepEqual([child.unread, child.garbage, child.stderr], [[], [], ""]);
      assert.equal(await child.end(), 0);
      assert.equal(child.stderr, "");
    }),
  );
});
