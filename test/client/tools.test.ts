// What the client does beside calling: the server's list of tools.
import assert from "node:assert/strict";
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
