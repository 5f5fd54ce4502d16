// Starts the examples as their readers do: each as a process of its own, on the runtime that the tests run on.

import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { childEnv, plainEnv, start } from "../../scripts/lib/command.mjs";
import { runFile, runningOn } from "../../scripts/lib/runtimes.mjs";
import type { Answer } from "../../examples/support/task-client.ts";
import { TaskClient } from "../../examples/support/task-client.ts";

/** How long a process may take to say where it listens, and how often that is looked for. */
const PATIENCE_MS = 20_000;
const LOOK_EVERY_MS = 20;

/** The command of an example. */
export function command(file: string, args: readonly string[] = []): [string, ...string[]] {
  return runFile(runningOn(), `examples/${file}`, args);
}

/** An example's environment, with any free port and without a terminal's words. */
export function environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  return plainEnv(childEnv({ PORT: "0", ...extra }));
}

/** Serves an example until `use` is done with its address. It says where it listens, and nothing else ever. */
export async function served<Result>(file: string, use: (url: string) => Promise<Result>): Promise<Result> {
  const running = start(command(file), { env: environment() });
  const address = () => /http:\/\/[\w.:]+\/mcp/.exec(running.output())?.[0];
  try {
    const givenUpAt = Date.now() + PATIENCE_MS;
    while (address() === undefined && running.running() && Date.now() < givenUpAt) await delay(LOOK_EVERY_MS);
    const url = address();
    if (url === undefined) throw new Error("It did not say where it listens.");
    const result = await use(url);
    assert.match(running.output(), /^[^\n]*\n$/);
    return result;
  } catch (error) {
    throw new Error(`${file} wrote:\n${running.output()}`, { cause: error });
  } finally {
    await running.end();
  }
}

/** Connects the official client, until `use` is done with it. It declines what it is asked, unless told otherwise. */
export async function connected<Result>(
  url: string,
  use: (client: TaskClient) => Promise<Result>,
  { token, answer = async () => ({ action: "decline" }) }: { token?: string; answer?: Answer } = {},
): Promise<Result> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const client = await TaskClient.connect(transport, answer);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
