// README says what is so: every option with its default, every error with its codes, and an example that runs.

import { localhostAllowedHostnames } from "@modelcontextprotocol/server";
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { root, run, start } from "../scripts/lib/command.mjs";
import { blocks, callingProgram, quickstart } from "../scripts/lib/readme.mjs";
import { runFile, runningOn } from "../scripts/lib/runtimes.mjs";
import { resolveWait } from "../src/client/options.ts";
import * as errand from "../src/mod.ts";
import { resolvePolicy } from "../src/run/policy.ts";
import { resolveOptions } from "../src/server/options.ts";
import { connected, environment } from "./support/examples.ts";

const readme = read("README.md");

describe("README's tables of options", () => {
  const { defaults, limits, ...options } = resolveOptions({});

  it("name every option there is, and no other", () => {
    const tables: [string, ...[string, string][]][] = [
      ["`createHost`", ["src/server/host.ts", "HostOptions"], ["src/server/http.ts", "HttpOptions"]],
      ["`createHost` and `createTasks`", ["src/server/options.ts", "TasksOptions"]],
      ["`limits`", ["src/server/options.ts", "HostLimits"]],
      ["`host.tool(name, options, handler)`", ["src/server/host-tool.ts", "ToolConfig"]],
      ["`task` of a tool, and the policies of `tasks.adopt`", ["src/run/policy.ts", "TaskOptions"]],
      [
        "`serve`, `close` and `memory`",
        ["src/server/serve.ts", "ServeOptions"],
        ["src/server/tasks.ts", "CloseOptions"],
        ["src/store/memory.ts", "MemoryStoreOptions"],
      ],
      ["`createTaskClient`, beside those of a wait", ["src/client/task-client.ts", "TaskClientOptions"]],
      ["A wait: `createTaskClient` for all, each call for itself", ["src/client/options.ts", "WaitOptions"]],
      ["`input`", ["src/client/input.ts", "InputHandlers"]],
    ];
    for (const [heading, ...interfaces] of tables) {
      const there = interfaces.flatMap(([file, name]) => membersOf(file, name));
      assert.deepEqual([...table(heading).keys()].toSorted(), there.toSorted(), heading);
    }
  });

  it("have the right defaults of a host", () => {
    const shown = table("`createHost`");
    const { app } = errand.createHost({ name: "readme", version: "1.0.0" });
    assert.equal(shown.get("path"), `\`${app.routes[0]?.path}\``);
    assert.equal(shown.get("allowedHosts"), localhostAllowedHostnames().map((name) => `\`${name}\``).join(", "));
    for (const name of ["name", "version"]) assert.equal(shown.get(name), "none, required");
  });

  it("have the right defaults of tasks", () => {
    const shown = table("`createHost` and `createTasks`");
    for (const [name, value] of Object.entries({ ...options, ...defaults })) {
      if (typeof value === "number" || name === "pollIntervalMs") assert.equal(shown.get(name), written(value), name);
    }
    assert.equal(options.store.constructor, errand.memory().constructor);
    assert.equal(shown.get("store"), "`memory()`");
    assert.equal(options.clock, errand.systemClock);
    assert.equal(shown.get("clock"), "`systemClock`");
    const authInfo = { token: "t", clientId: "client", scopes: [] };
    assert.notEqual(options.principalOf({ ...authInfo, extra: { sub: "ann" } }), options.principalOf(authInfo));
    assert.equal(shown.get("principal"), "client id and `sub`");
  });

  it("have the right limits", () => {
    const expected = Object.entries(limits).map(([name, value]) => [name, written(value)]);
    assert.deepEqual(Object.fromEntries(table("`limits`")), Object.fromEntries(expected));
  });

  it("have the right defaults of tools", () => {
    const shown = table("`task` of a tool, and the policies of `tasks.adopt`");
    const host = { inlineWithinMs: 1, ttlMs: 2, pollIntervalMs: 3 };
    const { mode, extendOnProgress, ...inherited } = resolvePolicy({}, host, "");
    assert.deepEqual(inherited, host);
    assert.equal(resolvePolicy("required", host, "").inlineWithinMs, 0);
    assert.deepEqual(Object.fromEntries(shown), {
      mode: `\`${mode}\``,
      inlineWithinMs: "the host's, `0` for `required`",
      ttlMs: "the host's",
      pollIntervalMs: "the host's",
      extendOnProgress: `\`${String(extendOnProgress)}\``,
    });
    assert.equal(table("`host.tool(name, options, handler)`").get("task"), `\`${mode}\``);
  });

  it("have the right defaults of serving, closing and memory", () => {
    const source = ["src/server/serve.ts", "src/server/tasks.ts", "src/store/memory.ts"].map(read).join("");
    for (const [name, shown] of table("`serve`, `close` and `memory`")) {
      const [, value = ""] = new RegExp(`\\b${name} = (?:[\\w.]+ \\?\\? )?("[^"]*"|[\\d_]+)`).exec(source) ?? [];
      assert.equal(shown, `\`${value.replaceAll('"', "")}\``, name);
    }
  });
});

