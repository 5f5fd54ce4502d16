// The difficult server itself: the SDK's client meets it on each transport, so what fails elsewhere is no fault of it.
import type { Transport } from "@modelcontextprotocol/client";
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { breaksOff, drops, endsEmpty, hangs } from "../support/difficult-behaviours.ts";
import type { DifficultOptions } from "../support/difficult-server.ts";
import { DifficultServer } from "../support/difficult-server.ts";
import { Rpc } from "../support/rpc.ts";
import { patiently, until } from "../support/until.ts";

const transports: { [name: string]: (server: DifficultServer) => Promise<Transport> } = {
  HTTP: async (server) => new StreamableHTTPClientTransport(new URL((await server.http()).url)),
  stdio: async (server) => new StdioClientTransport(await server.stdio()),
  "this process": async (server) => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await server.connect(theirs);
    return ours;
  },
};

function withServer(options: DifficultOptions, test: (server: DifficultServer) => Promise<void>): () => Promise<void> {
  return async () => {
    const server = new DifficultServer(options);
    try {
      await patiently(() => test(server));
    } finally {
      await server.close();
    }
    assert.deepEqual(server.complaints, []);
  };
}

describe("the difficult server", () => {
  for (const [name, transport] of Object.entries(transports)) {
    for (const responses of ["json", "sse"] as const) {
      it(
        `is met by the SDK's client over ${name}, with ${responses}`,
        withServer({ responses }, async (server) => {
          const client = new Client({ name: "t", version: "1" }, { versionNegotiation: { mode: "auto" } });
          await client.connect(await transport(server));
          assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), ["work", "inline"]);
          assert.deepEqual((await client.callTool({ name: "inline" })).content, [{ type: "text", text: "inline" }]);
          await client.close();
          await until(() => server.open === 0, "nothing open");
        }),
      );
    }
  }

  for (const responses of ["json", "sse"] as const) {
    it(
      `breaks connections off with ${responses}`,
      withServer({ responses }, async (server) => {
        server.make("t");
        server.on("tasks/get", drops, breaksOff, endsEmpty, hangs);
        const rpc = new Rpc((await server.http()).url);
        await assert.rejects(rpc.get("t"));
        await assert.rejects(rpc.get("t"));
        await assert.rejects(rpc.get("t"));
        const leave = new AbortController();
        const hung = rpc.get("t", { signal: leave.signal });
        await until(() => server.open === 1, "the hung request");
        leave.abort();
        await assert.rejects(hung);
        await until(() => server.open === 0, "the hung request to be left");
      }),
    );
  }

  it(
    "tells those who listen",
    withServer({}, async (server) => {
      server.make("t");
      const { events, acknowledged } = await new Rpc((await server.http()).url).listen({ taskIds: ["t"] });
      assert.deepEqual(acknowledged.notifications, { taskIds: ["t"] });
      server.complete("t");
      const told = await events.next();
      assert.equal(told?.["method"], "notifications/tasks");
      assert.equal(server.listening, 1);
      await events.leave();
      await until(() => server.listening === 0, "nobody to listen");
    }),
  );
});
