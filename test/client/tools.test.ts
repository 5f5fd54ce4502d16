// What the client does beside calling: connecting, and the server's list of tools.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { RequestFailedError, createTaskClient } from "../../src/client/mod.ts";
import { fails, hangs } from "../support/difficult-behaviours.ts";
import { DifficultServer } from "../support/difficult-server.ts";
import { patiently } from "../support/until.ts";

function withClient(test: (client: ReturnType<typeof createTaskClient>, server: DifficultServer) => Promise<void>) {
  return async () => {
    const server = new DifficultServer();
    const client = createTaskClient(server);
    try {
      await patiently(() => test(client, server));
    } finally {
      await client.close();
      await server.close();
    }
  };
}

describe("connect", () => {
  it("says why a server cannot be reached", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as AddressInfo;
    await new Promise((resolve) => taken.close(resolve));
    const client = createTaskClient(`http://127.0.0.1:${port}/mcp`);
    await assert.rejects(client.connect(), (error) => {
      assert.ok(error instanceof RequestFailedError);
      assert.match(error.message, /refused|unable to connect/i);
      return true;
    });
    await client.close();
  });
});

describe("listTools", () => {
  it(
    "gives the server's tools",
    withClient(async (client) => {
      assert.deepEqual((await client.listTools()).map(({ name }) => name), ["work", "inline"]);
    }),
  );

  it(
    "rejects with the server's error, in the client's own words",
    withClient(async (client, server) => {
      server.on("tools/list", fails(-32603, "No list today", { why: "holiday" }));
      await assert.rejects(client.listTools(), (error) => {
        assert.ok(error instanceof RequestFailedError);
        const { code, rpcCode, message, data } = error;
        assert.deepEqual([code, rpcCode, message, data], ["REQUEST_FAILED", -32603, "No list today", { why: "holiday" }]);
        return true;
      });
    }),
  );

  it(
    "takes no longer than its limit",
    withClient(async (client, server) => {
      await client.connect();
      server.on("tools/list", hangs);
      await assert.rejects(client.listTools({ timeoutMs: 20 }), /tools\/list took longer than 20 ms/);
    }),
  );
});
