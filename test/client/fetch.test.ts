import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";
import { withoutSilenceLimit } from "../../src/client/fetch.node.ts";

// The limit is five minutes, which no test waits for: what is looked at is that another connects than Node's own.
it("A call may be silent for longer than Node's fetch allows, and is answered as ever", async () => {
  const server = createServer((_request, response) => response.end("answered")).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let given: object | undefined;
  const fetch = withoutSilenceLimit((input, init) => {
    given = init;
    return globalThis.fetch(input, init);
  });
  const response = await fetch(url, { headers: {} });
  assert.equal(await response.text(), "answered");
  const isNode = !("Bun" in globalThis) && !("Deno" in globalThis);
  assert.equal(given !== undefined && "dispatcher" in given, isNode);
  if (isNode) {
    const own: unknown = Reflect.get(given ?? {}, "dispatcher");
    assert.notEqual(own, Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1")));
  }
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
