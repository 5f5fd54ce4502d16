// The package as its users get it: packed, installed in an empty project, and used from there on every runtime.
// `node scripts/pack-test.mjs [--runtime node|bun|deno]…`; needs `dist/`. Its last line is `N passed, N failed`.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { bin, machineEnv, plainEnv, root, run, start } from "./lib/command.mjs";
import { callingProgram, quickstart } from "./lib/readme.mjs";
import { program, runFile, runtimes, titles } from "./lib/runtimes.mjs";
import { packageOf, readModule } from "./lib/specifiers.mjs";

/** @typedef {import("./lib/runtimes.mjs").Runtime} Runtime */

const { values } = parseArgs({ options: { runtime: { type: "string", multiple: true, default: [] } } });
const on = runtimes.filter((runtime) => values.runtime.length === 0 || values.runtime.includes(runtime));

/** The port that README's quickstart names; a free one takes its place here. */
const quickstartPort = /\b3000\b/g;
/** How long the quickstart's server may take to answer. */
const startMilliseconds = 20_000;

/** A server that a client runs as a command. */
const STDIO_SERVER = `import { createHost } from "errand/server";
const host = createHost({ name: "parcels", version: "1.0.0" });
host.tool("pack", { task: "required" }, async (_input, task) => {
  await task.sleep("a moment", 20);
  return "Packed";
});
host.stdio();
`;

/** Where there is no npm, Bun packs and installs. */
const hasNpm = run(["npm", "--version"], { env: machineEnv() }).then(({ ok }) => ok);
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const readme = existsSync(join(root, "README.md")) ? readFileSync(join(root, "README.md"), "utf8") : "";
const scratch = mkdtempSync(join(tmpdir(), "errand-pack-"));
const project = join(scratch, "project");
let passed = 0;
let failed = 0;

