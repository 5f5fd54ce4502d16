// How a call ended, for people and for programs.

import type { Outcome } from "../client/mod.ts";
import { InputHandlerError, RequestFailedError, TaskFailedError } from "../client/errors.ts";
import type { ContentBlock, InputRequests, JsonObject, ToolResult } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import type { Address } from "./arguments.ts";
import { print, red, tell } from "./terminal.ts";
import { clean, cleanLine, duration, messageOf, quoted, toJson } from "./text.ts";

/** What the exit codes mean; README and `--help` have them in words. */
export const EXIT = {
  completed: 0,
  toolError: 1,
  usage: 2,
  failed: 3,
  cancelled: 4,
  inputRequired: 5,
  timedOut: 6,
  interrupted: 130,
} as const;

export interface ShowOptions {
  readonly json: boolean;
  readonly address: Address;
  /** Whether a task was to be left running. */
  readonly detach: boolean;
}

/** Tells how a call ended, and gives the exit code that says the same. */
export async function showOutcome(outcome: Outcome, options: ShowOptions): Promise<number> {
  if (options.json) await print(toJson(toObject(outcome)));
  else await showToPeople(outcome, options);
  switch (outcome.status) {
    case "completed":
      return outcome.result.isError === true ? EXIT.toolError : EXIT.completed;
    case "failed":
      return EXIT.failed;
    case "cancelled":
      return EXIT.cancelled;
    case "input_required":
      return EXIT.inputRequired;
    case "timed_out":
      return EXIT.timedOut;
    case "aborted":
      return EXIT.interrupted;
    case "detached":
      return options.detach ? EXIT.completed : EXIT.interrupted;
  }
}

/** Tells what went wrong: one line. */
export function complain(message: string): void {
  tell(`${red("errand:")} ${cleanLine(message, 2_000)}`);
}

/** The command that goes on waiting for a task. */
export function waitCommand(reference: string, address: Address): string {
  const command = "command" in address ? ["--", ...address.command.map(quoted)] : [];
  return ["errand wait", reference, ...command].join(" ");
}

async function showToPeople(outcome: Outcome, { address, detach }: ShowOptions): Promise<void> {
  const reference = "reference" in outcome ? outcome.reference : undefined;
  const goOn = reference === undefined ? "" : waitCommand(reference, address);
  switch (outcome.status) {
    case "completed": {
      const text = resultText(outcome.result);
      if (outcome.result.isError !== true) return print(text);
      return tell(`${red("errand:")} The tool reported an error: ${text}`);
    }
    case "failed": {
      const { error } = outcome;
      const left = error instanceof InputHandlerError ? error.reference : undefined;
      return complain(errorText(error) + (left === undefined ? "" : ` To go on: ${waitCommand(left, address)}`));
    }
    case "cancelled":
      return complain(`The call was cancelled. ${outcome.task?.statusMessage ?? ""}`);
    case "input_required": {
      const asked = questionsText(outcome.inputRequests);
      return complain(
        goOn === ""
          ? `Nobody here can answer what it asks. Call it in a terminal. ${asked}`
          : `Nobody here can answer what it asks. In a terminal: ${goOn} ${asked}`,
      );
    }
    case "timed_out": {
      const after = duration(outcome.error.timeoutMs);
      if (goOn === "") return complain(`There was no answer within ${after}: give it more with --timeout.`);
      return complain(`It was not done within ${after}, and goes on. To wait for it: ${goOn}`);
    }
    case "aborted":
    case "detached": {
      if (reference === undefined) return complain("The call was given up: it was no task yet.");
      if (detach) return print(reference);
      const fate = "command" in address ? "Its server ends with this command" : "It goes on";
      return complain(`The task was left. ${fate}. To wait for it: ${goOn}`);
    }
  }
}

/** The outcome as the one object that `--json` prints. */
function toObject(outcome: Outcome): JsonObject {
  const { status } = outcome;
  const taskId = outcome.task?.taskId;
  const reference = "reference" in outcome ? outcome.reference : undefined;
  const known = { status, ...(taskId !== undefined && { taskId }), ...(reference !== undefined && { reference }) };
  switch (status) {
    case "completed":
      return { ...known, result: outcome.result };
    case "failed":
    case "timed_out": {
      const { code, rpcCode, message, data } = outcome.error;
      return { ...known, error: { code, rpcCode, message, ...(data !== undefined && { data }) } };
    }
    case "cancelled":
      return { ...known, ...(outcome.task?.statusMessage !== undefined && { statusMessage: outcome.task.statusMessage }) };
    case "input_required": {
      const { inputRequests, requestState } = outcome;
      return { ...known, inputRequests, ...(requestState !== undefined && { requestState }) };
    }
    default:
      return known;
  }
}

/** What went wrong, and where it does not say so itself, what can be done. */
export function errorText(error: unknown): string {
  if (error instanceof TaskFailedError) return `The task failed: ${error.message} (${error.rpcCode})`;
  if (!(error instanceof RequestFailedError)) return messageOf(error);
  if (error.status === 401 || error.status === 403) {
    return `${error.message}. Put a bearer token that it takes into the environment variable ERRAND_TOKEN.`;
  }
  if (error.status !== undefined || error.cause === undefined) return `${error.message} (${error.rpcCode})`;
  // Where the client knows what can be done, its message is whole sentences.
  const said = error.message.endsWith(".") ? error.message : `${error.message}. See that the server runs, and is where you say.`;
  return `There was no answer: ${said}`;
}

function questionsText(inputRequests: InputRequests): string {
  const texts = Object.values(inputRequests).map(({ method, params }) => {
    const message = params?.["message"];
    return typeof message === "string" ? `"${cleanLine(message)}"` : method;
  });
  return texts.length === 0 ? "" : `(It asks: ${texts.join(", ")})`;
}

/** A result for people. */
function resultText({ content, structuredContent }: ToolResult): string {
  const blocks = Array.isArray(content) ? content : [];
  if (blocks.length === 0 && structuredContent !== undefined) return toJson(structuredContent, 2);
  return blocks.map(blockText).join("\n");
}

function blockText(block: ContentBlock): string {
  const { type, text, mimeType, data, resource, uri, name } = block;
  if (type === "text" && typeof text === "string") return clean(text);
  if (type === "resource" && isJsonObject(resource) && typeof resource["text"] === "string") return clean(resource["text"]);
  const about = [type, name, uri ?? (isJsonObject(resource) ? resource["uri"] : undefined), mimeType];
  const words = about.filter((word) => typeof word === "string").map((word) => cleanLine(word));
  if (typeof data === "string") words.push(`${Math.floor((data.length * 3) / 4)} bytes`);
  return `[${words.join(", ")}]`;
}
