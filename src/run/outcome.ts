import { DeclinedError, RpcCode, TooLargeError, isForClient, toRpcError } from "../task/errors.ts";
import { issuesText } from "../task/issues.ts";
import type { JsonRpcError, ToolResult } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import type { External, Schema } from "./context.ts";

/** How a run ended. */
export type Outcome =
  | { readonly kind: "result"; readonly result: ToolResult }
  | { readonly kind: "error"; readonly error: JsonRpcError }
  | { readonly kind: "external" };

/** What `task.external()` returns. */
export const EXTERNAL = Object.freeze({}) as External;

/** A result of another server, to be passed on as it is. */
export class RawResult {
  readonly result: ToolResult;

  constructor(result: ToolResult) {
    this.result = result;
  }
}

/** How long a result may be, and what its structure must fit. */
export interface ResultRules {
  readonly tool: string;
  readonly outputSchema: Schema | undefined;
  readonly resultBytes: number;
}

/** The outcome of what a handler returned. */
export async function outcomeOf(value: unknown, rules: ResultRules): Promise<Outcome> {
  if (value === EXTERNAL) return { kind: "external" };
  const result = value instanceof RawResult ? value.result : await toToolResult(value, rules);
  const json = JSON.stringify(result);
  checkBytes("The result", json, rules.resultBytes, "resultBytes", RpcCode.internal);
  return { kind: "result", result: JSON.parse(json) as ToolResult };
}

const encoder = new TextEncoder();

/** Throws `TooLargeError` when a text has more bytes than it may. */
export function checkBytes(
  what: string,
  text: string,
  limit: number,
  option: string,
  rpcCode: number = RpcCode.invalidParams,
): void {
  // A character has one to three bytes for each unit of its length, so that counting is seldom needed.
  if (text.length * 3 <= limit) return;
  const bytes = encoder.encode(text).byteLength;
  if (bytes > limit) throw new TooLargeError(what, bytes, limit, option, rpcCode);
}

/** The outcome of what a handler threw. */
export function outcomeOfError(error: unknown): Outcome {
  if (error instanceof DeclinedError) return { kind: "result", result: errorResult(error.message) };
  return { kind: "error", error: tellable(toRpcError(error)) };
}

/** An error as it can be stored and sent: what its data has that is no JSON stays away. */
function tellable(error: JsonRpcError): JsonRpcError {
  if (error.data === undefined) return error;
  try {
    return JSON.parse(JSON.stringify(error)) as JsonRpcError;
  } catch {
    return { code: error.code, message: error.message };
  }
}

/** Whether the host's author should hear of a thrown value: whatever was not meant for the client. */
export function isUnexpected(error: unknown): boolean {
  return !isForClient(error);
}

/** A tool's own failure, in MCP's form: the call succeeded, the tool did not. */
export function errorResult(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

async function toToolResult(value: unknown, rules: ResultRules): Promise<ToolResult> {
  const result = shape(value, rules);
  const { outputSchema, tool } = rules;
  if (outputSchema === undefined || result.isError === true) return result;
  if (result.structuredContent === undefined) {
    return errorResult(`Output validation error: Tool ${tool} has an output schema but no structured content was provided`);
  }
  const reason = await schemaProblem(outputSchema, result.structuredContent);
  if (reason === undefined) return result;
  return errorResult(`Output validation error: Invalid structured content for tool ${tool}: ${reason}`);
}

function shape(value: unknown, rules: ResultRules): ToolResult {
  if (value === undefined || value === null) return { content: [] };
  if (isToolResult(value, rules)) {
    // What kind of result it is, is not the handler's to say: it would pass for a task.
    const { resultType: _resultType, ...result } = value;
    return result;
  }
  if (rules.outputSchema !== undefined) {
    return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
  }
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  throw new TypeError(
    `The handler of the tool "${rules.tool}" returned ${typeof value}. Return a string, { content: [ … ] }, ` +
      "or give the tool an outputSchema to return structured content.",
  );
}

/** Whether a value is a result with its content, and no structure of the tool's own that has a `content` too. */
function isToolResult(value: unknown, { outputSchema }: ResultRules): value is ToolResult {
  if (!isJsonObject(value) || !Array.isArray(value["content"])) return false;
  const { content, structuredContent, isError } = value as { [key: string]: unknown; content: unknown[] };
  if (!content.every((block) => isJsonObject(block) && typeof block["type"] === "string")) return false;
  return outputSchema === undefined || content.length > 0 || structuredContent !== undefined || isError === true;
}

/** What is wrong with a value by a schema, or `undefined`. */
export async function schemaProblem(schema: Schema, value: unknown): Promise<string | undefined> {
  const { issues } = await schema["~standard"].validate(value);
  return issues === undefined || issues.length === 0 ? undefined : issuesText(issues, ", ");
}

/** The error of a task whose host went away. */
export const SHUT_DOWN: JsonRpcError = Object.freeze({
  code: RpcCode.internal,
  message: "The server shut down before the work was done",
});
