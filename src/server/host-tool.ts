import type { Icon, StandardSchemaWithJSON, ToolAnnotations } from "@modelcontextprotocol/server";
import { McpServer } from "@modelcontextprotocol/server";
import type { TaskLogic } from "../registry/logic.ts";
import { isLogic } from "../registry/logic.ts";
import type { External, Schema, TaskContext } from "../run/context.ts";
import { logicHandler } from "../run/logic-handler.ts";
import type { PolicyDefaults, TaskPolicy } from "../run/policy.ts";
import { resolvePolicy } from "../run/policy.ts";
import type { Handler } from "../run/call.ts";
import type { Tool } from "../run/runner.ts";
import type { Clock } from "../task/clock.ts";
import type { JsonObject, ToolResult } from "../task/task.ts";
import { memoized } from "./schema.ts";

/** A schema for a tool's input or output: zod, Valibot, ArkType, or JSON Schema by the SDK's `fromJsonSchema`. */
export type ToolSchema<Output = unknown> = Schema<Output>;

/** What a schema gives. */
export type SchemaOutput<S> = S extends Schema<infer Output> ? Output : never;

/** What a tool is: MCP's words for it, and how its calls become tasks. */
export interface ToolConfig<Input extends Schema | undefined, Output extends Schema | undefined> {
  title?: string;
  description?: string;
  /** What the arguments must be. Without it, the tool takes none. */
  inputSchema?: Input;
  /** What `structuredContent` must be. With it, the handler may return the structured value itself. */
  outputSchema?: Output;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: JsonObject;
  /** Default `optional`. */
  task?: TaskPolicy<Input extends Schema ? SchemaOutput<Input> : JsonObject>;
}

/** What a handler may return. */
export type HandlerResult<Output extends Schema | undefined> =
  | (Output extends Schema ? SchemaOutput<Output> : string | undefined | void)
  | ToolResult
  | External;

/** A tool's work: a function, the same for a task and a plain call. */
export type ToolHandler<Input extends Schema | undefined, Output extends Schema | undefined> = (
  input: Input extends Schema ? SchemaOutput<Input> : JsonObject,
  task: TaskContext,
) => HandlerResult<Output> | Promise<HandlerResult<Output>>;

/** A tool of a host, ready to run and to register. */
export interface HostTool extends Tool {
  readonly config: {
    readonly title?: string;
    readonly description?: string;
    readonly inputSchema?: Schema;
    readonly outputSchema?: Schema;
    readonly annotations?: ToolAnnotations;
    readonly icons?: Icon[];
    readonly _meta?: JsonObject;
  };
}

/** Checks a tool's definition and makes it ready. Throws `TypeError` or `RangeError` that says what to write. */
export function defineTool(
  name: string,
  config: ToolConfig<Schema | undefined, Schema | undefined>,
  work: Handler | TaskLogic,
  clock: Clock,
  defaults: PolicyDefaults,
): HostTool {
  const where = `host.tool("${name}")`;
  if (typeof name !== "string" || name === "") throw new TypeError("host.tool(name, …) takes a name that is not empty.");
  // The SDK keeps its tools in a plain object, where these names are taken: every request would fail.
  if (name in Object.prototype) throw new TypeError(`${where}: the MCP SDK cannot hold a tool of this name.`);
  if (typeof work !== "function" && !isLogic(work)) {
    throw new TypeError(`${where} takes a function, or XState actor logic such as a machine, as its third argument.`);
  }
  if (typeof config !== "object" || config === null) {
    throw new TypeError(`${where} takes what the tool is as its second argument, or {}.`);
  }
  const { task = "optional", inputSchema, outputSchema, ...rest } = config;
  if (typeof task !== "function") resolvePolicy(task, defaults, where);
  const listed = {
    ...rest,
    ...(inputSchema !== undefined && { inputSchema: memoized(inputSchema, `${where}: inputSchema`) }),
    ...(outputSchema !== undefined && { outputSchema: memoized(outputSchema, `${where}: outputSchema`) }),
  };
  checkListable(name, listed, where);
  return {
    name,
    policy: task,
    outputSchema,
    handler: typeof work === "function" ? work : logicHandler(work, clock),
    config: listed,
  };
}

/** Throws for a tool whose schemas clients cannot be told: the list of all the host's tools would fail with it. */
function checkListable(name: string, { inputSchema, outputSchema }: HostTool["config"], where: string): void {
  const server = new McpServer({ name: "check", version: "0" });
  const schemas = {
    inputSchema: inputSchema as StandardSchemaWithJSON | undefined,
    outputSchema: outputSchema as StandardSchemaWithJSON | undefined,
  };
  const tool = server.registerTool(name, schemas as { inputSchema: StandardSchemaWithJSON }, () => ({ content: [] }));
  if (inputSchema !== undefined && server.toolInputSchemaJson(name) === undefined) {
    throw new TypeError(`${where}: inputSchema takes an object schema that JSON Schema can express.`);
  }
  if (outputSchema !== undefined && tool.outputSchemaJson === undefined) {
    throw new TypeError(`${where}: outputSchema takes a schema that JSON Schema can express.`);
  }
}
