// What the client makes of a server's messages: the specification's examples, what Errand's own host writes, and what
// no server should send.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { JsonObject } from "../../src/mod.ts";
import { toCreateTaskResult, toDetailedTask } from "../../src/wire/2026-07-28.ts";
import type { CallAnswer } from "../../src/wire/2026-07-28.client.ts";
import { MalformedError, fromCallResult, fromDetailedTask, fromTask } from "../../src/wire/2026-07-28.client.ts";
import { aTask } from "../support/task.ts";

const TASK_ID = "786512e2-9e0d-44bd-8f29-789f320fe840";

/** What the examples have in common. */
const WORKING = {
  taskId: TASK_ID,
  status: "working",
  createdAt: "2025-11-25T10:30:00Z",
  lastUpdatedAt: "2025-11-25T10:50:00Z",
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
};
const HELLO = { content: [{ type: "text", text: "Hello, Luca!" }], isError: false };

/** A message as it comes off the wire. */
const parsed = (value: unknown) => JSON.parse(JSON.stringify(value)) as JsonObject;

describe("the client, reading the specification's examples", () => {
  it("reads a CreateTaskResult, with a status message and without", () => {
    const { pollIntervalMs: _, ...silent } = WORKING;
    const told = { ...WORKING, statusMessage: "The operation is now in progress.", ttlMs: 60_000 };
    for (const seed of [told, WORKING, silent]) {
      const expected = { type: "task", task: seed };
      assert.deepEqual(fromCallResult({ resultType: "task", ...seed }), expected);
    }
  });

  it("reads the result that a call gives at once", () => {
    assert.deepEqual(fromCallResult({ resultType: "complete", ...HELLO }), { type: "result", result: HELLO });
    assert.deepEqual(fromCallResult(HELLO), { type: "result", result: HELLO }, "as before 2026-07-28");
  });

  it("reads the questions of a call that is no task yet", () => {
    const round = { resultType: "input_required", inputRequests: { name: NAME_REQUEST }, requestState: "opaque" };
    assert.deepEqual(fromCallResult(round), {
      type: "input_required",
      inputRequests: { name: NAME_REQUEST },
      requestState: "opaque",
    });
  });

  const examples: [name: string, message: JsonObject, task: JsonObject][] = [
    ["a working task", { resultType: "complete", ...WORKING }, WORKING],
    [
      "a task that needs input",
      { resultType: "complete", ...WORKING, status: "input_required", inputRequests: { name: NAME_REQUEST } },
      { ...WORKING, status: "input_required", inputRequests: { name: NAME_REQUEST } },
    ],
    [
      "a completed task",
      { resultType: "complete", ...WORKING, status: "completed", result: HELLO },
      { ...WORKING, status: "completed", result: HELLO },
    ],
    [
      "a completed task whose result says that it is complete",
      { ...WORKING, status: "completed", result: { resultType: "complete", ...HELLO } },
      { ...WORKING, status: "completed", result: HELLO },
    ],
    [
      "a failed task, which the example calls a task once more",
      {
        resultType: "task",
        ...WORKING,
        status: "failed",
        statusMessage: "Tool execution failed: API rate limit exceeded",
        error: { code: -32603, message: "API rate limit exceeded" },
      },
      {
        ...WORKING,
        status: "failed",
        statusMessage: "Tool execution failed: API rate limit exceeded",
        error: { code: -32603, message: "API rate limit exceeded" },
      },
    ],
    [
      "a tool's own error",
      { resultType: "task", ...WORKING, status: "completed", result: { content: [], isError: true } },
      { ...WORKING, status: "completed", result: { content: [], isError: true } },
    ],
    [
      "a cancelled task, with the reason",
      { ...WORKING, status: "cancelled", statusMessage: "The task was cancelled by request." },
      { ...WORKING, status: "cancelled", statusMessage: "The task was cancelled by request." },
    ],
  ];
  for (const [name, message, task] of examples) {
    it(`reads ${name}, from tasks/get and from a notification`, () => {
      assert.deepEqual(fromDetailedTask(parsed(message), TASK_ID), task);
      const meta = { "io.modelcontextprotocol/subscriptionId": "1" };
      assert.deepEqual(fromDetailedTask(parsed({ ...message, _meta: meta }), TASK_ID), task);
    });
  }
});

