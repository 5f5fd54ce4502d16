/** The client role: `errand/client`. */
export type { CallParams, Progress } from "./connection.ts";
export {
  DetachedError,
  InputHandlerError,
  InputRequiredError,
  InvalidReferenceError,
  RequestFailedError,
  TaskCancelledError,
  TaskFailedError,
  WaitTimeoutError,
} from "./errors.ts";
export type { RequestFailure, WaitState } from "./errors.ts";
export type { Fetch } from "./failures.ts";
export { heedRetryAfter } from "./failures.ts";
export type {
  AnswerInput,
  ElicitAnswer,
  FormParams,
  Input,
  InputContext,
  InputHandler,
  InputHandlers,
  Questioner,
  UrlParams,
} from "./input.ts";
export type { TaskRequestOptions, WaitOptions } from "./options.ts";
export type { Outcome } from "./outcome.ts";
export type { OnTaskStatus, ResultOptions, StatusEvent } from "./pending-request.ts";
export { PendingRequest } from "./pending-request.ts";
export type { ClientTarget, CommandTarget, HostTarget, UrlTarget } from "./target.ts";
export type { TaskClientOptions } from "./task-client.ts";
export { TaskClient, createTaskClient } from "./task-client.ts";
export type { FollowMode } from "../task/follow.ts";
export type { TaskEntry } from "../registry/task-registry.ts";
export { TaskRegistry, createRegistry } from "../registry/task-registry.ts";
export type { Root, SamplingResult } from "../run/context.ts";
export type { Clock } from "../task/clock.ts";
export { waitingClock } from "../task/clock.ts";
export { ErrandError, TASKS_EXTENSION } from "../task/errors.ts";
export type {
  CancelledTask,
  CompletedTask,
  ContentBlock,
  DetailedTask,
  FailedTask,
  InputRequest,
  InputRequests,
  InputRequiredTask,
  InputResponses,
  JsonObject,
  JsonRpcError,
  Task,
  TaskStatus,
  ToolResult,
} from "../task/task.ts";
