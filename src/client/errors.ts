import type { LookError } from "../task/follow.ts";
import { ErrandError, RpcCode } from "../task/errors.ts";
import type { DetailedTask, InputRequests, JsonRpcError } from "../task/task.ts";

/** JSON-RPC leaves this code to implementations; here it is for what never reached a server, or came back broken. */
const TRANSPORT = -32000;

/** What is known of a request that failed, beside its error. */
export interface RequestFailure {
  /** The HTTP status of a response that was no success. */
  readonly status?: number | undefined;
  /** How long the server wants to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
  /** When to try again, where error and status do not say it. */
  readonly retry?: LookError["retry"];
}

/** Errors of JSON-RPC and of the protocol after which the same request fails again. */
const FINAL_CODES: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32020, -32021, -32022]);

/**
 * A request failed: the server answered with a JSON-RPC error, which `rpcCode`, `message` and `data` then are, or there
 * was no answer.
 */
export class RequestFailedError extends ErrandError implements LookError {
  /** The HTTP status, where the response was no success. */
  readonly status: number | undefined;
  /** How long the server wants to be left alone (`Retry-After`), in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Whether the same request may succeed later: `never`, `always`, or perhaps, so that it is tried a `few` times. */
  readonly retry: LookError["retry"];
  /** Whether the server answered at all. */
  readonly answered: boolean;

  constructor(error: Partial<JsonRpcError> & { message: string }, failure: RequestFailure = {}) {
    super("REQUEST_FAILED", error.code ?? TRANSPORT, error.message, error.data);
    const { status, retryAfterMs, cause, retry } = failure;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    if (cause !== undefined) this.cause = cause;
    this.answered = error.code !== undefined || status !== undefined || retry !== undefined;
    this.retry = retry ?? whenToRetry(this.rpcCode, status);
  }
}

function whenToRetry(rpcCode: number, status: number | undefined): LookError["retry"] {
  if (FINAL_CODES.has(rpcCode) || status === 401 || status === 403) return "never";
  const isPassing = status === undefined || status >= 500 || status === 404 || status === 408 || status === 425 || status === 429;
  return isPassing ? "always" : "few";
}

/** The task failed. `rpcCode`, `message` and `data` are the server's JSON-RPC error (Tasks, "Task Execution Errors"). */
export class TaskFailedError extends ErrandError {
  /** The failed task. */
  readonly task: DetailedTask;

  constructor(task: DetailedTask, error: JsonRpcError) {
    super("TASK_FAILED", error.code, error.message, error.data);
    this.task = task;
  }
}

/** The task was cancelled, by whomever; or the call was before it became one, and has no task. */
export class TaskCancelledError extends ErrandError {
  /** The cancelled task. */
  readonly task: DetailedTask | undefined;

  constructor(task: DetailedTask | undefined) {
    const what = task === undefined ? "The call" : `The task ${task.taskId}`;
    const why = task?.statusMessage === undefined ? "" : `: ${task.statusMessage}`;
    super("TASK_CANCELLED", RpcCode.internal, `${what} was cancelled${why}`);
    this.task = task;
  }
}

/** Where a wait stood when it ended before its task. */
export interface WaitState {
  /** The newest state of the task that was read, if any was. */
  readonly task: DetailedTask | undefined;
  /** What `resume` takes to go on waiting; `undefined` where there is no task. */
  readonly reference: string | undefined;
}

/** The task, or the call, asks what nobody here answers. Answer with `updateTask`, and go on with `resume`. */
export class InputRequiredError extends ErrandError implements WaitState {
  readonly task: DetailedTask | undefined;
  readonly reference: string | undefined;
  /** The questions that are open. */
  readonly inputRequests: InputRequests;

  constructor(inputRequests: InputRequests, state: WaitState) {
    const methods = [...new Set(Object.values(inputRequests).map(({ method }) => method))].join(", ");
    super(
      "INPUT_REQUIRED",
      RpcCode.internal,
      `Input is required (${methods}), and \`input\` has no handler for it. Give one, or answer by hand with updateTask.`,
    );
    this.task = state.task;
    this.reference = state.reference;
    this.inputRequests = inputRequests;
  }
}

/** The wait took longer than its `timeoutMs`. The task, if there is one, keeps running. */
export class WaitTimeoutError extends ErrandError implements WaitState {
  /** `undefined` where the call has become no task in time. */
  readonly taskId: string | undefined;
  /** The limit of the wait, in milliseconds. */
  readonly timeoutMs: number;
  readonly task: DetailedTask | undefined;
  readonly reference: string | undefined;

  /** `failure` is why the last look at the task failed, if it did. */
  constructor(taskId: string | undefined, timeoutMs: number, state: WaitState, failure?: unknown) {
    const last = state.task === undefined ? ", which was never seen" : `, which was last seen ${state.task.status}`;
    const why = failure instanceof Error ? ` The last look at it failed: ${failure.message}.` : "";
    const fate = state.task === undefined ? "" : " The task keeps running:";
    super(
      "TIMED_OUT",
      TRANSPORT,
      taskId === undefined
        ? `The server answered neither with a result nor with a task within timeoutMs, ${timeoutMs} ms`
        : `The wait for the task ${taskId}${last}, took longer than timeoutMs, ${timeoutMs} ms.${why}${fate} ` +
            "resume(error.reference) goes on waiting, cancelTask cancels it.",
    );
    this.taskId = taskId;
    this.timeoutMs = timeoutMs;
    if (failure !== undefined) this.cause = failure;
    this.task = state.task;
    this.reference = state.reference;
  }
}

/** Nobody waits any more: `detach` was called, or the client closed. The task keeps running. */
export class DetachedError extends ErrandError implements WaitState {
  readonly task: DetailedTask | undefined;
  readonly reference: string | undefined;

  constructor(state: WaitState) {
    super("DETACHED", TRANSPORT, "The wait was left. The task keeps running: resume(error.reference) goes on waiting.");
    this.task = state.task;
    this.reference = state.reference;
  }
}

/** A question was not answered: its handler failed, its answer does not fit, or the server refused the answer. */
export class InputHandlerError extends ErrandError implements WaitState {
  /** The key of the question; `undefined` where a function answers several. */
  readonly key: string | undefined;
  /** Whether the task was cancelled on that account, by `cancelOnInputError`. */
  readonly cancelled: boolean;
  readonly task: DetailedTask | undefined;
  readonly reference: string | undefined;

  constructor(key: string | undefined, cause: unknown, cancelled: boolean, state: WaitState) {
    const what = key === undefined ? "The function that answers" : `The question "${key}"`;
    const fate = state.task === undefined ? "" : ` The task ${cancelled ? "was cancelled" : "keeps running"}.`;
    super("INPUT_FAILED", RpcCode.internal, `${what} failed: ${cause instanceof Error ? cause.message : String(cause)}.${fate}`);
    this.cause = cause;
    this.key = key;
    this.cancelled = cancelled;
    this.task = state.task;
    this.reference = state.reference;
  }
}

/** A reference is none, is of a newer version, or is for another server. */
export class InvalidReferenceError extends ErrandError {
  constructor(reason: string) {
    super("INVALID_REFERENCE", RpcCode.invalidParams, `The reference cannot be used: ${reason}`);
  }
}