describe("README's client", () => {
  it("has the right defaults of a wait", () => {
    const shown = table("A wait: `createTaskClient` for all, each call for itself");
    for (const [name, value] of Object.entries(resolveWait({}))) assert.equal(shown.get(name), written(value), name);
  });

  it("has the right defaults of its own", () => {
    const source = read("src/client/task-client.ts");
    const shown = table("`createTaskClient`, beside those of a wait");
    assert.match(source, /limits: \{ requests = 32 \} = \{\}/);
    assert.match(source, new RegExp(`name = "${shown.get("name")?.replaceAll("`", "")}"`));
    for (const name of ["clock", "requestTimeoutMs"]) {
      assert.match(source, new RegExp(`${name} = ${shown.get(name)?.replaceAll("`", "")},`), name);
    }
    assert.equal(shown.get("limits"), "`{ requests: 32 }`");
  });

  it("has a row for every way that a call ends", () => {
    const [, outcomes = ""] = /export type Outcome =([\s\S]*?);\n\n/.exec(read("src/client/outcome.ts")) ?? [];
    const statuses = [...outcomes.matchAll(/readonly status: "(\w+)"/g)].map(([, status = ""]) => status);
    const rows = tableRows("Calling tools").map(([status = ""]) => status.replaceAll("`", ""));
    assert.deepEqual(rows.filter((status) => /^[a-z]+(_[a-z]+)?$/.test(status)).toSorted(), statuses.toSorted());
  });

  it("runs, and prints what it says, against the quickstart's server", async () => {
    const server = quickstart(readme, "server");
    assert.ok(server !== undefined);
    const { source, expected } = callingProgram(readme);
    assert.ok(expected.length > 5);
    await withServer(server, async (folder, port) => {
      writeFileSync(join(folder, "client.ts"), here(source, port));
      const { ok, output } = await run(runFile(runningOn(), join(folder, "client.ts")), { env: environment(), minutes: 1 });
      assert.ok(ok, output);
      let from = 0;
      for (const line of expected) {
        const at = output.indexOf(`${line}\n`, from);
        assert.ok(at >= 0, `It does not print "${line}":\n${output}`);
        from = at;
      }
      assert.match(output, /^then completed .*cleo@example\.com$/m);
    });
  });
});

describe("README's tables of errors", () => {
  it("have every class, with its codes", () => {
    const { TASKS_EXTENSION } = errand;
    const task = { taskId: "t", status: "cancelled", createdAt: "", lastUpdatedAt: "", ttlMs: null } as const;
    const state = { task: undefined, reference: undefined };
    const ofClient = [
      new errand.TaskFailedError(task, { code: -32000, message: "No" }),
      new errand.TaskCancelledError(task),
      new errand.RequestFailedError({ message: "Gone" }),
      new errand.InputRequiredError({}, state),
      new errand.InputHandlerError("key", new Error("No"), false, state),
      new errand.WaitTimeoutError("t", 1, state),
      new errand.DetachedError(state),
      new errand.InvalidReferenceError("it is none."),
    ];
    const ofHost = [
      new errand.TaskNotFoundError(),
      new errand.TaskExpiredError(),
      new errand.InvalidAnswerError("key", "reason"),
      new errand.InvalidRequestStateError(),
      new errand.MissingCapabilityError({ extensions: { [TASKS_EXTENSION]: {} } }),
      new errand.QuotaExceededError("Full."),
      new errand.TooLargeError("It", 2, 1, "bodyBytes"),
      new errand.HostClosedError(),
      new errand.DeclinedError("decline", "Sure?"),
      new errand.AbortedError("Over"),
      new errand.ProtocolError(-32000, "No"),
    ];
    const told: Record<string, string> = {
      DeclinedError: "none",
      ProtocolError: "its own",
      TaskFailedError: "the server's",
      RequestFailedError: "the server's, or -32000",
    };
    for (const [heading, made] of [["Errors", ofHost], ["Errors of a client", ofClient]] as const) {
      const rows = tableRows(heading).map(([name = "", code = "", rpcCode = ""]) => `${name} ${code} ${rpcCode}`);
      const expected = made.map(({ name, code, rpcCode }) => `\`${name}\` \`${code}\` ${told[name] ?? rpcCode}`);
      assert.deepEqual(rows.toSorted(), expected.toSorted());
    }
    const classes = Object.entries(errand)
      .filter(([, value]) => typeof value === "function" && value.prototype instanceof errand.ErrandError)
      .map(([name]) => name);
    assert.deepEqual([...ofHost, ...ofClient].map(({ name }) => name).toSorted(), classes.toSorted());
  });
});

describe("README's tool that becomes a task", () => {
  const source = blocks(readme, "example").get("task") ?? "";

  it("has fewer than fifteen lines", () => {
    const { length } = source.trimEnd().split("\n");
    assert.ok(length > 1 && length < 15);
  });

  it("runs: a small folder is counted inline or not, a large one as a task", async () => {
    await withServer(source, (_, port) =>
      connected(`http://127.0.0.1:${port}/mcp`, async (client) => {
        const count = { name: "count_lines", arguments: { folder: join(root, "machines") } };
        const text = `${linesUnder(join(root, "machines"))} lines of TypeScript`;
        assert.deepEqual((await client.callTool(count)).content, [{ type: "text", text }]);
        const told: unknown[] = [];
        const large = { name: "count_lines", arguments: { folder: join(root, "node_modules") } };
        await client.callTool(large, {
          onTaskStatus: ({ status, statusMessage }) => void told.push(`${status} ${statusMessage}`),
        });
        assert.match(told.join("\n"), /^working [^\n]+ \(\d+\/\d+\)$/m);
        assert.equal(told.at(-1), "completed undefined");
      }),
    );
  });
});

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** A number, or a range, as README writes it. */
function written(value: unknown): string {
  const digits = (number: unknown) => String(number).replace(/\B(?=(\d{3})+$)/g, "_");
  if (typeof value !== "object" || value === null) return `\`${digits(value)}\``;
  return `\`{ ${Object.entries(value).map(([name, inner]) => `${name}: ${digits(inner)}`).join(", ")} }\``;
}

/** The cells of the table under a heading, but for its head. */
function tableRows(heading: string): string[][] {
  const [, section = ""] = readme.split(new RegExp(`^#+ ${heading.replace(/[()]/g, "\\$&")}$`, "m"));
  const lines = (section.split(/^#/m)[0] ?? "").split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
}

/** The options in the table under a heading, with their defaults. */
function table(heading: string): Map<string, string> {
  return new Map(tableRows(heading).map(([name = "", value = ""]) => [name.replaceAll("`", ""), value]));
}

/** The members of an interface in the sources. */
function membersOf(file: string, name: string): string[] {
  const [, body] = new RegExp(`interface ${name}\\b[^\\n]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(read(file)) ?? [];
  assert.ok(body !== undefined, `${file} has no interface ${name}`);
  return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, member = ""]) => member);
}

/** A program of README's that imports these sources, and uses another port. */
function here(source: string, port: number): string {
  const sources = source.replaceAll('"errand"', '"../../src/mod.ts"').replaceAll('"errand/client"', '"../../src/client/mod.ts"');
  return sources.replaceAll(/\b3000\b/g, String(port));
}

/** Runs one of README's servers until `use` is done with it. The folder it is in is gone afterwards. */
async function withServer(source: string, use: (folder: string, port: number) => Promise<void>): Promise<void> {
  const port = await freePort();
  // Within the project, whose packages it imports.
  const folder = mkdtempSync(join(root, "test", ".readme-"));
  writeFileSync(join(folder, "server.ts"), here(source, port));
  const running = start(runFile(runningOn(), join(folder, "server.ts")));
  try {
    await listening(port, running);
    await use(folder, port);
  } catch (error) {
    throw new Error(`The example wrote:\n${running.output()}`, { cause: error });
  } finally {
    await running.end();
    rmSync(folder, { recursive: true });
  }
}

function linesUnder(folder: string): number {
  const names = readdirSync(folder, { recursive: true }).map(String).filter((name) => name.endsWith(".ts"));
  return names.reduce((lines, name) => lines + readFileSync(join(folder, name), "utf8").split("\n").length, 0);
}

function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const probe = createServer().on("error", reject);
  probe.listen(0, "127.0.0.1", () => {
    const address = probe.address();
    probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
  });
  return promise;
}

/** Waits until something listens on a port, 20 s at most. */
async function listening(port: number, server: { running: () => boolean }): Promise<void> {
  const givenUpAt = Date.now() + 20_000;
  while (!(await accepts(port))) {
    if (!server.running() || Date.now() > givenUpAt) throw new Error(`Nothing listens on port ${port}.`);
    await delay(20);
  }
}

function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = createConnection({ port, host: "127.0.0.1" });
  socket.on("connect", () => {
    socket.destroy();
    resolve(true);
  });
  socket.on("error", () => resolve(false));
  return promise;
}
