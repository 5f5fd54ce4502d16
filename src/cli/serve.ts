// `errand serve`: the host that a module exports, over HTTP or on standard input and output.

import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { existsSync } from "node:fs";
import type { Servable } from "../server/mod.ts";
import { serve as listen } from "../server/mod.ts";
import type { Command } from "./arguments.ts";
import { UsageError, readDuration, readOptions } from "./arguments.ts";
import { EXIT } from "./show.ts";
import { tell } from "./terminal.ts";
import { duration, messageOf } from "./text.ts";

const OPTIONS = {
  port: { type: "string", default: "3000" },
  hostname: { type: "string", default: "127.0.0.1" },
  grace: { type: "string", default: "10s" },
  stdio: { type: "boolean", default: false },
} as const;

/** What `host.stdio()` is: hosts have it, other handlers do not. */
interface StdioServable extends Servable {
  stdio(): { readonly closed: Promise<void> };
}

export const serve: Command = {
  usage: `Serves what a module exports by default: a host, anything else with a fetch function, or a function that makes one.

  errand serve [options] <module>

  --port <port>          where to listen; 0 takes a port that is free (default: 3000)
  --hostname <name>      on which interface (default: 127.0.0.1, which is this machine alone)
  --stdio                serve on standard input and output instead: for the client that starts this
  --grace <duration>     how long work may go on after Ctrl-C or SIGTERM; a second one ends at once (default: 10s)`,

  async run(args) {
    const { values, positionals } = readOptions(args, OPTIONS);
    const [module, ...more] = positionals;
    if (module === undefined || more.length > 0) throw new UsageError("Name one module: errand serve server.ts.");
    const port = /^\d+$/.test(values.port) ? Number(values.port) : Number.NaN;
    if (!(port <= 65_535)) throw new UsageError(`--port takes a number from 0 to 65535, not "${values.port}".`);
    const graceMs = readDuration("grace", values.grace);
    if (values.stdio) keepStdoutClean();
    const served = await load(module);
    return values.stdio ? serveStdio(module, served, graceMs) : serveHttp(served, { port, hostname: values.hostname }, graceMs);
  },
};

/** What a module prints belongs nowhere between the protocol's messages. */
function keepStdoutClean(): void {
  for (const method of ["log", "info", "debug", "table", "dir", "group"] as const) console[method] = console.error;
}

async function load(module: string): Promise<Servable> {
  const path = resolve(module);
  if (!existsSync(path)) throw new UsageError(`There is no ${path}.`);
  const exported = ((await importModule(path)) as { default?: unknown }).default;
  const value: unknown = typeof exported === "function" && !isServable(exported) ? await exported() : exported;
  if (isServable(value)) return value;
  throw new UsageError(`${module} exports nothing to serve. Write there: export default host;`);
}

async function importModule(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    const isOld = error instanceof Error && "code" in error && error.code === "ERR_UNKNOWN_FILE_EXTENSION";
    const hint = isOld ? " Node runs TypeScript from 22.18 on; Bun and Deno do, too." : "";
    throw new Error(`${path} could not be loaded: ${messageOf(error)}.${hint}`, { cause: error });
  }
}

function isServable(value: unknown): value is Servable {
  const isSomething = (typeof value === "object" && value !== null) || typeof value === "function";
  return isSomething && "fetch" in value && typeof value.fetch === "function";
}

async function serveHttp(served: Servable, where: { port: number; hostname: string }, graceMs: number): Promise<number> {
  const server = await listen(served, where).catch((error: unknown) => {
    const isTaken = error instanceof Error && /EADDRINUSE|in use/i.test(`${String(Reflect.get(error, "code"))} ${error.message}`);
    throw isTaken ? new Error(`Port ${where.port} is taken: choose another with --port.`, { cause: error }) : error;
  });
  tell(`Listening on ${server.url}`);
  await interrupted(graceMs);
  await server.close({ graceMs });
  return 0;
}

async function serveStdio(module: string, served: Servable, graceMs: number): Promise<number> {
  if (!("stdio" in served && typeof served.stdio === "function")) {
    throw new UsageError(`--stdio serves a host: export what createHost makes from ${module}.`);
  }
  const { closed } = (served as StdioServable).stdio();
  await Promise.race([closed, interrupted(graceMs)]);
  await served.close?.({ graceMs });
  return 0;
}

/** Resolves with the first interrupt; the second one ends the process. */
function interrupted(graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    let isFirst = true;
    const onSignal = () => {
      if (!isFirst) process.exit(EXIT.interrupted);
      isFirst = false;
      tell(`Closing: what runs may go on for ${duration(graceMs)}. Interrupt again to end at once.`);
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  });
}
