// The commands, and what there is to say about all of them.

import type { Command } from "./arguments.ts";
import { UsageError } from "./arguments.ts";
import { EXIT } from "./show.ts";
import { print } from "./terminal.ts";
import { VERSION } from "../task/version.ts";

/** Each loads what it needs alone: a server knows nothing of clients. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serve,
  call: async () => (await import("./call.ts")).call,
  tools: async () => (await import("./tools.ts")).tools,
  wait: async () => (await import("./call.ts")).wait,
  cancel: async () => (await import("./cancel.ts")).cancel,
};

const EXIT_CODES = `Exit codes:
  0    the call completed, or was left running by --detach
  1    the tool reported an error
  2    the command was written wrongly
  3    the task or a request failed
  4    the call was cancelled
  5    the task asks what nobody could answer here
  6    --timeout was reached; the task goes on
  130  interrupted; a task that was left goes on`;

const USAGE = `errand serves tools whose calls become tasks (MCP), and calls them.

  errand serve <module>                         serve the host that a module exports
  errand call <url> <tool> [<json> | -]         call a tool and print its result, however long it takes
  errand tools <url>                            list the tools of a server
  errand wait <reference>                       go on waiting for a task
  errand cancel <reference>                     cancel a task
  errand <command> --help                       say more

In place of a URL, a server can be run as a command, which comes last, after --:
  errand call <tool> [<json> | -] -- node server.ts

ERRAND_TOKEN in the environment is the bearer token for servers behind a URL.

${EXIT_CODES}`;

/** Does what was written after `errand`, and gives the exit code. */
export async function main([name, ...args]: string[]): Promise<number> {
  if (name === "--version" || name === "-v") {
    await print(VERSION);
    return 0;
  }
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    await print(USAGE);
    return name === undefined ? EXIT.usage : 0;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load === undefined) throw new UsageError(`There is no command "${name}": see errand --help.`);
  const command = await load();
  const end = args.indexOf("--");
  if ((end < 0 ? args : args.slice(0, end)).some((arg) => arg === "--help" || arg === "-h")) {
    await print(`${command.usage}\n\n${EXIT_CODES}`);
    return 0;
  }
  return command.run(args);
}
