// The house's rules: who may import whom. ARCHITECTURE.md says why; this is what holds them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { packageOf, readModule } from "./specifiers.mjs";

/** @typedef {import("./specifiers.mjs").Import} Import */

/** The rooms of the house, and the rooms each may import from besides itself. Arrows run down only. */
const rooms = {
  "src/task": [],
  machines: ["src/task"],
  "src/store": ["src/task"],
  "src/wire": ["src/task"],
  "src/registry": ["src/task", "src/store", "machines"],
  "src/run": ["src/task", "src/store", "src/registry"],
  "src/server": ["src/task", "src/store", "src/wire", "src/registry", "src/run", "machines"],
  "src/client": ["src/task", "src/store", "src/wire", "src/registry", "src/run", "machines"],
  "src/relay": ["src/task", "src/server", "src/client"],
  "src/inspect": [
    "src/task",
    "src/store",
    "src/wire",
    "src/registry",
    "src/run",
    "src/server",
    "src/client",
    "src/relay",
    "machines",
  ],
  "src/cli": ["src"],
};

/** Rooms that see another only by its public face, its `mod.ts`. */
const byPublicFace = [{ from: "src/relay", to: ["src/server", "src/client"] }];

/** Rooms without input or output of their own, and the packages they may use. */
const pure = /** @type {const} */ ({ machines: ["xstate"], "src/wire": ["zod"] });

/** What is named in some rooms only. */
const contained = [
  { what: "XState", test: /^(xstate|@xstate\/[^/]+)(\/|$)/, rooms: ["machines", "src/registry", "src/inspect"] },
  { what: "the MCP SDK", test: /^@modelcontextprotocol\//, rooms: ["src/server", "src/client", "src/relay"] },
];

/** What only one runtime has, or has as its own: only in a file whose name says so. */
const runtimeModules = [
  { test: /^(bun$|bun:|bun-types$)/, says: ["bun"] },
  { test: /^(jsr|npm|https?):/, says: ["deno"] },
  { test: /^node:sqlite$/, says: ["sqlite", "node"] },
];

/** What is shipped, and so is held to every rule. */
const shipped = ["machines", "src"];

/** What shows the package to its users, and so uses it as they do. */
const showcases = ["examples"];

/**
 * @typedef {object} Violation
 * @property {string} file from the root, with `/`
 * @property {number} line
 * @property {string} what what is done there
 * @property {string} rule
 */

/**
 * Reads every module of a project and gives what breaks the house's rules.
 * @param {string} root the folder with `package.json`, `machines/`, `src/` and `examples/`
 * @returns {{ files: number, violations: Violation[] }}
 */
export function checkHouse(root) {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const packages = new Set(
    Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies }),
  );
  const house = { name: String(manifest.name), packages, faces: publicFaces(manifest) };
  const files = [...shipped, ...showcases].flatMap((folder) => modulesUnder(root, folder));
  const violations = files.flatMap((file) => checkFile(file, readFileSync(join(root, file), "utf8"), house));
  return { files: files.length, violations };
}

/**
 * @param {string} file
 * @param {string} source
 * @param {{ name: string, packages: Set<string>, faces: Set<string> }} house
 * @returns {Violation[]}
 */
function checkFile(file, source, house) {
  const { imports, uses } = readModule(source);
  const room = roomOf(file);
  const isShipped = shipped.some((folder) => isUnder(file, folder));
  /** @type {Violation[]} */
  const violations = [];
  /**
   * @param {number} line
   * @param {string} what
   * @param {string} rule
   */
  const report = (line, what, rule) => violations.push({ file, line, what, rule });

  if (isShipped && room === undefined)
    report(1, "lies outside the rooms", `a module lies in ${Object.keys(rooms).join(", ")}, or is src/mod.ts`);
  for (const entry of imports) {
    const { specifier, line } = entry;
    const what = `imports ${specifier ?? "a computed specifier"}`;
    const rule = isShipped ? shippedRule(file, room, entry, house) : showcaseRule(file, specifier, house);
    if (rule !== undefined) report(line, what, rule);
  }
  if (isShipped) {
    for (const { name, line } of uses) {
      if (!nameSays(file, [name.toLowerCase()])) {
        report(
          line,
          `uses ${name}`,
          `a runtime's own API is used only in a file whose name says so (*.${name.toLowerCase()}.ts)`,
        );
      }
    }
  }
  return violations;
}

/**
 * The rule that an import in a shipped module breaks.
 * @param {string} file
 * @param {string | undefined} room
 * @param {Import} entry
 * @param {{ name: string, packages: Set<string> }} house
 * @returns {string | undefined}
 */
