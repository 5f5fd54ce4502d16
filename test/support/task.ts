import type { Askable, TaskRecord } from "../../src/task/task.ts";

/** A client that can be asked everything. */
export const ASKS_ALL: Askable = { form: true, url: true, sampling: true, samplingTools: true, roots: true };

/** A client that can be asked nothing. */
export const ASKS_NOTHING: Askable = { form: false, url: false, sampling: false, samplingTools: false, roots: false };

/** A task that works, made at 1 000 ms and due at 61 000 ms, but for what is given. */
export function aTask(given: Partial<TaskRecord> & { taskId: string }): TaskRecord {
  return {
    principal: undefined,
    tool: "work",
    arguments: {},
    askable: ASKS_ALL,
    status: "working",
    statusMessage: undefined,
    createdAt: 1_000,
    lastUpdatedAt: 1_000,
    ttlMs: 60_000,
    pollIntervalMs: 100,
    inputRequests: {},
    inputResponses: {},
    result: undefined,
    error: undefined,
    dueAt: 61_000,
    ...given,
  };
}
