/** The server role: `errand/server`. */
export type { ConnectionHandle } from "./connections.ts";
export type { HostOptions } from "./host.ts";
export { Host, createHost } from "./host.ts";
export type { HandlerResult, SchemaOutput, ToolConfig, ToolHandler, ToolSchema } from "./host-tool.ts";
export type { HttpOptions } from "./http.ts";
export type { HostLimits, TasksOptions } from "./options.ts";
export type { Servable, ServeOptions, Served } from "./serve.ts";
export { serve } from "./serve.ts";
export type { Sizes } from "./parts.ts";
export type { CloseOptions, Tasks } from "./tasks.ts";
export { createTasks } from "./tasks.ts";
export type { TaskLogic } from "../registry/logic.ts";
export type { TaskEntry } from "../registry/task-registry.ts";
export { TaskRegistry, createRegistry } from "../registry/task-registry.ts";
export type { External, Root, SamplingResult, Schema, TaskContext } from "../run/context.ts";
export type { TaskAnswerEvent, TaskEmitted } from "../run/logic-handler.ts";
export type { CallInfo, TaskMode, TaskOptions, TaskPolicy } from "../run/policy.ts";
export type { TaskHandle } from "../run/task-handle.ts";
export type { MemoryStoreOptions } from "../store/memory.ts";
export { memory } from "../store/memory.ts";
export type { Quota, TaskStore } from "../store/store.ts";
export type { Clock } from "../task/clock.ts";
export { systemClock } from "../task/clock.ts";
export {
  AbortedError,
  DeclinedError,
  ErrandError,
  HostClosedError,
  InvalidAnswerError,
  InvalidRequestStateError,
  MissingCapabilityError,
  ProtocolError,
  QuotaExceededError,
  RpcCode,
  TASKS_EXTENSION,
  TaskExpiredError,
  TaskNotFoundError,
  TooLargeError,
} from "../task/errors.ts";
export type {
  Askable,
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
  PollInterval,
  StoredTask,
  Task,
  TaskRecord,
  TaskStatus,
  Tombstone,
  ToolResult,
} from "../task/task.ts";
