// What was typed after a command's name.

import type { ParseArgsOptionsConfig } from "node:util";
import { parseArgs } from "node:util";
import { messageOf, parseDuration } from "./text.ts";

/** What was typed cannot be meant. The message says what to write. */
export class UsageError extends Error {}

/** A command of `errand`. */
export interface Command {
  readonly usage: string;
  /** Resolves to the exit code. */
  run(args: string[]): Promise<number>;
}

/** Where a server is: behind a URL, or run as a command. */
export type Address = { readonly url: string } | { readonly command: readonly [string, ...string[]] };

/** Reads options and positionals. Throws `UsageError`. */
export function readOptions<Options extends ParseArgsOptionsConfig>(args: string[], options: Options) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // Node goes on to explain `--`, which means something of its own here.
    throw new UsageError(`${messageOf(error).split(". ")[0] ?? ""}.`);
  }
}

/**
 * Sets apart the command of a server: what follows `--`. Where nothing but options is before it, what follows the last
 * `--` is not the command's any more: `-- command… -- tool json`.
 */
export function splitCommand(args: readonly string[], options: ParseArgsOptionsConfig) {
  const at = args.indexOf("--");
  if (at < 0) return { own: [...args], command: undefined };
  const before = args.slice(0, at);
  const after = args.slice(at + 1);
  const end = after.lastIndexOf("--");
  const isFirst = end >= 0 && readOptions(before, options).positionals.length === 0;
  const [program, ...rest] = isFirst ? after.slice(0, end) : after;
  if (program === undefined) throw new UsageError("After -- comes the command of a server, such as -- node server.ts.");
  const command: [string, ...string[]] = [program, ...rest];
  return { own: isFirst ? [...before, ...after.slice(end + 1)] : before, command };
}

/** An address by what stands in a URL's place, if anything does, and the command after `--`, if there is one. */
export function addressOf(url: string | undefined, command: [string, ...string[]] | undefined): Address {
  if (url === undefined && command === undefined) {
    throw new UsageError("Name the server: its URL, or -- and the command that runs it.");
  }
  if (command !== undefined) {
    if (url !== undefined) throw new UsageError(`There are a command and "${url}": name the server once.`);
    return { command };
  }
  if (url === undefined || !isUrl(url)) throw new UsageError(`"${url}" is no URL of a server: http://… or https://….`);
  return { url };
}

export function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

/** A duration in milliseconds. Throws `UsageError`. */
export function readDuration(name: string, text: string, least = 0): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < least) throw new UsageError(`--${name} takes a duration such as 90, 90s, 5m or 2h.`);
  return ms;
}

/** The options of everything that connects to a server. */
export const CONNECTING = { header: { type: "string", multiple: true, default: [] as string[] } } as const;

/** Headers as `name: value`. Throws `UsageError`. */
export function readHeaders(given: readonly string[]): Record<string, string> {
  const headers = new Headers();
  for (const header of given) {
    const [, name = "", value = ""] = /^([^:]+):(.*)$/.exec(header) ?? [];
    try {
      headers.set(name, value.trim());
    } catch {
      throw new UsageError("--header takes a name and a value: --header 'x-tenant: ann'.");
    }
  }
  return Object.fromEntries(headers);
}
