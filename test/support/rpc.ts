import assert from "node:assert/strict";
import type { DetailedTask, InputRequests, JsonObject, JsonRpcError, Task } from "../../src/mod.ts";
import { TASKS_EXTENSION } from "../../src/mod.ts";
import { EventReader } from "./events.ts";

/** The words of the envelope that every request of 2026-07-28 carries. */
export const REVISION = "2026-07-28";
export const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
export const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";
export const CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo";
export const SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo";
export const SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId";

/** Capabilities of a client that knows tasks, and of one that knows them and can be asked anything. */
export const TASKS: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } };
export const TASKS_AND_QUESTIONS: JsonObject = {
  ...TASKS,
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: {},
};

/** The `_meta` of a request by a client with these capabilities. */
export function envelope(capabilities: JsonObject = TASKS_AND_QUESTIONS, more: JsonObject = {}): JsonObject {
  return {
    [VERSION_KEY]: REVISION,
    [CLIENT_INFO_KEY]: { name: "errand-test", version: "1.0.0" },
    [CAPABILITIES_KEY]: capabilities,
    ...more,
  };
}

/** What one request got. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON-RPC response. */
  readonly message: JsonObject;
  /** What came before it, on an event stream. */
  readonly notifications: JsonObject[];
}

/** How one request differs from a plain one. */
export interface Variation {
  readonly id?: unknown;
  readonly capabilities?: JsonObject;
  /** More for `_meta`. */
  readonly meta?: JsonObject;
  /** Headers to add, or with `undefined` to leave out. */
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly signal?: AbortSignal | undefined;
}

/** A URL that is served, or whatever answers a request itself. */
export type Target = string | { fetch(request: Request): Response | Promise<Response> };

/** A small JSON-RPC client over HTTP: it sends what it is told to, and checks nothing that a test may want wrong. */
export class Rpc {
  readonly #target: Target;
  readonly #defaults: Variation;
  #lastId = 0;

  constructor(target: Target, defaults: Variation = {}) {
    this.#target = target;
    this.#defaults = defaults;
  }