const text = fc.string({ unit: "grapheme" });
/** JSON keeps no `__proto__` apart from a prototype in every reader, and no `-0`. */
const key = text.filter((one) => one !== "__proto__");
const json = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value).replaceAll("__proto__", "proto")));
const object = fc.dictionary(key, json, { noNullPrototype: true });
const time = fc.integer({ min: 0, max: Date.UTC(2100, 0) });

const records = fc
  .record({
    taskId: text.filter((taskId) => taskId !== ""),
    createdAt: time,
    lastUpdatedAt: time,
    status: fc.constantFrom("working", "input_required", "completed", "failed", "cancelled"),
    statusMessage: fc.option(text, { nil: undefined }),
    ttlMs: fc.option(fc.maxSafeNat()),
    pollInterval: fc.oneof(fc.integer({ min: 1 }), fc.constant({ min: 100, max: 5_000 })),
    inputRequests: fc.dictionary(
      key,
      fc.record(
        {
          method: fc.constantFrom("elicitation/create", "sampling/createMessage", "roots/list"),
          params: object,
        },
        { requiredKeys: ["method"], noNullPrototype: true },
      ),
      { noNullPrototype: true },
    ),
    result: fc.option(
      fc
        .tuple(object, fc.array(fc.tuple(text, object).map(([type, rest]) => ({ ...rest, type }))))
        .map(([rest, content]) => ({ ...rest, content })),
      { nil: undefined },
    ),
    error: fc.option(
      fc.record(
        { code: fc.maxSafeInteger(), message: text, data: json },
        { requiredKeys: ["code", "message"], noNullPrototype: true },
      ),
      { nil: undefined },
    ),
  })
  .map((given) => aTask(given));

describe("the client, reading what Errand's host writes", () => {
  it("has each task as it was written, but for the mark of a complete result", () => {
    fc.assert(
      fc.property(records, time, (record, now) => {
        const expected = parsed(toDetailedTask(record, now));
        const result = expected["result"] as JsonObject | undefined;
        if (result !== undefined) {
          assert.equal(result["resultType"], "complete");
          delete result["resultType"];
        }
        const message = { resultType: "complete", ...toDetailedTask(record, now) };
        assert.deepEqual(fromDetailedTask(parsed(message), record.taskId), expected);
      }),
      { numRuns: 500 },
    );
  });

  it("has each seed of a task as it was written", () => {
    fc.assert(
      fc.property(records, time, (record, now) => {
        const { resultType, ...task } = parsed(toCreateTaskResult(record, now));
        assert.equal(resultType, "task");
        assert.deepEqual(fromCallResult(parsed(toCreateTaskResult(record, now))), { type: "task", task });
      }),
    );
  });
});

