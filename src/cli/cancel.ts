// `errand cancel`: ends a task that was left.

import type { Command } from "./arguments.ts";
import { CONNECTING, readOptions, splitCommand } from "./arguments.ts";
import { referenced } from "./call.ts";
import { readReference } from "../client/reference.ts";
import { connectTo } from "./connect.ts";
import { print, tell } from "./terminal.ts";
import { toJson } from "./text.ts";

const OPTIONS = { ...CONNECTING, json: { type: "boolean", default: false } } as const;

export const cancel: Command = {
  usage: `Cancels a task that was left, and says what became of it: it may have ended before.

  errand cancel [options] <reference> [<url>]
  errand cancel [options] <reference> -- <command of a stdio server>

  --json                 print { "status": …, "taskId": … }
  --header 'name: value' a header for every request; may be given several times`,

  async run(args) {
    const { own, command } = splitCommand(args, OPTIONS);
    const { values, positionals } = readOptions(own, OPTIONS);
    const { reference, address } = referenced(positionals, command);
    const { taskId } = readReference(reference);
    const client = await connectTo(address, values.header);
    try {
      await client.cancelTask(taskId);
      const { status } = await client.getTask(taskId);
      if (values.json) await print(toJson({ status, taskId }));
      else tell(status === "cancelled" ? "The task was cancelled." : WHAT_IT_IS[status]);
    } finally {
      await client.close();
    }
    return 0;
  },
};

const WHAT_IT_IS = {
  working: "The server was asked to cancel the task, which still works.",
  input_required: "The server was asked to cancel the task, which still waits for input.",
  completed: "The task had completed before.",
  failed: "The task had failed before.",
} as const;
