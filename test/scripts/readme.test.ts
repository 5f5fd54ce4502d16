import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { quickstart } from "../../scripts/lib/readme.mjs";

describe("README's code blocks", () => {
  const markdown =
    "# A\n\n<!-- quickstart:server -->\n```ts\nconst a = 1;\n\nawait a;\n```\n\n" +
    "<!-- quickstart:output -->\n\n````text\n```\n````\n\n<!-- quickstart:client -->\nNo block.\n";

  it("are found by the comment right before them", () => {
    assert.equal(quickstart(markdown, "server"), "const a = 1;\n\nawait a;\n");
    assert.equal(quickstart(markdown, "output"), "```\n");
  });

  it("are not found where the comment or the block is missing", () => {
    assert.equal(quickstart(markdown, "client"), undefined);
    assert.equal(quickstart(markdown, "elsewhere"), undefined);
  });
});