try {
  await usePackage();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

async function usePackage() {
  const tarball = await check("npm pack", pack);
  if (tarball === undefined) return;
  const { server, client, output } = Object.fromEntries(
    ["server", "client", "output"].map((name) => [name, quickstart(readme, name) ?? ""]),
  );
  const calling = callingProgram(readme);
  const sources = [server ?? "", client ?? "", calling.source];
  const installed = await check("install in an empty project", () => install(tarball, sources));
  if (installed === undefined) return;
  for (const runtime of on) await check(`import it on ${titles[runtime]}`, () => importAll(runtime));
  for (const runtime of on) await check(`errand on ${titles[runtime]}`, () => useCommandLine(runtime));
  const shown = await check("README shows a quickstart", async () => {
    for (const [name, text] of Object.entries({ server, client, output })) {
      if (!text) throw new Error(`README.md has no code block after <!-- quickstart:${name} -->.`);
    }
    writeFileSync(join(project, "server.ts"), server ?? "");
    writeFileSync(join(project, "client.ts"), client ?? "");
    writeFileSync(join(project, "calling.ts"), calling.source);
    return true;
  });
  await check("its declarations in a strict project", checkTypes);
  for (const runtime of on) await check(`errand/client on ${titles[runtime]}`, () => useClient(runtime));
  if (shown === undefined) return;
  for (const runtime of on) {
    await check(`README's quickstart on ${titles[runtime]}`, () =>
      beside(runtime, server ?? "", async (port) => {
        const printed = await runClient(runtime, client ?? "", port);
        if (printed.trim() !== output?.trim()) throw new Error(`The client printed\n${printed}\ninstead of\n${output}`);
      }),
    );
    await check(`README's calls on ${titles[runtime]}`, () =>
      beside(runtime, server ?? "", async (port) => {
        const printed = await runClient(runtime, calling.source, port);
        let rest = printed;
        for (const line of calling.expected) {
          const at = rest.indexOf(`${line}\n`);
          if (at < 0) throw new Error(`The program printed\n${printed}\nwithout\n${line}`);
          rest = rest.slice(at);
        }
      }),
    );
  }
}

/**
 * Does one check and counts it.
 * @template Result
 * @param {string} name
 * @param {() => Promise<Result>} work throws when the check fails
 * @returns {Promise<Result | undefined>}
 */
async function check(name, work) {
  try {
    const result = await work();
    passed++;
    console.log(`ok    ${name}`);
    return result;
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** Packs the project and looks at what is in the tarball. @returns {Promise<string>} the tarball's path */
async function pack() {
  await must(
    (await hasNpm)
      ? ["npm", "pack", "--ignore-scripts", "--pack-destination", scratch]
      : [program("bun"), "pm", "pack", "--ignore-scripts", "--destination", scratch],
    root,
  );
  const tarball = readdirSync(scratch).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error("There is no tarball.");
  const paths = pathsIn(join(scratch, tarball));
  /** @type {{ bun: string, types: string, default: string }[]} */
  const entries = Object.values(manifest.exports).filter((entry) => typeof entry === "object");
  const exported = entries.flatMap((entry) => Object.values(entry).map((path) => path.replace("./", "")));
  const wanted = ["package.json", "README.md", "CHANGELOG.md", "LICENSE", ...exported];
  const missing = wanted.filter((path) => !paths.includes(path));
  if (missing.length > 0) throw new Error(`The tarball lacks ${missing.join(", ")}.`);
  const strange = paths.filter(
    (path) => !/^(dist\/|src\/|machines\/|[^/]+$)/.test(path) || /\.(test|spec)\./.test(path),
  );
  if (strange.length > 0) throw new Error(`The tarball holds ${strange.join(", ")}.`);
  return join(scratch, tarball);
}

/**
 * The files in a tarball of npm's, without their `package/`.
 * @param {string} tarball
 * @returns {string[]}
 */
function pathsIn(tarball) {
  const tar = gunzipSync(readFileSync(tarball));
  /** @type {string[]} */
  const paths = [];
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
    /** @type {(from: number, length: number) => string} */
    const field = (from, length) => tar.toString("utf8", at + from, at + from + length).replace(/\0[\s\S]*$/, "");
    const [name, size, prefix] = [field(0, 100), field(124, 12), field(345, 155)];
    if (field(156, 1) === "0") paths.push((prefix === "" ? name : `${prefix}/${name}`).replace(/^package\//, ""));
    at += 512 * (1 + Math.ceil(Number.parseInt(size, 8) / 512));
  }
  return paths;
}

/**
 * Installs the tarball, with what the quickstart imports besides it and nothing else, but Node's types.
 * @param {string} tarball
 * @param {string[]} sources
 */
async function install(tarball, sources) {
  const imported = sources
    .flatMap((source) => readModule(source).imports)
    .map(({ specifier = "." }) => packageOf(specifier));
  const others = new Set(imported.filter((name) => name !== manifest.name && !/^(\.|node:)/.test(name)));
  /** @type {Record<string, string>} */
  const versions = { ...manifest.devDependencies, ...manifest.dependencies };
  const dependencies = Object.fromEntries([...others, "@types/node"].map((name) => [name, versions[name] ?? "latest"]));
  mkdirSync(project, { recursive: true });
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({
      name: "reader",
      private: true,
      type: "module",
      dependencies: { errand: `file:${tarball}`, ...dependencies },
    }),
  );
  await must(
    (await hasNpm)
      ? ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
      : [program("bun"), "install", "--ignore-scripts"],
    project,
  );
  return true;
}

/**
 * Imports everything the package exports. No optional peer may be loaded by that: traps stand in their places.
 * @param {Runtime} runtime
 */
async function importAll(runtime) {
  const peers = Object.keys(manifest.peerDependenciesMeta ?? {}).filter(
    (name) => manifest.peerDependenciesMeta[name].optional,
  );
  for (const peer of peers) {
    const folder = join(project, "node_modules", peer);
    if (existsSync(join(folder, "package.json")) && !existsSync(join(folder, "trap")))
      throw new Error(`npm installed ${peer}, an optional peer.`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "trap"), "");
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: peer, version: "0.0.0", main: "index.cjs" }));
    writeFileSync(
      join(folder, "index.cjs"),
      `throw new Error(${JSON.stringify(`${peer} was loaded, and nobody asked for it`)});\n`,
    );
  }
  const names = Object.keys(manifest.exports)
    .filter((path) => !path.endsWith(".json"))
    .map((path) => path.replace(/^\./, manifest.name));
  const lines = names.map(
    (name, index) =>
      `import * as module${index} from "${name}";\nif (Object.keys(module${index}).length === 0) throw "empty";`,
  );
  writeFileSync(join(project, "imports.ts"), `${lines.join("\n")}\nconsole.log("imported");\n`);
  const { stdout } = await must(runFile(runtime, "imports.ts"), project);
  if (stdout !== "imported\n") throw new Error(`Importing it writes on stdout: ${stdout}`);
  for (const peer of peers) rmSync(join(project, "node_modules", peer), { recursive: true });
}

/**
 * Serves a module with the package's bin, and calls its tool with it.
 * @param {Runtime} runtime
 */
