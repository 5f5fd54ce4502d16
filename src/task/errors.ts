import type { JsonRpcError } from "./task.ts";

/** The identifier of the Tasks extension, under which it is declared in `capabilities.extensions`. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** The JSON-RPC error codes that Errand answers with (MCP, "Error Codes"). */
export const RpcCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  missingCapability: -32021,
} as const;

/** Every error that Errand raises on purpose. `rpcCode` and `data` are what a client is told, with the message. */
export class ErrandError extends Error {
  /** A word that a program can compare; the message is for people. */
  readonly code: string;
  readonly rpcCode: number;
  readonly data: unknown;

  constructor(code: string, rpcCode: number, message: string, data?: unknown) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.rpcCode = rpcCode;
    this.data = data;
  }
}

/** A JSON-RPC error of a tool's own: thrown by a handler, it fails the task (or the call) with just this error. */
export class ProtocolError extends ErrandError {
  /** Throws `RangeError` for a code that JSON-RPC does not allow. */
  constructor(rpcCode: number, message: string, data?: unknown) {
    if (!Number.isSafeInteger(rpcCode)) {
      throw new RangeError("ProtocolError takes a JSON-RPC error code: a whole number such as -32000.");
    }
    super("PROTOCOL_ERROR", rpcCode, message, data);
  }
}

/** There is no such task, or it belongs to somebody else: the two are told apart to nobody. */
export class TaskNotFoundError extends ErrandError {
  constructor() {
    super("TASK_NOT_FOUND", RpcCode.invalidParams, "Task not found");
  }
}

/** The task's time to live ran out and it was discarded. */
export class TaskExpiredError extends ErrandError {
  constructor() {
    super("TASK_EXPIRED", RpcCode.invalidParams, "Task has expired");
  }
}

/** An answer does not fit the question it answers. Nothing of the update was applied; the question stays open. */
export class InvalidAnswerError extends ErrandError {
  constructor(key: string, reason: string) {
    super("INVALID_ANSWER", RpcCode.invalidParams, `The answer to "${key}" was refused: ${reason}`, { key, reason });
  }
}

/** `requestState` is unknown, expired, used already, or belongs to another call or caller. */
export class InvalidRequestStateError extends ErrandError {
  constructor() {
    super("INVALID_REQUEST_STATE", RpcCode.invalidParams, "Invalid or expired requestState", {
      reason: "invalid_request_state",
    });
  }
}

/** The request lacks a capability that answering it needs. */
export class MissingCapabilityError extends ErrandError {
  /** `name` says in words what is missing. */
  constructor(requiredCapabilities: object, name?: string) {
    const what = name === undefined ? "" : `: ${name}`;
    super("MISSING_CAPABILITY", RpcCode.missingCapability, `Missing required client capability${what}`, {
      requiredCapabilities,
    });
  }
}

/** The Tasks extension, as `requiredCapabilities` names it. */
export function missingTasksExtension(): MissingCapabilityError {
  return new MissingCapabilityError({ extensions: { [TASKS_EXTENSION]: {} } });
}

/** A limit of the host is reached. Nothing was made; the same request may succeed later. */
export class QuotaExceededError extends ErrandError {
  constructor(what: string) {
    super("QUOTA_EXCEEDED", RpcCode.internal, `${what} Try again later.`, { reason: "quota_exceeded", retryable: true });
  }
}

/** The host is closing and takes no new work. */
export class HostClosedError extends ErrandError {
  constructor() {
    super("HOST_CLOSED", RpcCode.internal, "The server is shutting down and takes no new work. Try again later.", {
      reason: "shutting_down",
      retryable: true,
    });
  }
}

/** What came or was made is larger than the host allows. */
export class TooLargeError extends ErrandError {
  constructor(what: string, bytes: number, limit: number, option: string, rpcCode: number = RpcCode.invalidParams) {
    super(
      "TOO_LARGE",
      rpcCode,
      `${what}: ${bytes} bytes, where ${limit} are allowed. The server's author can raise \`limits.${option}\`.`,
      { reason: "too_large", bytes, limit },
    );
  }
}

/** The person or program that was asked declined, or dismissed the question. */
export class DeclinedError extends ErrandError {
  readonly action: "decline" | "cancel";

  constructor(action: "decline" | "cancel", question: string) {
    super("DECLINED", RpcCode.internal, `The question was ${action === "decline" ? "declined" : "dismissed"}: ${question}`);
    this.action = action;
  }
}

/** Why a handler's `signal` fired: its task or call was cancelled, expired, or the host closed. */
export class AbortedError extends ErrandError {
  constructor(message: string) {
    super("ABORTED", RpcCode.internal, message);
  }
}

/** What a client is told of an error: ours and protocol errors as they are, anything else without its insides. */
export function toRpcError(error: unknown): JsonRpcError {
  if (error instanceof ErrandError) {
    return error.data === undefined
      ? { code: error.rpcCode, message: error.message }
      : { code: error.rpcCode, message: error.message, data: error.data };
  }
  if (isProtocolError(error)) {
    return error.data === undefined
      ? { code: error.code, message: error.message }
      : { code: error.code, message: error.message, data: error.data };
  }
  return { code: RpcCode.internal, message: "Internal error" };
}

/** What a client is told of an error, while `onError` hears of what was not meant for clients. */
export function tellError(error: unknown, onError: (error: unknown) => void): JsonRpcError {
  if (!isForClient(error)) onError(error);
  return toRpcError(error);
}

/** Whether a thrown value is meant for the client: ours, or the MCP SDK's `ProtocolError` / `McpError`. */
export function isForClient(error: unknown): boolean {
  return error instanceof ErrandError || isProtocolError(error);
}

/** The SDK's protocol errors, told by name, since several copies of it may be loaded and none is imported here. */
function isProtocolError(error: unknown): error is Error & { code: number; data?: unknown } {
  return (
    error instanceof Error &&
    (error.name === "ProtocolError" || error.name === "McpError") &&
    "code" in error &&
    Number.isSafeInteger(error.code)
  );
}
