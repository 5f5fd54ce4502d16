// The client of a command, and how to come back to its server.

import process from "node:process";
import type { TaskClient } from "../client/mod.ts";
import { createTaskClient } from "../client/mod.ts";
import type { Address } from "./arguments.ts";
import { UsageError, readHeaders } from "./arguments.ts";
import { quoted } from "./text.ts";
import { version } from "./version.ts";

/** Where a bearer token comes from: an environment is not seen by others on the machine, as arguments are. */
const TOKEN = "ERRAND_TOKEN";

/** Makes the client of a server; it connects when it is used. */
export function connectTo(address: Address, headers: readonly string[]): TaskClient {
  const { [TOKEN]: token, ...env } = process.env;
  const options = { name: "errand-cli", version };
  if ("url" in address) {
    const authorization: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
    return createTaskClient({ url: address.url, headers: { ...authorization, ...readHeaders(headers) } }, options);
  }
  if (headers.length > 0) throw new UsageError("--header is for servers behind a URL.");
  const [command, ...args] = address.command;
  return createTaskClient({ command, args, env: env as Record<string, string> }, options);
}

/** The command that goes on waiting for a task. */
export function waitCommand(reference: string, address: Address): string {
  const command = "command" in address ? ["--", ...address.command.map(quoted)] : [];
  return ["errand wait", reference, ...command].join(" ");
}