async function useCommandLine(runtime) {
  const source = `import { createHost } from "errand";
export default createHost({ name: "packed", version: "1.0.0" }).tool("quick", {}, () => "done");
`;
  writeFileSync(join(project, "host.ts"), source);
  const errand = join(project, "node_modules", ".bin", "errand");
  const { stdout } = await must(runFile(runtime, errand, ["--version"]), project);
  if (stdout.trim() !== manifest.version) throw new Error(`Its version is said to be ${stdout}`);
  const server = runFile(runtime, errand, ["serve", "--stdio", "host.ts"]);
  const called = await must(runFile(runtime, errand, ["call", "quick", "--", ...server]), project);
  if (called.stdout !== "done\n") throw new Error(`The call printed ${called.output}`);
}

/** Type checks the quickstart in the strictest project: no complaint in it, nor in the package's own declarations. */
async function checkTypes() {
  const compilerOptions = {
    target: "es2023",
    lib: ["es2024", "esnext.disposable"],
    module: "nodenext",
    types: ["node"],
    noEmit: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    verbatimModuleSyntax: true,
    skipLibCheck: false,
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const { output } = await run([join(bin, "tsc"), "-p", "tsconfig.json", "--pretty", "false"], { cwd: project });
  // Complaints about other packages' declarations are theirs.
  const ours = output.split("\n").filter((line) => /^(node_modules\/errand\/|[^/(]+\.ts\(|error )/.test(line));
  if (ours.length > 0) throw new Error(`\n${ours.join("\n")}`);
}

/**
 * Calls a tool through `errand/client` alone: of a server that it runs as a command, in a project of its own.
 * @param {Runtime} runtime
 */
async function useClient(runtime) {
  writeFileSync(join(project, "stdio-server.ts"), STDIO_SERVER);
  const [command, ...args] = runFile(runtime, "stdio-server.ts");
  writeFileSync(join(project, "stdio-client.ts"), stdioClient({ command, args }));
  const { stdout } = await must(runFile(runtime, "stdio-client.ts"), project);
  if (stdout !== "working\nPacked\n") throw new Error(`The client printed\n${stdout}`);
}

/** @param {{ command: string, args: string[] }} target @returns {string} */
function stdioClient(target) {
  return `import { createTaskClient } from "errand/client";
const client = createTaskClient(${JSON.stringify(target)});
const call = client.beginCallTool({ name: "pack" });
console.log((await call.created)?.status);
console.log((await call.result()).content[0]?.text);
await client.close();
`;
}

/**
 * Runs README's server as a process of its own, until `use` is done with it.
 * @param {Runtime} runtime
 * @param {string} server
 * @param {(port: number) => Promise<void>} use
 */
async function beside(runtime, server, use) {
  const port = await freePort();
  writeFileSync(join(project, "server.ts"), server.replaceAll(quickstartPort, String(port)));
  const running = start(runFile(runtime, "server.ts"), { cwd: project, env: plainEnv() });
  try {
    await listening(port, running);
    await use(port);
  } catch (error) {
    throw new Error(
      `${error instanceof Error ? error.message : String(error)}\nThe server wrote:\n${running.output()}`,
      { cause: error },
    );
  } finally {
    await running.end();
  }
}

/**
 * Runs a client of README's server as a process of its own.
 * @param {Runtime} runtime
 * @param {string} client
 * @param {number} port
 * @returns {Promise<string>} what it printed
 */
async function runClient(runtime, client, port) {
  writeFileSync(join(project, "client.ts"), client.replaceAll(quickstartPort, String(port)));
  return (await must(runFile(runtime, "client.ts"), project)).stdout;
}

/**
 * @param {readonly [string, ...string[]]} command
 * @param {string} cwd
 */
async function must(command, cwd) {
  const finished = await run(command, { cwd, env: plainEnv(machineEnv()), minutes: 5 });
  if (!finished.ok) throw new Error(`\`${command.join(" ")}\` failed:\n${finished.output}`);
  return finished;
}

/** @returns {Promise<number>} a port that nothing listens on */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/**
 * Waits until something accepts connections on a port.
 * @param {number} port
 * @param {{ running: () => boolean }} server
 */
async function listening(port, server) {
  const deadline = Date.now() + startMilliseconds;
  while (!(await accepts(port))) {
    if (!server.running()) throw new Error("The server ended at once.");
    if (Date.now() > deadline) throw new Error(`Nothing listens on port ${port} after ${startMilliseconds / 1000} s.`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "localhost" });
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
