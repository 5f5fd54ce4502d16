/**
 * The dialect 2026-07-28: the Tasks extension (SEP-2663). Pure mappings from Errand's records to what is on the
 * wire.
 */
import type { DetailedTask, JsonObject, PollInterval, Task, TaskRecord, ToolResult } from "../task/task.ts";

/** The protocol revision this dialect speaks. */
export const REVISION = "2026-07-28";

/** A share of its age: how long a client may wait for the next look at a task. */
const POLL_SHARE = 0.1;

/** The poll hint for a task of some age. */
function pollHintMs(interval: PollInterval, ageMs: number): number {
  if (typeof interval === "number") return interval;
  return Math.round(Math.min(Math.max(ageMs * POLL_SHARE, interval.min), interval.max));
}

const DAY_MS = 86_400_000;
let isoDay = { day: Number.NaN, text: "" };

/** A time in ISO 8601, as `Date` writes it: nearly all are of one day, whose text is what takes long. */
export function isoTime(time: number): string {
  const whole = Math.trunc(time);
  const day = Math.floor(whole / DAY_MS);
  if (day !== isoDay.day) isoDay = { day, text: new Date(day * DAY_MS).toISOString().split("T", 1)[0] ?? "" };
  const ms = whole - day * DAY_MS;
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const clock = `${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}:${twoDigits(seconds % 60)}`;
  return `${isoDay.text}T${clock}.${ms % 1_000 < 100 ? "0" : ""}${twoDigits(ms % 1_000)}Z`;
}

function twoDigits(number: number): string {
  return number < 10 ? `0${number}` : `${number}`;
}

/** The task without what its status brings. */
export function toTask(record: TaskRecord, now: number): Task {
  const task: Task = {
    taskId: record.taskId,
    status: record.status,
    createdAt: isoTime(record.createdAt),
    lastUpdatedAt: isoTime(record.lastUpdatedAt),
    ttlMs: record.ttlMs,
    pollIntervalMs: pollHintMs(record.pollIntervalMs, now - record.createdAt),
  };
  if (record.statusMessage !== undefined) task.statusMessage = record.statusMessage;
  return task;
}

/** What `tasks/get` and `notifications/tasks` tell of a task. */
export function toDetailedTask(record: TaskRecord, now: number): DetailedTask {
  const task = toTask(record, now);
  switch (record.status) {
    case "input_required":
      return { ...task, status: record.status, inputRequests: record.inputRequests };
    case "completed":
      return { ...task, status: record.status, result: toResult(record.result ?? { content: [] }) };
    case "failed":
      return { ...task, status: record.status, error: record.error ?? { code: -32603, message: "Internal error" } };
    default:
      return { ...task, status: record.status };
  }
}

/** The seed that answers a `tools/call` in place of its result (Tasks, "Task Creation"). */
export function toCreateTaskResult(record: TaskRecord, now: number): Task & { resultType: "task" } {
  return { resultType: "task", ...toTask(record, now) };
}

/** The result of the call that became the task, just as the call would have given it. */
function toResult(result: ToolResult): ToolResult & JsonObject {
  return { ...result, resultType: "complete" };
}
