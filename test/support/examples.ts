// Starts the examples as their readers do: each as a process of its own, on the runtime that the tests run on.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { childEnv, plainEnv, start } from "../../scripts/lib/command.mjs";
import { runFile, runningOn } from "../../scripts/lib/runtimes.mjs";
import type { InputHandlers, TaskClient } from "../../src/mod.ts";
import { createTaskClient } from "../../src/mod.ts";

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

/**
 * Serves an example to the tests of a `describe`: gives where it listens. It says that, and nothing else ever.
 */
export function serving(file: string): () => string {
  let running: ReturnType<typeof start> | undefined;
  const output = () => running?.output() ?? "";
  const address = () => /http:\/\/[\w.:]+\/mcp/.exec(output())?.[0];
  before(async () => {
    running = start(command(file), { env: environment() });
    const givenUpAt = Date.now() + PATIENCE_MS;
    while (address() === undefined && running.running() && Date.now() < givenUpAt) await delay(LOOK_EVERY_MS);
  });
  after(async () => {
    await running?.end();
    assert.match(output(), /^[^\n]*\n$/);
  });
  return () => {
    const url = address();
    assert.ok(url !== undefined, `${file} did not say where it listens:\n${output()}`);
    return url;
  };
}

/** Connects a client, until `use` is done with it. It declines what it is asked, unless told otherwise. */
export async function connected<Result>(
  url: string,
  use: (client: TaskClient) => Promise<Result>,
  { token, form = () => ({ action: "decline" }) }: { token?: string; form?: InputHandlers["form"] } = {},
): Promise<Result> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const client = createTaskClient({ url, headers }, { input: { form } });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
