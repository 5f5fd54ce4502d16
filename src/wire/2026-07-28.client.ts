/** What a server of the dialect 2026-07-28 sends, read as untrusted as it is. */
import { z } from "zod";
import type { DetailedTask, InputRequests, JsonObject, Task, TaskStatus, ToolResult } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { issuesText } from "../task/issues.ts";

const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const satisfies readonly TaskStatus[];

/** How many questions may be open at once: nobody answers more, and each is looked at with every state. */
const MAX_QUESTIONS = 100;

/** A task, with what is no more than a hint left out where it makes no sense. */
const taskShape = z.object({
  taskId: z.string().min(1),
  status: z.enum(STATUSES),
  statusMessage: z.string().optional().catch(undefined),
  createdAt: z.string().catch(""),
  lastUpdatedAt: z.string().catch(""),
  ttlMs: z.number().nonnegative().nullable().catch(null),
  pollIntervalMs: z.number().positive().optional().catch(undefined),
});

const inputRequestShape = z.looseObject({
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
});

const errorShape = z.object({
  code: z.int().catch(-32603),
  message: z.string().catch("The server did not say why"),
  data: z.unknown().optional(),
});

/** What a `tools/call` is answered with. */
export type CallAnswer =
  | { readonly type: "result"; readonly result: ToolResult }
  | { readonly type: "task"; readonly task: Task }
  | { readonly type: "input_required"; readonly inputRequests: InputRequests; readonly requestState: string | undefined };

/** What came is not what the protocol says. */
export class MalformedError extends Error {}

/** Reads the result of a `tools/call` (Tasks, "Polymorphic Results"). Throws `MalformedError`. */
export function fromCallResult(result: JsonObject): CallAnswer {
  switch (result["resultType"]) {
    case "task":
      return { type: "task", task: fromTask(result) };
    case "input_required": {
      const { requestState } = result;
      return {
        type: "input_required",
        inputRequests: fromInputRequests(result["inputRequests"] ?? {}),
        requestState: typeof requestState === "string" ? requestState : undefined,
      };
    }
    case undefined:
    case "complete":
      return { type: "result", result: fromToolResult(result) };
    default:
      throw new MalformedError(`a result of an unknown type: ${JSON.stringify(result["resultType"]).slice(0, 100)}`);
  }
}

/** Reads a task without what its status brings: the seed that a call is answered with. Throws `MalformedError`. */
export function fromTask(value: unknown): Task {
  const parsed = taskShape.safeParse(value);
  if (!parsed.success) throw new MalformedError(`no task: ${issuesText(parsed.error.issues, "; ")}`);
  const { statusMessage, pollIntervalMs, ...task } = parsed.data;
  return {
    ...task,
    ...(statusMessage !== undefined && { statusMessage }),
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
  };
}

/** Reads what `tasks/get` and `notifications/tasks` tell of the task of an id. Throws `MalformedError`. */
export function fromDetailedTask(value: JsonObject, taskId: string): DetailedTask {
  const task = fromTask(value);
  if (task.taskId !== taskId) throw new MalformedError(`the task ${task.taskId} in the place of ${taskId}`);
  const { status } = task;
  switch (status) {
    case "input_required":
      return { ...task, status, inputRequests: fromInputRequests(value["inputRequests"]) };
    case "completed":
      if (!isJsonObject(value["result"])) throw new MalformedError("a completed task without its result");
      return { ...task, status, result: fromToolResult(value["result"]) };
    case "failed":
      return { ...task, status, error: errorShape.parse(isJsonObject(value["error"]) ? value["error"] : {}) };
    default:
      return { ...task, status };
  }
}

function fromToolResult(value: JsonObject): ToolResult {
  const { resultType: _, ...result } = value;
  const content = result["content"] ?? [];
  if (!Array.isArray(content)) throw new MalformedError("a result whose content is no array");
  return { ...result, content };
}

function fromInputRequests(value: unknown): InputRequests {
  if (!isJsonObject(value)) throw new MalformedError("inputRequests that are no object");
  const count = Object.keys(value).length;
  if (count > MAX_QUESTIONS) throw new MalformedError(`${count} questions at once, where ${MAX_QUESTIONS} are read`);
  const parsed = z.record(z.string(), inputRequestShape).safeParse(value);
  if (!parsed.success) throw new MalformedError(`a question that is none: ${issuesText(parsed.error.issues, "; ")}`);
  return parsed.data as InputRequests;
}
