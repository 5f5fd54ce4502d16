// Every message that the Tasks specification shows as an example, as this dialect writes it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TaskRecord } from "../../src/mod.ts";
import {
  MissingCapabilityError,
  TaskExpiredError,
  TaskNotFoundError,
  missingTasksExtension,
  toRpcError,
} from "../../src/task/errors.ts";
import {
  toCreateTaskResult,
  toDetailedTask,
  toTask,
} from "../../src/wire/2026-07-28.ts";

const CREATED_AT = Date.UTC(2025, 10, 25, 10, 30);
const UPDATED_AT = Date.UTC(2025, 10, 25, 10, 50);
const TASK_ID = "786512e2-9e0d-44bd-8f29-789f320fe840";

/** The task of the examples, `working` unless told otherwise. */
function record(change: Partial<TaskRecord> = {}): TaskRecord {
  return {
    taskId: TASK_ID,
    principal: "somebody",
    tool: "hello_world",
    arguments: { secret: "of the caller" },
    askable: { form: true, url: false, sampling: false, samplingTools: false, roots: false },
    status: "working",
    statusMessage: undefined,
    createdAt: CREATED_AT,
    lastUpdatedAt: UPDATED_AT,
    ttlMs: 3_600_000,
    pollIntervalMs: 5_000,
    inputRequests: {},
    inputResponses: {},
    result: undefined,
    error: undefined,
    dueAt: CREATED_AT + 3_600_000,
    ...change,
  };
}

/** What the examples have in common. */
const WORKING = {
  taskId: TASK_ID,
  status: "working",
  createdAt: "2025-11-25T10:30:00.000Z",
  lastUpdatedAt: "2025-11-25T10:50:00.000Z",
  ttlMs: 3_600_000,
  pollIntervalMs: 5_000,
};

const NAME_REQUEST = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Please enter your name.",
    requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  },
} as const;

/** What is left of an object on the wire, where `undefined` does not exist. */
function wire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe("2026-07-28, as the specification's examples have it", () => {
  it("writes a CreateTaskResult with a status message", () => {
    const seed = record({
      statusMessage: "The operation is now in progress.",
      lastUpdatedAt: Date.UTC(2025, 10, 25, 10, 40),
      ttlMs: 60_000,
    });
    assert.deepEqual(wire(toCreateTaskResult(seed, UPDATED_AT)), {
      resultType: "task",
      ...WORKING,
      statusMessage: "The operation is now in progress.",
      lastUpdatedAt: "2025-11-25T10:40:00.000Z",
      ttlMs: 60_000,
    });
  });

  it("writes the CreateTaskResult of the message flow", () => {
    assert.deepEqual(wire(toCreateTaskResult(record(), UPDATED_AT)), { resultType: "task", ...WORKING });
  });

  it("writes a working task", () => {
    assert.deepEqual(wire(toDetailedTask(record(), UPDATED_AT)), WORKING);
  });

  it("writes a task that needs input, with its open questions", () => {
    const task = record({ status: "input_required", inputRequests: { name: NAME_REQUEST } });
    assert.deepEqual(wire(toDetailedTask(task, UPDATED_AT)), {
      ...WORKING,
      status: "input_required",
      inputRequests: { name: NAME_REQUEST },
    });
  });

  it("writes a completed task, its result as the call would have given it", () => {
    const task = record({
      status: "completed",
      result: { content: [{ type: "text", text: "Hello, Luca!" }], isError: false },
    });
    assert.deepEqual(wire(toDetailedTask(task, UPDATED_AT)), {
      ...WORKING,
      status: "completed",
      result: { resultType: "complete", content: [{ type: "text", text: "Hello, Luca!" }], isError: false },
    });
  });

  it("writes a failed task, with the JSON-RPC error and what it says", () => {
    const task = record({
      status: "failed",
      statusMessage: "Tool execution failed: API rate limit exceeded",
      error: { code: -32603, message: "API rate limit exceeded" },
    });
    assert.deepEqual(wire(toDetailedTask(task, UPDATED_AT)), {
      ...WORKING,
      status: "failed",
      statusMessage: "Tool execution failed: API rate limit exceeded",
      error: { code: -32603, message: "API rate limit exceeded" },
    });
  });

  it("writes a tool's own error as a completed task", () => {
    const text = "Failed to process request: invalid input";
    const task = record({ status: "completed", result: { content: [{ type: "text", text }], isError: true } });
    assert.deepEqual(wire(toDetailedTask(task, UPDATED_AT)), {
      ...WORKING,
      status: "completed",
      result: { resultType: "complete", content: [{ type: "text", text }], isError: true },
    });
  });

  it("writes a cancelled task, with the reason", () => {
    const task = record({ status: "cancelled", statusMessage: "The task was cancelled by request." });
    assert.deepEqual(wire(toDetailedTask(task, UPDATED_AT)), {
      ...WORKING,
      status: "cancelled",
      statusMessage: "The task was cancelled by request.",
    });
  });

  it("names the extension that a request lacks", () => {
    assert.deepEqual(toRpcError(missingTasksExtension()), {
      code: -32021,
      message: "Missing required client capability",
      data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
    });
    assert.ok(missingTasksExtension() instanceof MissingCapabilityError);
  });

  it("tells a task that is not there from one that has expired", () => {
    assert.deepEqual(toRpcError(new TaskNotFoundError()), { code: -32602, message: "Task not found" });
    assert.deepEqual(toRpcError(new TaskExpiredError()), { code: -32602, message: "Task has expired" });
  });
});

