import type { Askable } from "../task/task.ts";
import type { TaskContext } from "./context.ts";
import type { CallInfo } from "./policy.ts";

/** The request that waits for a run's next answer. */
export interface Waiting {
  /** Fires when the request is cancelled before it is answered. */
  readonly signal: AbortSignal | undefined;
  /** Sends `notifications/progress`, where the request asked for it. */
  readonly notifyProgress: ((done: number, total?: number, message?: string) => void) | undefined;
}

/** A call of a tool, as its requestor made it. */
export interface Call extends CallInfo, Waiting {
  readonly askable: Askable;
}

/** A tool's work. */
export type Handler = (input: unknown, task: TaskContext) => unknown;
