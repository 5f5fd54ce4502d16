// The code that README shows, so that it can be run as a reader would.

/**
 * The code block after an HTML comment `<!-- quickstart:NAME -->`.
 * @param {string} markdown
 * @param {string} name
 * @returns {string | undefined} undefined when there is no such comment with a block right after it
 */
export function quickstart(markdown, name) {
  return blocks(markdown, "quickstart").get(name);
}

/**
 * The code blocks after HTML comments `<!-- KIND:NAME -->`, by name.
 * @param {string} markdown
 * @param {string} kind
 * @returns {Map<string, string>}
 */
export function blocks(markdown, kind) {
  const block = new RegExp(
    `<!--\\s*${kind}:([\\w-]+)\\s*-->\\s*\\n(\`{3,})[^\\n]*\\n([\\s\\S]*?)\\n\\2[ \\t]*(?:\\n|$)`,
    "g",
  );
  return new Map([...markdown.matchAll(block)].map(([, name = "", , code = ""]) => [name, `${code}\n`]));
}

/** What README's pieces on calling tools take for granted, but for what they import: the quickstart's server, and who answers. */
const CALLING = `
import type { JsonObject } from "errand";
import { createHost, createRegistry, heedRetryAfter } from "errand";

const url = "http://127.0.0.1:3000/mcp";
const order = { name: "export", arguments: { year: 2026 } };
const client = createTaskClient(url, {
  input: { form: () => ({ action: "accept", content: { to: "ann@example.com" } }) },
});
const askPerson = async (..._question: unknown[]): Promise<JsonObject | undefined> => ({ to: "cleo@example.com" });
const openPage = async (_url: unknown) => true;
const model = {
  createMessage: async (..._request: unknown[]) => ({
    role: "assistant" as const,
    model: "none",
    content: { type: "text", text: "Yes" },
  }),
};
`;

/** A piece that makes a client of its own is followed by a call. */
const CALL = `const last = await client.callAndWait(order);
console.log("then", last.status, last.status === "completed" ? last.result.content[0]?.text : "");
await client.close();
`;

/**
 * README's pieces on calling tools as one program, which is a client of the quickstart's server.
 * @param {string} markdown
 * @returns {{ source: string, expected: string[] }} what it has to print, in this order, is what the comments beside
 *   \`console.log\` say
 */
export function callingProgram(markdown) {
  const [, section = ""] = markdown.split(/^## Calling tools$/m);
  const [calling = ""] = section.split(/^## /m);
  const pieces = [...blocks(calling, "example").values()];
  const [imports, others] = [/^import /, /^(?!import )/].map((kind) =>
    pieces.map((piece) => piece.split("\n").filter((line) => kind.test(line)).join("\n")),
  );
  const bodies = others?.map((piece) => `{\n${piece}\n${/^const client\b/m.test(piece) ? CALL : ""}}\n`);
  return {
    source: [...(imports ?? []), CALLING, ...(bodies ?? []), "await client.close();\n"].join("\n"),
    expected: [...calling.matchAll(/console\.log\(.*\);? \/\/ (.+)$/gm)].map(([, printed = ""]) => printed),
  };
}
