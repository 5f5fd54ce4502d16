// Reads what a TypeScript or JavaScript module imports, without a parser to install: a small lexer that knows comments,
// strings, templates and regular expressions, and the forms an import can take.

/**
 * @typedef {object} Import
 * @property {string | undefined} specifier undefined when it is computed
 * @property {"static" | "dynamic" | "require" | "types"} kind `types` is a `/// <reference types="…" />`
 * @property {number} line from 1
 */

/**
 * @typedef {object} Use
 * @property {"Bun" | "Deno"} name the global of a runtime of which something is used
 * @property {number} line from 1
 */

/** @typedef {{ type: "word" | "string" | "template" | "other", value: string, line: number }} Token */

/** Words after which a slash begins a regular expression. */
const beforeExpression = new Set(
  "return typeof case in of do else void delete throw new await yield instanceof default".split(" "),
);

/**
 * @param {string} source
 * @returns {{ imports: Import[], uses: Use[] }}
 */
export function readModule(source) {
  const { tokens, references } = lex(source);
  return { imports: [...references, ...importsIn(tokens)].toSorted((a, b) => a.line - b.line), uses: usesIn(tokens) };
}

/** The package of a bare specifier: `@a/b/c` is of `@a/b`. @param {string} specifier */
export function packageOf(specifier) {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/**
 * @param {Token[]} tokens
 * @returns {Import[]}
 */
function importsIn(tokens) {
  /** @type {Import[]} */
  const found = [];
  tokens.forEach((token, at) => {
    if (token.type !== "word" || is(tokens[at - 1], ".") || is(tokens[at - 1], "?.")) return;
    const next = tokens[at + 1];
    if (token.value === "import") {
      if (next?.type === "string") found.push({ specifier: next.value, kind: "static", line: token.line });
      else if (is(next, "(")) found.push({ specifier: argument(tokens, at + 2), kind: "dynamic", line: token.line });
      else if (is(next, ".") && tokens[at + 2]?.value === "meta") {
        const resolves = is(tokens[at + 3], ".") && tokens[at + 4]?.value === "resolve" && is(tokens[at + 5], "(");
        if (resolves) found.push({ specifier: argument(tokens, at + 6), kind: "dynamic", line: token.line });
      } else if (next?.type === "word" || is(next, "{") || is(next, "*")) {
        const specifier = fromClause(tokens, at + 1);
        if (specifier !== undefined) found.push({ specifier, kind: "static", line: token.line });
      }
    } else if (token.value === "export") {
      const start = next?.value === "type" && next.type === "word" ? at + 2 : at + 1;
      if (is(tokens[start], "{") || is(tokens[start], "*")) {
        const specifier = fromClause(tokens, start);
        if (specifier !== undefined) found.push({ specifier, kind: "static", line: token.line });
      }
    } else if (token.value === "require" && is(next, "(") && tokens[at + 2]?.type === "string") {
      found.push({ specifier: argument(tokens, at + 2), kind: "require", line: token.line });
    }
  });
  return found;
}

/**
 * The specifier after the `from` of an import's or export's clause, which holds only names, braces, commas and a star.
 * @param {Token[]} tokens
 * @param {number} at the clause's first token
 */
function fromClause(tokens, at) {
  let depth = 0;
  for (let index = at; index < tokens.length; index++) {
    const token = tokens[index];
    if (token === undefined) return undefined;
    if (is(token, "{")) depth++;
    else if (is(token, "}")) depth--;
    else if (depth === 0 && token.type === "word" && token.value === "from") {
      const next = tokens[index + 1];
      if (next?.type === "string") return next.value;
    } else if (depth === 0 && token.type === "other" && token.value !== "*" && token.value !== ",") return undefined;
    // `export { a }` ends here unless a `from` follows.
    if (depth === 0 && is(token, "}") && tokens[index + 1]?.value !== "from") return undefined;
  }
  return undefined;
}

/**
 * A call's first argument, if it is a plain string and nothing is added to it.
 * @param {Token[]} tokens
 * @param {number} at
 */
function argument(tokens, at) {
  const token = tokens[at];
  const after = tokens[at + 1];
  const plain = token?.type === "string" && (is(after, ")") || is(after, ","));
  return plain ? token.value : undefined;
}

/**
 * @param {Token[]} tokens
 * @returns {Use[]}
 */
function usesIn(tokens) {
  /** @type {Use[]} */
  const found = [];
  tokens.forEach((token, at) => {
    if (token.type !== "word" || (token.value !== "Bun" && token.value !== "Deno")) return;
    const ofAnother = is(tokens[at - 1], ".") || is(tokens[at - 1], "?.");
    if (ofAnother && tokens[at - 2]?.value !== "globalThis") return;
    const next = tokens[at + 1];
    if (is(next, ".") || is(next, "?.") || is(next, "[") || is(next, "!"))
      found.push({ name: token.value, line: token.line });
  });
  return found;
}

/**
 * @param {Token | undefined} token
 * @param {string} value
 */
function is(token, value) {
  return token?.type === "other" && token.value === value;
}

/**
 * @param {string} source
 * @returns {{ tokens: Token[], references: Import[] }}
 */
function lex(source) {
  /** @type {Token[]} */
  const tokens = [];
  /** @type {Import[]} */
  const references = [];
  /** For every template that is open at an inner expression: how many braces that has open. @type {number[]} */
  const templates = [];
  let at = 0;
  let line = 1;

  /** @param {number} end */
  const moveTo = (end) => {
    for (; at < end; at++) if (source[at] === "\n") line++;
  };
  /**
   * @param {Token["type"]} type
   * @param {string} value
   * @param {number} end
   */
  const push = (type, value, end) => {
    tokens.push({ type, value, line });
    moveTo(end);
  };
  /** Reads a template from `from` to its end or to its next inner expression. @param {number} from */
  const template = (from) => {
    let end = from;
    while (end < source.length && source[end] !== "`" && !source.startsWith("${", end))
      end += source[end] === "\\" ? 2 : 1;
    const whole = source[at] === "`" && source[end] === "`";
    if (source[end] === "$") templates.push(0);
    // A template without an inner expression is a string like any other.
    push(whole ? "string" : "template", source.slice(from, end), end + (source[end] === "`" ? 1 : 2));
  };

  while (at < source.length) {
    const character = source.charAt(at);
    if (/\s/.test(character)) moveTo(at + 1);
    else if (source.startsWith("//", at) || (at === 0 && source.startsWith("#!"))) {
      const newline = source.indexOf("\n", at);
      const end = newline === -1 ? source.length : newline;
      const types = /^\/\/\/\s*<reference\s+types\s*=\s*["']([^"']+)["']/.exec(source.slice(at, end))?.[1];
      if (types !== undefined) references.push({ specifier: types, kind: "types", line });
      moveTo(end);
    } else if (source.startsWith("/*", at)) {
      const end = source.indexOf("*/", at + 2);
      moveTo(end === -1 ? source.length : end + 2);
    } else if (character === '"' || character === "'") {
      let end = at + 1;
      while (end < source.length && source[end] !== character && source[end] !== "\n")
        end += source[end] === "\\" ? 2 : 1;
      push("string", source.slice(at + 1, end), end + 1);
    } else if (character === "`") template(at + 1);
    else if (/[\p{ID_Start}$_#]/u.test(character)) {
      const [word = character] = /^[#\p{ID_Continue}$\u200c\u200d]+/u.exec(source.slice(at, at + 256)) ?? [];
      push("word", word, at + word.length);
    } else if (/\d/.test(character)) {
      const [number = character] = /^[\da-zA-Z_.]+/.exec(source.slice(at, at + 256)) ?? [];
      push("other", "0", at + number.length);
    } else if (character === "/" && beginsExpression(tokens.at(-1)))
      push("other", "/re/", regularExpressionEnd(source, at));
    else if (character === "}" && templates.at(-1) === 0) {
      templates.pop();
      template(at + 1);
    } else {
      const depth = templates.length - 1;
      if (depth >= 0 && character === "{") templates[depth] = (templates[depth] ?? 0) + 1;
      if (depth >= 0 && character === "}") templates[depth] = (templates[depth] ?? 0) - 1;
      const optional = source.startsWith("?.", at) && !/\d/.test(source.charAt(at + 2));
      push("other", optional ? "?." : character, at + (optional ? 2 : 1));
    }
  }
  return { tokens, references };
}

/** Whether an expression can begin after this token: a slash is no division then. @param {Token | undefined} token */
function beginsExpression(token) {
  if (token === undefined) return true;
  if (token.type === "word") return beforeExpression.has(token.value);
  return token.type === "other" && ![")", "]", "0", "/re/"].includes(token.value);
}

/**
 * @param {string} source
 * @param {number} at where its first slash is
 */
function regularExpressionEnd(source, at) {
  let end = at + 1;
  let inClass = false;
  for (; end < source.length && source[end] !== "\n"; end++) {
    const character = source[end];
    if (character === "\\") end++;
    else if (character === "[") inClass = true;
    else if (character === "]") inClass = false;
    else if (character === "/" && !inClass) return end + 1;
  }
  return end;
}
