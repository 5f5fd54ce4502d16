import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { blocks, callingProgram, quickstart } from "../../scripts/lib/readme.mjs";

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

  it("are found by their kind, in order", () => {
    const some = `${markdown}<!-- example:b-1 -->\n\`\`\`ts\n1;\n\`\`\`\n<!-- example:a -->\n\`\`\`ts\n2;\n\`\`\`\n`;
    assert.deepEqual([...blocks(some, "example")], [["b-1", "1;\n"], ["a", "2;\n"]]);
  });
});

describe("README's pieces on calling tools", () => {
  const piece = (name: string, code: string) => `<!-- example:${name} -->\n\`\`\`ts\n${code}\n\`\`\`\n`;
  const calling = piece("one", 'import { a } from "a";\nconst client = make(a);') + piece("two", "console.log(1); // 1");
  const { source, expected } = callingProgram(`${piece("zero", "0;")}## Calling tools\n${calling}## Next\n${piece("three", "3;")}`);

  it("are one program, with their imports first and each in a block of its own", () => {
    assert.match(source, /^import \{ a \} from "a";\n/);
    assert.match(source, /^\{\nconst client = make\(a\);\n[^}]*client\.callAndWait/m);
    assert.match(source, /^\{\nconsole\.log\(1\); \/\/ 1\n+\}/m);
    assert.doesNotMatch(source, /[03];$/m);
  });

  it("say what they print", () => {
    assert.deepEqual(expected, ["1"]);
  });
});
