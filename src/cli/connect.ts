// The client of a command.

import process from "node:process";
import type { TaskClient } from "../client/mod.ts";
import type { Address } from "./arguments.ts";
import { UsageError, readHeaders } from "./arguments.ts";
import { VERSION } from "../task/version.ts";

/** Where a bearer token comes from: an environment is not seen by others on the machine, as arguments are. */
const TOKEN = "ERRAND_TOKEN";

/** Makes the client of a server; it connects when it is used. */
export async function connectTo(address: Address, headers: readonly string[]): Promise<TaskClient> {
  const { [TOKEN]: token, ...env } = process.env;
  if ("command" in address && headers.length > 0) throw new UsageError("--header is for servers behind a URL.");
  const own = readHeaders(headers);
  // What is written wrongly is told without loading all of it.
  const { createTaskClient } = await import("../client/mod.ts");
  const options = { name: "errand-cli", version: VERSION };
  if ("url" in address) {
    const authorization: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
    return createTaskClient({ url: address.url, headers: { ...authorization, ...own } }, options);
  }
  const [command, ...args] = address.command;
  return createTaskClient({ command, args, env: env as Record<string, string> }, options);
}
