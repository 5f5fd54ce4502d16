// What becomes of what a handler returns or throws: the same inline and in a task.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { Schema } from "../../src/run/context.ts";
import { RawResult } from "../../src/run/outcome.ts";
import { ErrandError, ProtocolError, TaskNotFoundError } from "../../src/task/errors.ts";
import type { JsonRpcError, ToolResult } from "../../src/task/task.ts";
import { ProtocolError as SdkProtocolError } from "@modelcontextprotocol/server";
import { turn } from "../support/clock.ts";
import { startRunner, taskOf } from "../support/running.ts";

const INTERNAL: JsonRpcError = { code: -32_603, message: "Internal error" };
const text = (value: string): ToolResult => ({ content: [{ type: "text", text: value }] });

/** What a handler's end becomes, inline and as a task, which must be the same. */
async function endOf(
  work: () => unknown,
  options: { outputSchema?: Schema; resultBytes?: number } = {},
): Promise<{ result?: ToolResult; error?: JsonRpcError; reported: unknown[] }> {
  const inline = startRunner(options);
  const answer = await inline.call(work);
  inline.isEmpty();
  const asTask = startRunner(options);
  const { taskId } = taskOf(await asTask.call(work, "required"));
  await turn();
  const task = await asTask.get(taskId);
  asTask.isEmpty();
  assert.equal(inline.errors.length, asTask.errors.length);
  const reported = inline.errors;
  if (answer.kind === "result") {
    assert.equal(task.status, "completed");
    assert.deepEqual(task.result, answer.result);
    return { result: answer.result, reported };
  }
  assert.ok(answer.kind === "error");
  assert.deepEqual([task.status, task.statusMessage], ["failed", answer.error.message]);
  assert.deepEqual(task.error, answer.error);
  return { error: answer.error, reported };
}

describe("what a handler returns", () => {
  it("is its text, its content, or nothing", async () => {
    const link = { content: [{ type: "resource_link", uri: "file:///a", name: "a" }], _meta: { mine: 1 }, extra: true };
    for (const [value, result] of [
      ["done", text("done")],
      ["", text("")],
      [undefined, { content: [] }],
      [null, { content: [] }],
      [text("content"), text("content")],
      [link, link],
      [{ content: [] }, { content: [] }],
    ] as const) {
      assert.deepEqual(await endOf(() => value), { result, reported: [] });
      assert.deepEqual(await endOf(async () => value), { result, reported: [] });
    }
  });

  it("is its structure, where the tool has an output schema", async () => {
    const outputSchema = z.object({ n: z.number() });
    const structured = { n: 1 };
    assert.deepEqual(await endOf(() => structured, { outputSchema }), {
      result: { content: [{ type: "text", text: '{"n":1}' }], structuredContent: structured },
      reported: [],
    });
    const own = { content: [{ type: "text", text: "one" }], structuredContent: structured };
    assert.deepEqual(await endOf(() => own, { outputSchema }), { result: own, reported: [] });
    const list = z.array(z.string());
    const end = await endOf(() => ["a"], { outputSchema: list });
    assert.deepEqual(end.result?.structuredContent, ["a"]);
  });

  it("is its structure too where that has a content of its own", async () => {
    for (const value of [{ content: ["a", "b"] }, { content: [] }, { content: [{ kind: "x" }] }]) {
      const outputSchema = z.object({ content: z.array(z.unknown()) });
      const { result } = await endOf(() => value, { outputSchema });
      assert.deepEqual([result?.structuredContent, result?.isError], [value, undefined]);
    }
  });

  it("is an error of the tool where it does not fit the output schema", async () => {
    const outputSchema = z.object({ n: z.number() });
    const wrong = "Output validation error: Invalid structured content for tool work: n: Invalid input";
    for (const value of [{ n: "1" }, {}, { ...text("x"), structuredContent: { n: "1" } }]) {
      const { result, reported } = await endOf(() => value, { outputSchema });
      assert.equal(result?.isError, true);
      assert.ok(String(result?.content[0]?.["text"]).startsWith(wrong), JSON.stringify(result));
      assert.deepEqual(reported, []);
    }
    for (const value of [undefined, text("only text")]) {
      const { result } = await endOf(() => value, { outputSchema });
      assert.deepEqual(result, {
        ...text(
          "Output validation error: Tool work has an output schema but no structured content was provided",
        ),
        isError: true,
      });
    }
  });

  it("is not validated where it is an error of the tool", async () => {
    const value = { ...text("it failed"), isError: true };
    const end = await endOf(() => value, { outputSchema: z.object({ n: z.number() }) });
    assert.deepEqual(end, { result: value, reported: [] });
  });

  it("cannot pass for a task or a question", async () => {
    for (const resultType of ["task", "input_required", "complete"]) {
      const end = await endOf(() => ({ ...text("done"), resultType, taskId: "mine" }));
      assert.deepEqual(end.result, { ...text("done"), taskId: "mine" });
    }
  });

  it("is passed on as it is where it is another server's", async () => {
    const raw = { content: [], resultType: "complete", odd: { deep: [1] } };
    assert.deepEqual(await endOf(() => new RawResult(raw)), { result: raw, reported: [] });
  });

  it("is what it was when it was returned, whatever the handler does to it later", async () => {
    const run = startRunner();
    const value = text("before");
    const { taskId } = taskOf(await run.call(() => value, "required"));
    await turn();
    value.content.push({ type: "text", text: "after" });
    assert.deepEqual((await run.get(taskId)).result, text("before"));
  });

  it("is an internal error, of which the author hears, where it is none of these", async () => {
    const cyclic: { content: object[]; self?: unknown } = { content: [{ type: "text", text: "x" }] };
    cyclic.self = cyclic;
    for (const value of [7, true, 1n, Symbol("s"), () => {}, {}, [], new Map(), { content: "text" }, { content: ["a"] }, cyclic]) {
      const { error, reported } = await endOf(() => value);
      assert.deepEqual(error, INTERNAL);
      assert.ok(reported.length === 1 && reported[0] instanceof TypeError, String(reported));
    }
    const { error } = await endOf(() => ({ n: 1n }), { outputSchema: z.object({ n: z.bigint() }) });
    assert.deepEqual(error, INTERNAL);
  });

  it("may be so long, in bytes", async () => {
    const resultBytes = JSON.stringify(text("é".repeat(50))).length + 50;
    assert.deepEqual((await endOf(() => "é".repeat(50), { resultBytes })).result, text("é".repeat(50)));
    const { error } = await endOf(() => "é".repeat(51), { resultBytes });
    assert.equal(error?.code, -32_603);
    assert.match(error?.message ?? "", /limits\.resultBytes/);
    assert.deepEqual(error?.data, { reason: "too_large", bytes: resultBytes + 2, limit: resultBytes });
  });
});

