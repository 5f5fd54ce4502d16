import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { VERSION } from "../../src/task/version.ts";

it("The version is that of the package", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  assert.equal(VERSION, manifest.version);
});
