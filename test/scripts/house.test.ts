// The import rules are themselves tested: trees that break them are refused, each for its own rule.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { checkHouse } from "../../scripts/lib/house.mjs";
import { runFile, runningOn } from "../../scripts/lib/runtimes.mjs";
import { readModule } from "../../scripts/lib/specifiers.mjs";

const trees: string[] = [];

after(() => {
  for (const tree of trees) rmSync(tree, { recursive: true, force: true });
});

/** A project on disk with these files. */
function tree(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "errand-house-"));
  trees.push(folder);
  const manifest = {
    name: "errand",
    dependencies: { hono: "4", xstate: "5", zod: "4", "@modelcontextprotocol/server": "2" },
    devDependencies: { "fast-check": "4" },
    exports: { ".": { bun: "./src/mod.ts" }, "./server": { bun: "./src/server/mod.ts" } },
  };
  for (const [path, text] of Object.entries({ "package.json": JSON.stringify(manifest), ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** What a module at `file` with this text breaks, as `line: rule`. */
function broken(file: string, text: string): string[] {
  return checkHouse(tree({ [file]: text })).violations.map(({ line, rule }) => `${line}: ${rule}`);
}

describe("the house's import rules", () => {
  it("let a tree pass that keeps them", () => {
    const { files, violations } = checkHouse(
      tree({
        "src/task/ids.ts": 'import { randomBytes } from "node:crypto";\nexport const id = () => randomBytes(16);\n',
        "machines/task.ts": 'import { setup } from "xstate";\nimport type { Id } from "../src/task/ids.ts";\n',
        "src/store/store.ts": 'import type { Id } from "../task/ids.ts";\n',
        "src/store/sqlite.ts": 'import { DatabaseSync } from "node:sqlite";\n',
        "src/wire/2026-07-28.ts": 'import * as z from "zod";\nimport { id } from "../task/ids.ts";\n',
        "src/registry/registry.ts":
          'import { createActor } from "xstate";\nimport { task } from "../../machines/task.ts";\n',
        "src/run/run.ts": 'import { registry } from "../registry/registry.ts";\n',
        "src/server/mod.ts":
          'import { McpServer } from "@modelcontextprotocol/server";\nimport "../wire/2026-07-28.ts";\n',
        "src/server/serve.bun.ts": "export const serve = () => Bun.serve({});\n",
        "src/server/serve.deno.ts": "export const serve = () => globalThis.Deno.serve(() => new Response());\n",
        "src/relay/mod.ts": 'import { host } from "../server/mod.ts";\n',
        "src/cli/serve.ts": "export const load = (file: string) => import(file);\n",
        "src/mod.ts": 'export { host } from "./server/mod.ts";\n',
        "examples/demo.ts": 'import { host } from "../src/server/mod.ts";\nimport { note } from "./note.ts";\n',
      }),
    );
    assert.deepEqual(violations, []);
    assert.equal(files, 14);
  });

  const refused: [name: string, file: string, text: string, rule: RegExp][] = [
    ["task importing ours", "src/task/a.ts", 'import "../store/store.ts";', /src\/task imports only itself$/],
    [
      "machines importing the registry",
      "machines/a.ts",
      'export * from "../src/registry/a.ts";',
      /machines imports only itself and src\/task$/,
    ],
    ["machines doing input and output", "machines/a.ts", 'import fs from "node:fs";', /machines is pure/],
    [
      "wire importing the registry",
      "src/wire/a.ts",
      'import type { A } from "../registry/a.ts";',
      /src\/wire imports only/,
    ],
    ["wire using HTTP", "src/wire/a.ts", 'import { Hono } from "hono";', /src\/wire is pure/],
    ["registry importing run", "src/registry/a.ts", 'import { a } from "../run/a.ts";', /src\/registry imports only/],
    [
      "run importing the server",
      "src/run/a.ts",
      'const a = await import("../server/mod.ts");',
      /src\/run imports only/,
    ],
    [
      "the server importing the client",
      "src/server/a.ts",
      'import { a } from "../client/mod.ts";',
      /src\/server imports only/,
    ],
    [
      "the client importing the server",
      "src/client/a.ts",
      'import { a } from "../server/mod.ts";',
      /src\/client imports only/,
    ],
    [
      "the relay importing the server's inside",
      "src/relay/a.ts",
      'import { a } from "../server/http.ts";',
      /public face/,
    ],
    ["a room importing the public names", "src/run/a.ts", 'import { a } from "../mod.ts";', /src\/run imports only/],
    ["XState in run", "src/run/a.ts", 'import type { AnyActorLogic } from "xstate";', /XState is named only in/],
    [
      "XState in the server, in a type",
      "src/server/a.ts",
      'export type A = import("xstate/actors").A;',
      /XState is named only in/,
    ],
    [
      "the MCP SDK in the registry",
      "src/registry/a.ts",
      'export { A } from "@modelcontextprotocol/server";',
      /the MCP SDK is named only in/,
    ],
    ["Bun's API in a common file", "src/server/a.ts", "Bun.serve({});", /a runtime's own API/],
    ["Deno's API in Bun's file", "src/server/a.bun.ts", "globalThis.Deno?.serve();", /a runtime's own API/],
    [
      "Bun's module in a common file",
      "src/store/a.ts",
      'import { Database } from "bun:sqlite";',
      /a runtime's own module/,
    ],
    ["node:sqlite in a common file", "src/store/a.ts", 'import "node:sqlite";', /a runtime's own module/],
    ["a development dependency", "src/run/a.ts", 'import fc from "fast-check";', /dependencies or peers/],
    ["a test", "src/run/a.ts", 'import { a } from "../../test/a.ts";', /only what is shipped/],
    ["the package itself", "src/run/a.ts", 'import { a } from "errand/server";', /by path/],
    ["a computed specifier", "src/run/a.ts", "await import(`../server/${name}.ts`);", /plain string/],
    ["require", "src/run/a.ts", 'const a = require("hono");', /never required/],
    ["a module outside the rooms", "src/util.ts", "export {};", /a module lies in/],
    [
      "an example reaching inside",
      "examples/a.ts",
      'import { a } from "../src/registry/a.ts";',
      /what the package exports/,
    ],
  ];
  for (const [name, file, text, rule] of refused) {
    it(`refuse ${name}`, () => {
      const found = broken(file, `// first line\n${text}\n`);
      assert.equal(found.length, 1, found.join("\n"));
      assert.match(found[0] ?? "", rule);
      assert.match(found[0] ?? "", file === "src/util.ts" ? /^1: / : /^2: /);
    });
  }

  it("are a command that names file and line, and fails", () => {
    const script = fileURLToPath(new URL("../../scripts/check-imports.mjs", import.meta.url));
    const [program, ...args] = runFile(runningOn(), script, [tree({ "src/run/a.ts": '\nimport "xstate";\n' })]);
    const { status, stdout } = spawnSync(program, args, { encoding: "utf8" });
    assert.match(stdout, /^src\/run\/a\.ts:2 imports xstate: XState is named only in/);
    assert.equal(status, 1);
  });

  it("refuse an empty tree, in which nothing was read", () => {
    const script = fileURLToPath(new URL("../../scripts/check-imports.mjs", import.meta.url));
    const [program, ...args] = runFile(runningOn(), script, [tree({})]);
    assert.equal(spawnSync(program, args).status, 1);
  });
});

describe("reading what a module imports", () => {
  const specifiers = (source: string) =>
    readModule(source).imports.map(({ specifier, line }) => `${line}:${specifier ?? "?"}`);

  it("knows every form", () => {
    const source = `/// <reference types="a" />
import b from "b";
import c, { d as from, type E } from 'c';
import * as f
  from "f";
import type { G } from "g";
import "h";
export { i, type J } from "i";
export * from "k";
export * as l from "l";
export type { M } from "m";
export type * from "n";
const o = await import("o");
type P = import("p").P;
const q = import(\`q\`);
const r = import(name);
const s = import("s", { with: { type: "json" } });
const t = import.meta.resolve("t");
const u = require("u");
`;
    const lines = "1:a 2:b 3:c 4:f 6:g 7:h 8:i 9:k 10:l 11:m 12:n 13:o 14:p 15:q 16:? 17:s 18:t 19:u";
    assert.equal(specifiers(source).join(" "), lines);
  });

  it("is not misled by comments, strings, templates, regular expressions and look-alikes", () => {
    const source = `#!/usr/bin/env node
// import "a";
/* import "b"; */
const c = 'import "c"', d = "from \\"d\\"";
const e = \`import "e" \${ [\`import("f")\`, { a: 1 }] } import("g")\`;
const h = /import("h")[/"]/g, i = 4 / 2, j = i / 2; const k = "/";
export const from = "l";
export { c, d };
const m = { import: "m" }, n = loader.import("n");
export default class { private = /'/; }
import "o";
`;
    assert.deepEqual(specifiers(source), ["11:o"]);
  });

  it("reads imports inside a template's expressions", () => {
    assert.deepEqual(specifiers('const a = `x${await import("a")}y${{ b: `${import("b")}` }}`;\nimport "c";'), [
      "1:a",
      "1:b",
      "2:c",
    ]);
  });

  it("sees a runtime's globals only where something of them is used", () => {
    const uses = (source: string) => readModule(source).uses.map(({ name }) => name);
    assert.deepEqual(uses("Bun.serve(); globalThis.Deno.serve(); Deno?.env; Bun['serve']"), [
      "Bun",
      "Deno",
      "Deno",
      "Bun",
    ]);
    assert.deepEqual(
      uses('// Bun.serve\n"Bun" in globalThis; typeof Deno; process.versions.Bun; a.Deno.b; "Deno.serve"'),
      [],
    );
  });
});