describe("what a handler throws", () => {
  it("is told as it is where it is an error of the protocol, whoever's", async () => {
    class McpError extends Error {
      override name = "McpError";
      code = -32_042;
      data = { elicitations: [] };
    }
    for (const [thrown, error] of [
      [new ProtocolError(-32_000, "no"), { code: -32_000, message: "no" }],
      [new ProtocolError(7, "no", { why: [1] }), { code: 7, message: "no", data: { why: [1] } }],
      [new SdkProtocolError(-32_602, "bad", { field: "a" }), { code: -32_602, message: "bad", data: { field: "a" } }],
      [new McpError("ask first"), { code: -32_042, message: "ask first", data: { elicitations: [] } }],
      [new TaskNotFoundError(), { code: -32_602, message: "Task not found" }],
      [new ErrandError("MINE", -5, "mine"), { code: -5, message: "mine" }],
    ] as const) {
      const sync = await endOf(() => {
        throw thrown;
      });
      assert.deepEqual(sync, { error, reported: [] });
      const later = await endOf(() => Promise.reject(thrown));
      assert.deepEqual(later, { error, reported: [] });
    }
  });

  it("is told without its data, where that is no JSON", async () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    for (const data of [cyclic, { n: 1n }]) {
      const end = await endOf(() => Promise.reject(new ProtocolError(-32_000, "no", data)));
      assert.deepEqual(end, { error: { code: -32_000, message: "no" }, reported: [] });
    }
    const end = await endOf(() => Promise.reject(new ProtocolError(-32_000, "no", { at: new Date(0), f: () => {} })));
    assert.deepEqual(end.error, { code: -32_000, message: "no", data: { at: "1970-01-01T00:00:00.000Z" } });
  });

  it("is an internal error that tells nothing, and the author hears of it, where it is anything else", async () => {
    const odd = Object.assign(new Error("secret"), { code: -32_000, data: "secret" });
    const named = Object.assign(new Error("secret"), { name: "McpError", code: "ENOENT" });
    const thrown = [new Error("secret"), new TypeError("secret"), odd, named, "secret", 7, { message: "secret" }, null, undefined];
    for (const value of thrown) {
      const { error, reported } = await endOf(() => {
        throw value as Error;
      });
      assert.deepEqual(error, INTERNAL);
      assert.deepEqual(reported, [value]);
    }
  });

  it("is told to nobody when the task has ended before", async () => {
    const run = startRunner();
    let fail: (error: Error) => void = () => {};
    const { taskId } = taskOf(await run.call(() => new Promise((_resolve, reject) => (fail = reject)), "required"));
    await run.runner.cancel(taskId, undefined);
    fail(new Error("because it was aborted"));
    await turn();
    assert.equal((await run.get(taskId)).status, "cancelled");
    assert.deepEqual(run.errors, []);
  });
});
