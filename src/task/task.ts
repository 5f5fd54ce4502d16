/**
 * The words everyone in Errand uses. Names and shapes follow the Tasks extension (SEP-2663); times are milliseconds
 * since the epoch until a dialect writes them.
 */

/** Any JSON object. */
export type JsonObject = { [key: string]: unknown };

/** The status of a task (Tasks, "Task Status"). */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A status that no later event can change. */
export type TerminalStatus = "completed" | "failed" | "cancelled";

/** One block of a tool's result, for example `{ type: "text", text: "…" }`. */
export interface ContentBlock {
  type: string;
  [key: string]: unknown;
}

/** What a tool call gives: MCP's `CallToolResult`. */
export interface ToolResult {
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: JsonObject;
  [key: string]: unknown;
}

/** A JSON-RPC error object. */
export interface JsonRpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** A question to the client: `elicitation/create`, `sampling/createMessage` or `roots/list`, without its envelope. */
export interface InputRequest {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params?: JsonObject;
}

/** Questions by key. A key is never used twice in a task's life. */
export type InputRequests = { readonly [key: string]: InputRequest };

/** The client's answers by the key of the question they answer. */
export type InputResponses = { readonly [key: string]: JsonObject };

/**
 * How often a client should poll: a fixed number of milliseconds, or a range in which the hint grows with the task's
 * age, so that waiting overshoots by a small share of the time waited.
 */
export type PollInterval = number | { min: number; max: number };

/** The kinds of question that a client declared it can answer. */
export interface Askable {
  /** `elicitation/create` with a form. */
  readonly form: boolean;
  /** `elicitation/create` with a URL. */
  readonly url: boolean;
  /** `sampling/createMessage`. */
  readonly sampling: boolean;
  /** `sampling/createMessage` with tools. */
  readonly samplingTools: boolean;
  /** `roots/list`. */
  readonly roots: boolean;
}

/** One task as it is stored. A record is never changed, only replaced. */
export interface TaskRecord {
  /** At least 128 random bits. */
  readonly taskId: string;
  /** Whom the task belongs to; `undefined` when the request carried no authentication. */
  readonly principal: string | undefined;
  readonly tool: string;
  /** The call's arguments as they came, before validation. */
  readonly arguments: JsonObject;
  /** Which questions the client can answer, by what its request declared. */
  readonly askable: Askable;
  readonly status: TaskStatus;
  readonly statusMessage: string | undefined;
  readonly createdAt: number;
  /** Changes only with something a client can see. */
  readonly lastUpdatedAt: number;
  /** Counted from `createdAt`; `null` keeps the task for ever. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs: PollInterval;
  /** The questions that are open now. */
  readonly inputRequests: InputRequests;
  /** The answers received so far; emptied when the task ends. */
  readonly inputResponses: InputResponses;
  /** What the call gave, when `completed`. */
  readonly result: ToolResult | undefined;
  /** The JSON-RPC error that ended the call, when `failed`. */
  readonly error: JsonRpcError | undefined;
  /** When the record has to be looked at again: to expire it, or to bury it. `null` is never. */
  readonly dueAt: number | null;
}

/** A task as clients see it (Tasks, "Tasks"). Times are ISO 8601, durations whole milliseconds. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: number | null;
  pollIntervalMs?: number;
}

/** A task that waits for its client, with the questions that are open. */
export type InputRequiredTask = Task & { status: "input_required"; inputRequests: InputRequests };

/** A task that gave what its call would have given. */
export type CompletedTask = Task & { status: "completed"; result: ToolResult };

/** A task that ended in a JSON-RPC error. */
export type FailedTask = Task & { status: "failed"; error: JsonRpcError };

/** A task that was cancelled. */
export type CancelledTask = Task & { status: "cancelled" };

/** A task with what its status brings: open questions, the result, or the error (Tasks, "Task Status"). */
export type DetailedTask =
  | (Task & { status: "working" })
  | InputRequiredTask
  | CompletedTask
  | FailedTask
  | CancelledTask;

/** What is left of an expired task for a while, so that "expired" and "not found" differ. */
export interface Tombstone {
  readonly taskId: string;
  readonly principal: string | undefined;
  readonly status: "expired";
  readonly dueAt: number;
}

/** What a store keeps under a task's id. */
export type StoredTask = TaskRecord | Tombstone;

const TERMINAL: ReadonlySet<string> = new Set<TerminalStatus>(["completed", "failed", "cancelled"]);

/** Whether nothing can change this task any more. */
export function isTerminal(task: { readonly status: TaskStatus }): boolean {
  return TERMINAL.has(task.status);
}

/** Whether this is a tombstone. */
export function isTombstone(task: StoredTask): task is Tombstone {
  return task.status === "expired";
}

/** Whether a value is an object that is no array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
