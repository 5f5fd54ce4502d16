import type { ErrandError } from "../task/errors.ts";
import type { DetailedTask, InputRequests, ToolResult } from "../task/task.ts";
import type { WaitState, WaitTimeoutError } from "./errors.ts";
import { DetachedError, InputRequiredError, TaskCancelledError } from "./errors.ts";

/** How a call ended, or the wait for it. */
export type Outcome =
  /** The tool gave its result; with `isError` where it says that it failed. `task` is missing when it came inline. */
  | { readonly status: "completed"; readonly result: ToolResult; readonly task: DetailedTask | undefined }
  /** The task failed (`TaskFailedError`), a request did (`RequestFailedError`), or answering (`InputHandlerError`). */
  | { readonly status: "failed"; readonly error: ErrandError; readonly task: DetailedTask | undefined }
  /** The task was cancelled, or the call was before it became one. */
  | { readonly status: "cancelled"; readonly task: DetailedTask | undefined }
  /** What nobody here answers is asked; a call that is no task yet goes on with `requestState` and the answers. */
  | ({
      readonly status: "input_required";
      readonly inputRequests: InputRequests;
      readonly requestState: string | undefined;
    } & WaitState)
  /** The limit was reached; the task keeps running. */
  | ({ readonly status: "timed_out"; readonly error: WaitTimeoutError } & WaitState)
  /** The signal fired, for this reason; the task keeps running. */
  | ({ readonly status: "aborted"; readonly reason: unknown } & WaitState)
  /** The wait was left; the task keeps running. */
  | ({ readonly status: "detached" } & WaitState);

/** The result that an outcome brings; throws what it is otherwise. */
export function resultOf(outcome: Outcome): ToolResult {
  if (outcome.status === "completed") return outcome.result;
  throw errorOf(outcome);
}

/** What is thrown in an outcome's place. */
export function errorOf(outcome: Exclude<Outcome, { status: "completed" }>): unknown {
  switch (outcome.status) {
    case "failed":
    case "timed_out":
      return outcome.error;
    case "cancelled":
      return new TaskCancelledError(outcome.task);
    case "input_required":
      return new InputRequiredError(outcome.inputRequests, outcome);
    case "aborted":
      return outcome.reason;
    case "detached":
      return new DetachedError(outcome);
  }
}