function shippedRule(file, room, { specifier, kind }, { name, packages }) {
  if (specifier === undefined) {
    return room === "src/cli" ? undefined : "a specifier is a plain string, so that it can be checked";
  }
  if (kind === "require") return "modules are imported, never required";
  if (specifier.startsWith(".")) return relativeRule(file, room, join(dirname(file), specifier));
  if (specifier === name || specifier.startsWith(`${name}/`))
    return "a module imports its neighbours by path, not through the package";

  const container = contained.find(({ test }) => test.test(specifier));
  if (container !== undefined && !container.rooms.includes(room ?? "")) {
    return `${container.what} is named only in ${container.rooms.join(", ")}`;
  }
  const own = runtimeModules.find(({ test }) => test.test(specifier));
  if (own !== undefined) {
    return nameSays(file, own.says)
      ? undefined
      : `a runtime's own module is imported only in a file whose name says so (${own.says.join(" or ")})`;
  }
  if (room === "machines" || room === "src/wire") {
    const allowed = pure[room];
    if (!(/** @type {readonly string[]} */ (allowed).includes(packageOf(specifier))))
      return `${room} is pure: it uses ${allowed.join(", ")} and src/task alone`;
  }
  if (specifier.startsWith("node:")) return undefined;
  return packages.has(packageOf(specifier))
    ? undefined
    : "what is shipped uses only the packages that package.json lists as dependencies or peers";
}

/**
 * @param {string} file
 * @param {string | undefined} room the importing module's
 * @param {string} target from the root
 * @returns {string | undefined}
 */
function relativeRule(file, room, target) {
  const to = roomOf(target);
  if (to === undefined) return "what is shipped imports only what is shipped";
  if (room === undefined || room === to) return undefined;
  if (room === "src") return undefined;
  const allowed = roomsFor(room);
  if (!allowed.includes(to))
    return `${room} imports only ${allowed.length === 0 ? "itself" : `itself and ${allowed.join(", ")}`}`;
  const face = byPublicFace.find((pair) => pair.from === room && pair.to.includes(to));
  if (face !== undefined && target !== `${to}/mod.ts`) return `${room} imports ${to} by its public face, ${to}/mod.ts`;
  return undefined;
}

/** The rooms that a room may import from. @param {string} room @returns {readonly string[]} */
function roomsFor(room) {
  const listed = /** @type {Record<string, readonly string[]>} */ (rooms)[room] ?? [];
  return listed.includes("src") ? [...Object.keys(rooms), "src"] : listed;
}

/**
 * The rule that an import in an example breaks.
 * @param {string} file
 * @param {string | undefined} specifier
 * @param {{ faces: Set<string> }} house
 * @returns {string | undefined}
 */
function showcaseRule(file, specifier, { faces }) {
  if (specifier === undefined || !specifier.startsWith(".")) return undefined;
  const target = join(dirname(file), specifier);
  if (!shipped.some((folder) => isUnder(target, folder)) || faces.has(target)) return undefined;
  return `an example uses only what the package exports: ${[...faces].join(", ")}`;
}

/**
 * The sources of what the package exports, from each export's `bun` condition.
 * @param {{ exports?: Record<string, string | { bun?: string }> }} manifest
 * @returns {Set<string>}
 */
function publicFaces({ exports = {} }) {
  const sources = Object.values(exports).map((entry) => (typeof entry === "string" ? entry : (entry.bun ?? "")));
  return new Set(sources.filter((path) => path.endsWith(".ts")).map((path) => join(path)));
}

/**
 * The room a module lies in; `src` for the public names in src/mod.ts.
 * @param {string} file
 * @returns {string | undefined}
 */
function roomOf(file) {
  if (file === "src/mod.ts") return "src";
  return Object.keys(rooms).find((room) => isUnder(file, room));
}

/**
 * @param {string} file
 * @param {string} folder
 */
function isUnder(file, folder) {
  return file.startsWith(`${folder}/`);
}

/** Whether a file's own name has one of these words in it. @param {string} file @param {readonly string[]} words */
function nameSays(file, words) {
  const said = (file.split("/").at(-1) ?? "").toLowerCase().split(/[^a-z0-9]+/);
  return words.some((word) => said.includes(word));
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {string[]}
 */
function modulesUnder(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return entry.name === "node_modules" ? [] : modulesUnder(root, path);
      return /\.[cm]?[jt]sx?$/.test(entry.name) ? [path] : [];
    })
    .toSorted();
}
