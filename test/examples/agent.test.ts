import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { run } from "../../scripts/lib/command.mjs";
import { command, environment } from "../support/examples.ts";

const files: Record<string, string> = {
  "a/index.js": "one\ntwo\n",
  "a/package.json": '{ "license": "MIT" }\n',
  "b/index.ts": "three\n",
  "b/package.json": '{ "license": "MIT" }',
  "c/package.json": '{ "license": "ISC" }',
};

describe("the agent", () => {
  it("runs three tools side by side, shows all of them, answers, and goes on after a restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "errand-agent-"));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const { ok, output } = await run(command("agent.ts", [folder]), { env: environment(), minutes: 1 });
    rmSync(folder, { recursive: true });

    assert.ok(ok, output);
    assert.match(output, /^ {3}restarted with 3 references$/m);
    assert.match(output, /^ {3}it asks: 2 licences are named\. List all\? No\.$/m);
    for (const tool of ["count_lines", "fingerprint", "licences"]) {
      assert.match(output, new RegExp(`^ {3}${tool} +completed$`, "m"));
    }
    const hashes = Object.values(files).map(sha256).toSorted().join("");
    const found = ["5 lines of code", `SHA-256 ${sha256(hashes).slice(0, 16)}… of 5 files`, "2 × MIT, 1 × ISC"];
    assert.ok(output.includes(` has ${found.join("; ")}.\n`), output);
  });
});

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