describe("the client, reading what no server should send", () => {
  const NO_TASKS: [name: string, value: unknown][] = [
    ["nothing", undefined],
    ["null", null],
    ["a text", "working"],
    ["a list", [WORKING]],
    ["no fields", {}],
    ["no id", { ...WORKING, taskId: undefined }],
    ["an empty id", { ...WORKING, taskId: "" }],
    ["a number for an id", { ...WORKING, taskId: 7 }],
    ["no status", { ...WORKING, status: undefined }],
    ["a status of another dialect", { ...WORKING, status: "submitted" }],
    ["a status in capitals", { ...WORKING, status: "Working" }],
    ["a list of statuses", { ...WORKING, status: ["working"] }],
  ];
  for (const [name, value] of NO_TASKS) {
    it(`takes ${name} for no task`, () => {
      assert.throws(() => fromTask(value), MalformedError);
      if (typeof value !== "object" || value === null) return;
      assert.throws(() => fromDetailedTask(value as JsonObject, TASK_ID), MalformedError);
      assert.throws(() => fromCallResult({ ...value, resultType: "task" }), MalformedError);
    });
  }

  const MALFORMED: [name: string, change: JsonObject, message: RegExp][] = [
    ["another task", { taskId: "another" }, /another in the place of 786512e2/],
    ["a completed task without a result", { status: "completed" }, /without its result/],
    ["a completed task whose result is null", { status: "completed", result: null }, /without its result/],
    ["a completed task whose result is a list", { status: "completed", result: [HELLO] }, /without its result/],
    ["a result whose content is a text", { status: "completed", result: { content: "Hello" } }, /no array/],
    ["a result whose content is an object", { status: "completed", result: { content: {} } }, /no array/],
    ["a task that needs input and asks nothing", { status: "input_required" }, /no object/],
    ["questions in a list", { status: "input_required", inputRequests: [NAME_REQUEST] }, /no object/],
    ["a question without a method", { status: "input_required", inputRequests: { name: { params: {} } } }, /name/],
    ["a question that is a text", { status: "input_required", inputRequests: { name: "Name?" } }, /name/],
    [
      "a question with a list of parameters",
      { status: "input_required", inputRequests: { name: { method: "roots/list", params: [] } } },
      /name/,
    ],
  ];
  for (const [name, change, message] of MALFORMED) {
    it(`does not take ${name}`, () => {
      assert.throws(
        () => fromDetailedTask({ ...WORKING, ...change }, TASK_ID),
        (error) => error instanceof MalformedError && message.test(error.message),
      );
    });
  }

  it("does not take questions that are none from a call either", () => {
    for (const inputRequests of [[], "Name?", { name: null }, { name: { method: 7 } }]) {
      assert.throws(() => fromCallResult({ resultType: "input_required", inputRequests }), MalformedError);
    }
    for (const content of ["Hello", {}, 7]) assert.throws(() => fromCallResult({ content }), MalformedError);
  });

  it("takes a call's answer without content for an empty one, and drops a state that is no text", () => {
    assert.deepEqual(fromCallResult({}), { type: "result", result: { content: [] } });
    assert.deepEqual(fromCallResult({ content: null, structuredContent: 7 }), {
      type: "result",
      result: { content: [], structuredContent: 7 },
    });
    const none: CallAnswer = { type: "input_required", inputRequests: {}, requestState: undefined };
    assert.deepEqual(fromCallResult({ resultType: "input_required" }), none);
    assert.deepEqual(fromCallResult({ resultType: "input_required", requestState: { a: 1 } }), none);
  });

  it("leaves out hints that make no sense", () => {
    const { statusMessage: _, pollIntervalMs: __, ...rest } = { ...WORKING, statusMessage: "" };
    for (const pollIntervalMs of [0, -1, "5000", null, {}, [1], true, Number.POSITIVE_INFINITY, Number.NaN]) {
      assert.deepEqual(fromTask({ ...WORKING, pollIntervalMs }), rest, JSON.stringify(pollIntervalMs));
    }
    for (const statusMessage of [7, null, {}, ["busy"]]) {
      assert.deepEqual(fromTask({ ...WORKING, statusMessage }), WORKING, JSON.stringify(statusMessage));
    }
    for (const ttlMs of [-1, "60000", undefined, {}, Number.POSITIVE_INFINITY]) {
      assert.deepEqual(fromTask({ ...WORKING, ttlMs }), { ...WORKING, ttlMs: null }, JSON.stringify(ttlMs));
    }
    for (const when of [7, null, undefined, {}]) {
      const without = { ...WORKING, createdAt: "", lastUpdatedAt: "" };
      assert.deepEqual(fromTask({ ...WORKING, createdAt: when, lastUpdatedAt: when }), without, JSON.stringify(when));
    }
  });

  it("believes that a task failed, whatever its error is", () => {
    const unknown = { code: -32603, message: "The server did not say why" };
    const errors: [error: unknown, read: object][] = [
      [undefined, unknown],
      [null, unknown],
      ["broke", unknown],
      [[], unknown],
      [{ code: "E_BROKE", message: "broke" }, { code: -32603, message: "broke" }],
      [{ code: 1.5, message: 7 }, unknown],
      [{ code: -1, message: "broke", data: null, stack: "at home" }, { code: -1, message: "broke", data: null }],
    ];
    for (const [error, read] of errors) {
      const task = fromDetailedTask({ ...WORKING, status: "failed", error }, TASK_ID);
      assert.deepEqual(task, { ...WORKING, status: "failed", error: read });
    }
  });

  it("takes no field that a task does not have", () => {
    const more = { ...WORKING, resultType: "complete", _meta: {}, result: HELLO, error: {}, principal: "me", dueAt: 1 };
    assert.deepEqual(fromDetailedTask(more, TASK_ID), WORKING);
  });

  it("is not led to another prototype by a key", () => {
    const evil = JSON.parse(
      `{"status":"input_required","taskId":"${TASK_ID}","__proto__":{"status":"completed"},"inputRequests":` +
        '{"__proto__":{"method":"roots/list"},"constructor":{"method":"roots/list"}}}',
    ) as JsonObject;
    const task = fromDetailedTask(evil, TASK_ID);
    assert.ok(task.status === "input_required");
    assert.deepEqual(Object.keys(task.inputRequests), ["constructor"]);
    for (const one of [task, task.inputRequests]) assert.equal(Object.getPrototypeOf(one), Object.prototype);
    const { result } = fromCallResult(JSON.parse('{"content":[],"__proto__":{"isError":true}}') as JsonObject) as {
      result: object;
    };
    assert.equal(Object.getPrototypeOf(result), Object.prototype);
    assert.equal(({} as { status?: unknown }).status, undefined);
  });

  it("gives a task or says that there is none, and does nothing else, whatever comes", () => {
    const statuses = fc.constantFrom("working", "input_required", "completed", "failed", "cancelled");
    const questions = fc.dictionary(fc.string(), fc.record({ method: fc.jsonValue(), params: fc.jsonValue() }));
    const fields = fc.record(
      {
        taskId: fc.oneof(fc.constant(TASK_ID), fc.jsonValue()),
        status: fc.oneof(statuses, fc.jsonValue()),
        resultType: fc.oneof(fc.constantFrom("task", "complete", "input_required"), fc.jsonValue()),
        statusMessage: fc.jsonValue(),
        createdAt: fc.jsonValue(),
        lastUpdatedAt: fc.jsonValue(),
        ttlMs: fc.jsonValue(),
        pollIntervalMs: fc.jsonValue(),
        inputRequests: fc.oneof(questions, fc.jsonValue()),
        result: fc.oneof(fc.record({ content: fc.jsonValue() }), fc.jsonValue()),
        error: fc.jsonValue(),
        requestState: fc.jsonValue(),
      },
      { requiredKeys: [], noNullPrototype: true },
    );
    const seen = new Set<string>();
    fc.assert(
      fc.property(fields, (message) => {
        const task = readOrNone(() => fromDetailedTask(parsed(message), TASK_ID));
        seen.add(task?.status ?? "none");
        if (task !== undefined) {
          assert.equal(task.taskId, TASK_ID);
          assert.equal(typeof task.lastUpdatedAt, "string");
          assert.ok(task.ttlMs === null || task.ttlMs >= 0);
          assert.ok(task.pollIntervalMs === undefined || task.pollIntervalMs > 0);
          if (task.status === "completed") assert.ok(Array.isArray(task.result.content));
          if (task.status === "failed") assert.ok(Number.isSafeInteger(task.error.code));
          if (task.status === "input_required") {
            for (const { method } of Object.values(task.inputRequests)) assert.equal(typeof method, "string");
          }
        }
        const answer = readOrNone(() => fromCallResult(parsed(message)));
        seen.add(answer === undefined ? "no answer" : `answer: ${answer.type}`);
      }),
      { numRuns: 3_000, seed: 1 },
    );
    const expected = ["none", "working", "input_required", "completed", "failed", "cancelled"];
    const answers = ["no answer", "answer: task", "answer: result", "answer: input_required"];
    assert.deepEqual([...seen].toSorted(), [...expected, ...answers].toSorted());
  });
});

/** What is read, or `undefined` where it is malformed; any other error is a fault. */
function readOrNone<Read>(read: () => Read): Read | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
