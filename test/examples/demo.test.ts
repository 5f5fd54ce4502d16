import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { run } from "../../scripts/lib/command.mjs";
import { command, environment } from "../support/examples.ts";

describe("the demo", () => {
  it("surveys a folder as a task, answers a quick call inline, and cancels one, all by itself", async () => {
    const folder = mkdtempSync(join(tmpdir(), "errand-demo-"));
    const files = { "a.txt": "one", "b/c.txt": "two", ".hidden/d.txt": "three" };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const { ok, output } = await run(command("demo.ts", [folder]), { env: environment(), minutes: 1 });
    rmSync(folder, { recursive: true });

    assert.ok(ok, output);
    assert.match(output, /^ {3}task \S{8}… after/m);
    assert.match(output, /^ {3}\? Half of it is read\. Read the hidden folder too\? yes \(nobody to ask/m);
    assert.match(output, /^ {3}✓ 3 files in 3 folders, 11 bytes/m);
    const lines = Object.entries(files).map(([name, text]) => `${sha256(text)}  ${name}\n`);
    assert.ok(output.includes(`sha256 ${sha256(lines.toSorted().join(""))}\n`), output);
    assert.match(output, /no task: one request, one response/);
    assert.match(output, /^ {3}✓ cancelled/m);
  });

  it("says what it takes when it is given no folder", async () => {
    const { code, output } = await run(command("demo.ts", ["no-such-folder"]), { env: environment(), minutes: 1 });
    assert.equal(code, 2);
    assert.match(output, /Usage: npm run demo \[folder\]/);
  });
});

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