describe("2026-07-28, where the examples are silent", () => {
  it("never tells whose a task is, what it was called with, or what was answered", () => {
    const task = record({
      status: "input_required",
      inputRequests: { name: NAME_REQUEST },
      inputResponses: { first: { action: "accept", content: { name: "told in private" } } },
    });
    for (const write of [toTask, toDetailedTask, toCreateTaskResult]) {
      const json = JSON.stringify(write(task, UPDATED_AT));
      for (const secret of ["somebody", "of the caller", "told in private", "dueAt", "hello_world"]) {
        assert.ok(!json.includes(secret), `${secret} in ${json}`);
      }
    }
  });

  it("writes no field of another status, even where the record has one", () => {
    const full = record({
      inputRequests: { name: NAME_REQUEST },
      result: { content: [] },
      error: { code: 1, message: "" },
    });
    const extra = { input_required: "inputRequests", completed: "result", failed: "error" } as const;
    for (const status of ["working", "input_required", "completed", "failed", "cancelled"] as const) {
      const keys = Object.keys(toDetailedTask({ ...full, status }, UPDATED_AT));
      const own = status in extra ? [extra[status as keyof typeof extra]] : [];
      assert.deepEqual(keys.toSorted(), [...Object.keys(WORKING), ...own].toSorted());
    }
  });

  it("writes an unlimited time to live as null", () => {
    assert.equal(toTask(record({ ttlMs: null }), UPDATED_AT).ttlMs, null);
  });

  it("lets the poll hint grow with the task's age, in whole milliseconds between its bounds", () => {
    const task = record({ pollIntervalMs: { min: 100, max: 5_000 } });
    const hintAfter = (ms: number) => toTask(task, CREATED_AT + ms).pollIntervalMs;
    assert.deepEqual([0, 999, 1_000, 12_345, 50_000, 3_600_000].map(hintAfter), [100, 100, 100, 1_235, 5_000, 5_000]);
  });

  it("keeps the poll hint within its bounds when a clock went back", () => {
    assert.equal(toTask(record({ pollIntervalMs: { min: 100, max: 5_000 } }), CREATED_AT - 60_000).pollIntervalMs, 100);
  });

  it("keeps what a tool put into its result, and marks it complete for a reader that asks for the mark", () => {
    const result = { content: [], structuredContent: { a: [1, null] }, _meta: { mine: true }, extra: "kept" };
    const task = toDetailedTask(record({ status: "completed", result }), UPDATED_AT);
    assert.deepEqual(wire(task), { ...WORKING, status: "completed", result: { resultType: "complete", ...result } });
  });

  it("writes an ended task whose payload was lost with the payload that its status needs", () => {
    assert.deepEqual(wire(toDetailedTask(record({ status: "completed" }), UPDATED_AT)), {
      ...WORKING,
      status: "completed",
      result: { resultType: "complete", content: [] },
    });
    assert.deepEqual(wire(toDetailedTask(record({ status: "failed" }), UPDATED_AT)), {
      ...WORKING,
      status: "failed",
      error: { code: -32603, message: "Internal error" },
    });
  });
});
