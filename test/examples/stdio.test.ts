import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { run } from "../../scripts/lib/command.mjs";
import { createTaskClient } from "../../src/mod.ts";
import { errand } from "../support/cli.ts";
import { command, environment } from "../support/examples.ts";

describe("the server on stdio", () => {
  it("counts duplicates, and ends when its client goes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "errand-duplicates-"));
    for (const [name, text] of Object.entries({ a: "same", b: "same", c: "other", d: "same" })) {
      writeFileSync(join(folder, name), text);
    }
    const [program, ...args] = command("stdio.ts");
    const client = createTaskClient({ command: program, args });
    try {
      const { content } = await client.callTool({ name: "duplicates", arguments: { folder } });
      assert.deepEqual(content, [{ type: "text", text: "2 of 4 files are duplicates" }]);
    } finally {
      await client.close();
      rmSync(folder, { recursive: true });
    }
  });

  it("is called from the command line", async () => {
    const folder = mkdtempSync(join(tmpdir(), "errand-duplicates-"));
    writeFileSync(join(folder, "a"), "alone");
    const call = errand(["call", "duplicates", JSON.stringify({ folder }), "--", ...command("stdio.ts")]);
    const { ok, output } = await run(call, { env: environment(), minutes: 1 });
    rmSync(folder, { recursive: true });
    assert.match(output, /0 of 1 files are duplicates/);
    assert.ok(ok);
  });
});
