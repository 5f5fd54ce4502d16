import assert from "node:assert/strict";
import { createServer } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, it } from "node:test";
import { createTaskClient } from "../../src/mod.ts";
import { Running, run } from "../support/cli.ts";
import { textOf } from "../support/rpc.ts";

const program = fileURLToPath(new URL("../support/programs/cli-host.ts", import.meta.url));

/** Serves the tests' module, until `use` is done. */
async function serving(
  options: { args?: readonly string[]; env?: Record<string, string> },
  use: (url: string, running: Running) => Promise<void>,
): Promise<void> {
  const running = new Running(["serve", program, "--port", "0", ...(options.args ?? [])], options);
  try {
    await running.until("/mcp\n");
    const [, url = ""] = /Listening on (\S+)\n/.exec(running.stderr) ?? [];
    await use(url, running);
  } finally {
    running.signal("SIGKILL");
    await running.end();
  }
}

async function quick(url: string): Promise<string> {
  const client = createTaskClient(url);
  try {
    return textOf(await client.callTool({ name: "quick", arguments: { a: 1 } }));
  } finally {
    await client.close();
  }
}

describe("errand serve", () => {
  it("serves a host, a function that makes one, or anything with fetch", async () => {
    for (const exported of ["", "maker", "fetch"]) {
      await serving({ env: { ERRAND_TEST_EXPORT: exported } }, async (url, running) => {
        assert.equal(await quick(url), "got 1", exported);
        assert.equal(running.stdout, "a word of the module's own\n");
      });
    }
  });

  it("lets work end within its grace when it is interrupted", async () => {
    await serving({ args: ["--grace", "20s"] }, async (url, running) => {
      const client = createTaskClient(url);
      const pending = client.beginCallTool({ name: "takes_a_moment" });
      await pending.created;
      running.signal("SIGTERM");
      assert.equal(textOf(await pending.result()), "done");
      await client.close();
      assert.equal(await running.end(), 0);
      assert.match(running.stderr, /\nClosing: what runs may go on for 20s\. Interrupt again to end at once\.\n$/);
    });
  });

  it("ends at once when it is interrupted again", async () => {
    await serving({ args: ["--grace", "1h"] }, async (url, running) => {
      const client = createTaskClient(url);
      await client.beginCallTool({ name: "never_ends" }).created;
      running.signal("SIGINT");
      await running.until("Closing");
      running.signal("SIGINT");
      assert.equal(await running.end(), 130);
      await client.close();
    });
  });

  it("writes nothing but the protocol with --stdio, and ends with its client", async () => {
    const running = new Running(["serve", "--stdio", program], { input: "no JSON\n" });
    assert.equal(await running.end(), 0);
    for (const line of running.stdout.split("\n")) if (line !== "") assert.equal(JSON.parse(line).jsonrpc, "2.0");
    assert.match(running.stderr, /a word of the module's own/);
  });

  it("says what is wrong in one line", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    const port = String(typeof address === "object" ? address?.port : "");
    const busy = await run(["serve", program, "--port", port]);
    taken.close();
    assert.deepEqual([busy.code, busy.stderr], [3, `errand: Port ${port} is taken: choose another with --port.\n`]);

    const nothing = await run(["serve", program], { env: { ERRAND_TEST_EXPORT: "nothing" } });
    assert.equal(nothing.code, 2);
    assert.match(nothing.stderr, /^errand: \S+cli-host\.ts exports nothing to serve\. Write there: export default host;\n$/);
    const handler = await run(["serve", "--stdio", program], { env: { ERRAND_TEST_EXPORT: "fetch" } });
    assert.equal(handler.code, 2);
    assert.match(handler.stderr, /\nerrand: --stdio serves a host/);

    const folder = mkdtempSync(join(tmpdir(), "errand-cli-"));
    writeFileSync(join(folder, "broken.ts"), 'throw new Error("no database");\n');
    const broken = await run(["serve", join(folder, "broken.ts")]);
    rmSync(folder, { recursive: true });
    assert.equal(broken.code, 3);
    assert.match(broken.stderr, /^errand: \S+broken\.ts could not be loaded: no database\.\n$/);
  });
});
