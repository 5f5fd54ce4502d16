// `errand call` and `errand wait`: a call, or a task that was left, and its result.

import process from "node:process";
import type { WaitOptions } from "../client/mod.ts";
import { readReference } from "../client/reference.ts";
import type { JsonObject } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import type { Address, Command } from "./arguments.ts";
import { CONNECTING, UsageError, addressOf, isUrl, readDuration, readOptions, splitCommand } from "./arguments.ts";
import { connectTo } from "./connect.ts";
import { follow } from "./follow.ts";

const WAITING = {
  ...CONNECTING,
  timeout: { type: "string" },
  mode: { type: "string", default: "auto" },
  json: { type: "boolean", default: false },
} as const;

const WAITING_USAGE = `  --timeout <duration>   how long to wait, such as 90, 90s, 5m or 2h; then the task goes on (default: for ever)
  --mode <mode>          auto, listen or poll (default: auto)
  --json                 print the outcome as one JSON object, and each status on stderr as a JSON line; asks nothing
  --header 'name: value' a header for every request; may be given several times`;

const CALLING = { ...WAITING, detach: { type: "boolean", default: false } } as const;

export const call: Command = {
  usage: `Calls a tool and prints its result, however long it takes.

  errand call [options] <url> <tool> [<json> | -]
  errand call [options] <tool> [<json> | -] -- <command of a stdio server>
  errand call [options] -- <command of a stdio server> -- <tool> [<json> | -]

The tool's arguments are a JSON object; - reads it from standard input. On a terminal, what the tool asks can be
answered, and Ctrl-C asks whether to leave the task running or to cancel it.

  --detach               print a reference as soon as there is a task, and leave it running
${WAITING_USAGE}`,

  async run(args) {
    const { own, command } = splitCommand(args, CALLING);
    const { values, positionals } = readOptions(own, CALLING);
    const url = command === undefined || isUrl(positionals[0] ?? "") ? positionals.shift() : undefined;
    const address = addressOf(url, command);
    const [name, json, ...more] = positionals;
    if (name === undefined) {
      const hint = command === undefined ? "" : " Write it before the first --, or after a second one.";
      throw new UsageError(`Name the tool to call.${hint}`);
    }
    if (more.length > 0) throw new UsageError(`"${more[0]}" is one too many: the arguments are one JSON object.`);
    const params = { name, arguments: await readArguments(json) };
    const client = await connectTo(address, values.header);
    const begin = (options: WaitOptions) => client.beginCallTool(params, options);
    return follow({ client, address, begin, ...waitingOf(values), detach: values.detach, asks: json !== "-" });
  },
};

export const wait: Command = {
  usage: `Waits for a task that was left, and prints its result.

  errand wait [options] <reference> [<url>]
  errand wait [options] <reference> -- <command of a stdio server>

A reference says where its server is, unless that was run as a command. ERRAND_TOKEN is sent there.

${WAITING_USAGE}`,

  async run(args) {
    const { own, command } = splitCommand(args, WAITING);
    const { values, positionals } = readOptions(own, WAITING);
    const { reference, address } = referenced(positionals, command);
    const client = await connectTo(address, values.header);
    const begin = (options: WaitOptions) => client.resume(reference, options);
    return follow({ client, address, begin, ...waitingOf(values), detach: false, asks: true });
  },
};

/** A reference, and where its server is. */
export function referenced(
  [reference, url, ...more]: readonly string[],
  command: [string, ...string[]] | undefined,
): { reference: string; address: Address } {
  if (reference === undefined) throw new UsageError("Give the reference of a task: what `errand call` printed.");
  if (more.length > 0) throw new UsageError(`"${more[0]}" is one too many.`);
  const { server = "" } = readReference(reference);
  if (command !== undefined || url !== undefined) return { reference, address: addressOf(url, command) };
  if (isUrl(server)) return { reference, address: { url: server } };
  throw new UsageError("The reference's server was run as a command: write it after --.");
}

async function readArguments(json = "{}"): Promise<JsonObject> {
  let text = json;
  if (json === "-") {
    text = "";
    for await (const chunk of process.stdin.setEncoding("utf8")) text += String(chunk);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Told below.
  }
  throw new UsageError(`The tool's arguments are a JSON object, such as '{"year": 2026}'.`);
}

function waitingOf({ timeout, mode, json }: { timeout?: string | undefined; mode: string; json: boolean }) {
  if (mode !== "auto" && mode !== "listen" && mode !== "poll") {
    throw new UsageError(`--mode is auto, listen or poll, not "${mode}".`);
  }
  return { mode, json, timeoutMs: timeout === undefined ? Infinity : readDuration("timeout", timeout, 1) } as const;
}
