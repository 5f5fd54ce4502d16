import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { connected, serving } from "../support/examples.ts";

const report = (pages: number) => ({ name: "report", arguments: { pages } });

describe("the server that was there before", () => {
  const url = serving("existing-server.ts");

  it("is changed in three lines", () => {
    const source = readFileSync(new URL("../../examples/existing-server.ts", import.meta.url), "utf8");
    const lines = source.split("\n");
    const marked = lines.filter((line) => /\/\/ (added|changed)$/.test(line));
    assert.equal(marked.length, 3);
    const others = lines.filter((line) => !marked.includes(line) && !line.startsWith("//"));
    assert.deepEqual(others.filter((line) => /\btasks\b|createTasks/.test(line)), []);
  });

  it("reports as a task when that takes long, its progress included", () =>
    connected(url(), async (client) => {
      const told: unknown[] = [];
      const { content } = await client.callTool(report(20), {
        onTaskStatus: ({ statusMessage }) => void told.push(statusMessage),
      });
      assert.deepEqual(content, [{ type: "text", text: "A report of 20 pages" }]);
      assert.ok(told.includes("writing (20/20)"), told.join("\n"));
    }));

  it("answers a client without tasks as before", async () => {
    const client = new Client({ name: "plain", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url())));
    try {
      const { content } = await client.callTool(report(10));
      assert.deepEqual(content, [{ type: "text", text: "A report of 10 pages" }]);
    } finally {
      await client.close();
    }
  });
});
