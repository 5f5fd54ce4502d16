// Servers of the revisions before 2026-07-28 know their clients by sessions, and may forget them.
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createTaskClient } from "../../src/client/mod.ts";

it("A client whose session was forgotten begins another, and calls again", async () => {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const id = request.headers["mcp-session-id"];
    if (typeof id === "string" && !sessions.has(id)) return response.writeHead(404).end();
    let transport = typeof id === "string" ? sessions.get(id) : undefined;
    if (transport === undefined) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (session) => void sessions.set(session, made),
      });
      const server = new McpServer({ name: "old", version: "1.0.0" });
      server.registerTool("greet", {}, () => ({ content: [{ type: "text", text: "hello" }] }));
      await server.connect(made);
      transport = made;
    }
    return transport.handleRequest(request, response);
  };
  const http = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await new Promise((resolve) => http.once("listening", resolve));
  const client = createTaskClient(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  const greet = async () => (await client.callTool({ name: "greet" })).content[0]?.["text"];
  try {
    assert.equal(await greet(), "hello");
    sessions.clear();
    assert.equal(await greet(), "hello");
    assert.equal(sessions.size, 1);
    assert.equal(await client.serverSupports(), false);
  } finally {
    await client.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  }
});