  /** The same server, as somebody else. */
  as(defaults: Variation): Rpc {
    return new Rpc(this.#target, { ...this.#defaults, ...defaults });
  }

  /** Sends a request and gives the response as it comes. */
  async send(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<Response> {
    const { capabilities, meta, headers, signal, id = (this.#lastId += 1) } = { ...this.#defaults, ...variation };
    const name = params["name"] ?? params["uri"] ?? params["taskId"];
    const body = { jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope(capabilities, meta) } };
    return this.post(JSON.stringify(body), {
      signal,
      headers: {
        "mcp-protocol-version": REVISION,
        "mcp-method": method,
        "mcp-name": typeof name === "string" ? name : undefined,
        ...this.#defaults.headers,
        ...headers,
      },
    });
  }

  /** Posts a body as it is. */
  async post(
    body: string | Uint8Array<ArrayBuffer>,
    { headers = {}, signal }: Pick<Variation, "headers" | "signal"> = {},
  ): Promise<Response> {
    const given = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
    const init: RequestInit = {
      method: "POST",
      headers: Object.entries(given).filter((header): header is [string, string] => header[1] !== undefined),
      body,
      ...(signal !== undefined && { signal }),
    };
    if (typeof this.#target === "string") return fetch(this.#target, init);
    const request = new Request("http://127.0.0.1/mcp", init);
    if (!request.headers.has("host")) request.headers.set("host", "127.0.0.1");
    return this.#target.fetch(request);
  }

  /** Sends a request and reads its response to the end. */
  async request(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<Reply> {
    return readReply(await this.send(method, params, variation));
  }

  /** Sends a request that succeeds, and gives its result. */
  async result(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<JsonObject> {
    const { status, message } = await this.request(method, params, variation);
    assert.equal(message["error"], undefined, `${method} failed: ${JSON.stringify(message["error"])}`);
    assert.equal(status, 200);
    return message["result"] as JsonObject;
  }

  /** Sends a request that fails, and gives its error. */
  async error(method: string, params: JsonObject = {}, variation: Variation = {}): Promise<JsonRpcError> {
    const { message } = await this.request(method, params, variation);
    assert.equal(message["result"], undefined, `${method} succeeded: ${JSON.stringify(message["result"])}`);
    return message["error"] as JsonRpcError;
  }

  /** Calls a tool. */
  async call(name: string, args: JsonObject = {}, variation: Variation = {}): Promise<JsonObject> {
    return this.result("tools/call", { name, arguments: args }, variation);
  }

  /** Calls a tool that becomes a task. */
  async task(name: string, args: JsonObject = {}, variation: Variation = {}): Promise<Task> {
    const result = await this.call(name, args, variation);
    assert.equal(result["resultType"], "task", `${name} was answered inline: ${JSON.stringify(result)}`);
    return result as unknown as Task;
  }

  async get(taskId: string, variation: Variation = {}): Promise<DetailedTask> {
    return (await this.result("tasks/get", { taskId }, variation)) as unknown as DetailedTask;
  }

  /** The questions that a task has open. */
  async questions(taskId: string): Promise<InputRequests> {
    const task = await this.get(taskId);
    assert.equal(task.status, "input_required");
    return (task as { inputRequests: InputRequests }).inputRequests;
  }

  async update(taskId: string, inputResponses: JsonObject, variation: Variation = {}): Promise<JsonObject> {
    return this.result("tasks/update", { taskId, inputResponses }, variation);
  }

  async cancel(taskId: string, variation: Variation = {}): Promise<JsonObject> {
    return this.result("tasks/cancel", { taskId }, variation);
  }

  /** Opens a subscription and reads its acknowledgement. */
  async listen(notifications: JsonObject, variation: Variation = {}): Promise<Listening> {
    const response = await this.send("subscriptions/listen", { notifications }, variation);
    if (response.headers.get("content-type") !== "text/event-stream" || response.body === null) {
      throw new Error(`subscriptions/listen was refused: ${await response.text()}`);
    }
    const events = new EventReader(response.body);
    const acknowledged = await events.next();
    assert.equal(acknowledged?.["method"], "notifications/subscriptions/acknowledged");
    return { response, events, acknowledged: acknowledged["params"] as Listening["acknowledged"] };
  }
}

/** An open subscription. */
export interface Listening {
  readonly response: Response;
  readonly events: EventReader;
  readonly acknowledged: { readonly notifications: JsonObject; readonly _meta: JsonObject };
}

/** Reads a response to the end, be it one message or a stream of them. */
export async function readReply(response: Response): Promise<Reply> {
  const { status, headers } = response;
  if (headers.get("content-type") === "text/event-stream" && response.body !== null) {
    const messages = await new EventReader(response.body).rest();
    const message = messages.pop();
    if (message === undefined) throw new Error("The stream ended without a response.");
    return { status, headers, message, notifications: messages };
  }
  const text = await response.text();
  try {
    return { status, headers, message: JSON.parse(text) as JsonObject, notifications: [] };
  } catch {
    throw new Error(`Not JSON (HTTP ${status}): ${text}`);
  }
}

/** An answer that accepts an elicitation. */
export function accept(content?: JsonObject): JsonObject {
  return content === undefined ? { action: "accept" } : { action: "accept", content };
}

/** The text of a tool's result. */
export function textOf(result: unknown): string {
  const { content } = result as { content?: { type: string; text?: string }[] };
  return (content ?? []).map((block) => block.text ?? `[${block.type}]`).join("\n");
}

/** The only key of an object that has one. */
export function onlyKey(object: object): string {
  const keys = Object.keys(object);
  assert.equal(keys.length, 1, `one key and no more: ${keys.join(", ")}`);
  return String(keys[0]);
}
