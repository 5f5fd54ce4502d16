// `export default host`: Bun and Deno serve it by themselves. Node has no such thing, and there `serve` does it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { program, runningOn } from "../../scripts/lib/runtimes.mjs";
import host from "../support/programs/default-host.ts";
import { Rpc, textOf } from "../support/rpc.ts";
import { patiently } from "../support/until.ts";

const file = fileURLToPath(new URL("../support/programs/default-host.ts", import.meta.url));

const commands = {
  bun: [file],
  deno: ["serve", "--allow-all", "--no-check", "--port", "0", file],
  node: undefined,
} as const;

describe("a host as a default export", () => {
  it("is what a fetch server needs", async () => {
    assert.equal(typeof host.fetch, "function");
    const { fetch } = host;
    assert.equal(textOf(await new Rpc({ fetch }).call("quick")), "done");
  });

  const args = commands[runningOn()];
  if (args !== undefined) {
    it("is served as it is", async () => {
      const env = { ...process.env, PORT: "0", BUN_PORT: "0" };
      const server = spawn(program(runningOn()), args, { env });
      const closed = once(server, "close");
      try {
        const url = await patiently(async () => {
          let output = "";
          for await (const chunk of mixed(server.stdout, server.stderr)) {
            output += chunk;
            const port = /https?:\/\/\S*?:(\d+)/.exec(output)?.[1];
            if (port !== undefined) return `http://127.0.0.1:${port}/mcp`;
          }
          throw new Error(`It ended: ${output}`);
        });
        const rpc = new Rpc(url);
        assert.equal(textOf(await rpc.call("quick")), "done");
        const { taskId } = await rpc.task("external");
        const { events } = await rpc.listen({ taskIds: [taskId] });
        await events.next();
        await rpc.cancel(taskId);
        assert.equal((await events.rest()).length, 2);
      } finally {
        server.kill("SIGKILL");
        await closed;
      }
    });
  }
});

/** The text of two streams as it comes. */
async function* mixed(...streams: NodeJS.ReadableStream[]): AsyncGenerator<string> {
  const chunks: string[] = [];
  let wake = () => {};
  for (const stream of streams) {
    stream.on("data", (chunk: Buffer) => {
      chunks.push(chunk.toString());
      wake();
    });
  }
  for (;;) {
    const chunk = chunks.shift();
    if (chunk !== undefined) yield chunk;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
}
