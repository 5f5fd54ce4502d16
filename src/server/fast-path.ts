import type { AuthInfo, McpHandlerRequestOptions, RequestId } from "@modelcontextprotocol/server";
import { isJsonContentType, readRequestBody } from "@modelcontextprotocol/server";
import { RpcCode, missingTasksExtension, tellError } from "../task/errors.ts";
import type { JsonObject } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { REVISION } from "../wire/2026-07-28.ts";
import { MAX_DEPTH, isTooDeep } from "./depth.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { EventStreams } from "./listen-http.ts";
import type { ListenHub } from "./listen.ts";
import { refusal } from "./refusal.ts";
import { withHonestSignal } from "./request.deno.ts";
import type { PrincipalOf } from "./sdk.ts";
import {
  CLIENT_CAPABILITIES_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  declaresTasks,
  envelopeCapabilities,
  serverInfoMeta,
} from "./sdk.ts";

/** The SDK's handler of HTTP requests. */
export type SdkFetch = (request: Request, options?: McpHandlerRequestOptions) => Promise<Response>;

export interface FastPathOptions {
  readonly dispatcher: Dispatcher;
  readonly hub: ListenHub;
  readonly streams: EventStreams;
  readonly principalOf: PrincipalOf;
  readonly bodyBytes: number;
  readonly serverInfo: () => object | undefined;
  readonly onError: (error: unknown) => void;
}

const METHODS: ReadonlySet<string | null> = new Set(["tasks/get", "tasks/update", "tasks/cancel", "subscriptions/listen"]);

/** A request of one of these methods with nothing unusual about it. */
interface PlainRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly tasks: boolean;
}

/**
 * Answers the methods of the extension, and listening to tasks, in front of the SDK, which makes a whole server for
 * every request. Whatever is unusual about a request goes to the SDK, so that its answer is the SDK's own.
 */
export function fastPath(sdk: SdkFetch, options: FastPathOptions): SdkFetch {
  const { bodyBytes } = options;
  return async (request, handlerOptions) => {
    const { headers, method } = request;
    if (method !== "POST" || !isJsonContentType(headers.get("content-type"))) return sdk(request, handlerOptions);
    // The body is read here once and for all: the SDK would copy it first.
    let body: unknown = handlerOptions?.parsedBody;
    if (body === undefined) {
      let text: string | undefined;
      try {
        text = await readBody(request, bodyBytes);
      } catch {
        return refusal(400, { code: RpcCode.parseError, message: "Parse error: the request body could not be read" });
      }
      if (text === undefined) {
        return refusal(413, {
          code: -32000,
          message: `Payload Too Large: Request body must not exceed ${bodyBytes} bytes`,
        });
      }
      try {
        body = JSON.parse(text);
      } catch {
        return sdk(new Request(request.url, { method, headers, body: text, signal: withHonestSignal(request).signal }), handlerOptions);
      }
      if (isTooDeep(text)) {
        return refusal(400, {
          code: RpcCode.invalidRequest,
          message: `Bad Request: the message is nested more than ${MAX_DEPTH} levels deep`,
        });
      }
    }
    const plain = plainRequest(body, headers);
    if (plain !== undefined && plain.method !== "subscriptions/listen") {
      return answer(plain, handlerOptions?.authInfo, options);
    }
    const listening = taskListening(body, headers);
    if (listening === undefined) return sdk(request, { ...handlerOptions, parsedBody: body });
    return listen({ ...listening, isPlain: plain !== undefined }, request, handlerOptions?.authInfo, sdk, options);
  };
}

async function answer(
  { id, method, params, tasks }: PlainRequest,
  authInfo: AuthInfo | undefined,
  options: FastPathOptions,
): Promise<Response> {
  const { dispatcher, principalOf, serverInfo, onError } = options;
  try {
    if (!tasks) throw missingTasksExtension();
    const principal = principalOf(authInfo);
    const taskId = params["taskId"] as string;
    let result: object = {};
    if (method === "tasks/get") result = await dispatcher.get(taskId, principal);
    else if (method === "tasks/cancel") await dispatcher.cancel(taskId, principal);
    else await dispatcher.update(taskId, principal, params["inputResponses"] as JsonObject);
    return json(200, {
      jsonrpc: "2.0",
      id,
      result: { resultType: "complete", ...result, _meta: serverInfoMeta(serverInfo()) },
    });
  } catch (error) {
    return errorResponse(id, error, onError);
  }
}

/** A request to listen to tasks. */
interface TaskListening {
  readonly message: JsonObject;
  readonly taskIds: unknown;
  /** The rest of the filter. */
  readonly others: JsonObject;
  readonly tasks: boolean;
}

async function listen(
  { message, taskIds, others, tasks, isPlain }: TaskListening & { isPlain: boolean },
  request: Request,
  authInfo: AuthInfo | undefined,
  sdk: SdkFetch,
  { hub, streams, principalOf, onError }: FastPathOptions,
): Promise<Response> {
  const id = message["id"] as RequestId;
  let inner: Response | undefined;
  try {
    if (isPlain && !tasks) throw missingTasksExtension();
    // The SDK has its say on what is unusual, and serves the rest of the filter.
    if (!isPlain || Object.keys(others).length > 0) {
      const parsedBody = { ...message, params: { ...(message["params"] as JsonObject), notifications: others } };
      inner = await sdk(request, { parsedBody, ...(authInfo !== undefined && { authInfo }) });
      if (inner.headers.get("content-type") !== "text/event-stream") return inner;
    }
    if (!tasks) throw missingTasksExtension();
    return streams.respond(await hub.subscribe(id, taskIds, principalOf(authInfo)), withHonestSignal(request).signal, inner);
  } catch (error) {
    await inner?.body?.cancel();
    return errorResponse(id, error, onError);
  }
}

/** The request, when it asks to listen to tasks and says so in body and headers alike. */
function taskListening(body: unknown, headers: Headers): TaskListening | undefined {
  if (!isJsonObject(body)) return undefined;
  const { method, params } = body;
  if (method !== "subscriptions/listen" || headers.get("mcp-method") !== method || !isJsonObject(params)) return undefined;
  if (headers.get("mcp-protocol-version") !== REVISION) return undefined;
  const { notifications, _meta: meta } = params;
  if (!isJsonObject(notifications) || !("taskIds" in notifications)) return undefined;
  const capabilities = envelopeCapabilities(meta);
  if (capabilities === undefined) return undefined;
  const { taskIds, ...others } = notifications;
  return { message: body, taskIds, others, tasks: declaresTasks(capabilities) };
}

/** The request, when there is nothing about it that the SDK could have a word to say on. */
function plainRequest(body: unknown, headers: Headers): PlainRequest | undefined {
  const named = headers.get("mcp-method");
  if (!METHODS.has(named) || headers.get("mcp-protocol-version") !== REVISION || !isJsonObject(body)) return undefined;
  // Nothing but these four: the SDK refuses what else a request may hold.
  for (const key in body) if (!PLAIN_MESSAGE.has(key)) return undefined;
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== "2.0" || !(typeof id === "string" || Number.isSafeInteger(id))) return undefined;
  if (typeof method !== "string" || method !== named || !isJsonObject(params)) return undefined;
  const capabilities = plainCapabilities(params["_meta"]);
  if (capabilities === undefined || "requestState" in params) return undefined;
  if (method !== "subscriptions/listen") {
    const { taskId } = params;
    // What looks like Base64 is the SDK's to decode, even where the two are the same.
    if (typeof taskId !== "string" || taskId !== headers.get("mcp-name") || taskId.startsWith("=?")) return undefined;
    if (method === "tasks/update" && !isJsonObject(params["inputResponses"])) return undefined;
  }
  return { id: id as RequestId, method, params, tasks: declaresTasks(capabilities) };
}

const PLAIN_MESSAGE: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);

const PLAIN_META: ReadonlySet<string> = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  "io.modelcontextprotocol/clientInfo",
]);

/** The client capabilities of an envelope that is valid beyond doubt. */
function plainCapabilities(meta: unknown): JsonObject | undefined {
  if (!isJsonObject(meta) || meta[PROTOCOL_VERSION_META_KEY] !== REVISION) return undefined;
  for (const key in meta) if (!PLAIN_META.has(key)) return undefined;
  const info = meta["io.modelcontextprotocol/clientInfo"];
  if (info !== undefined && !isPlainInfo(info)) return undefined;
  const capabilities = meta[CLIENT_CAPABILITIES_META_KEY];
  if (!isJsonObject(capabilities)) return undefined;
  for (const name in capabilities) if (!isPlainCapability(name, capabilities[name])) return undefined;
  return capabilities;
}

/** Whether a capability is known here, and has nothing in it that its schema could refuse. */
function isPlainCapability(name: string, capability: unknown): boolean {
  if (!isJsonObject(capability)) return false;
  switch (name) {
    case "extensions":
    case "experimental":
      return Object.values(capability).every((settings) => isJsonObject(settings) && isPlainJson(settings));
    case "elicitation":
      return Object.values(capability).every((mode) => isJsonObject(mode) && hasOnlyFlag(mode, "applyDefaults"));
    case "sampling":
      return Object.values(capability).every((use) => isJsonObject(use) && Object.keys(use).length === 0);
    case "roots":
      return hasOnlyFlag(capability, "listChanged");
    default:
      return false;
  }
}

function hasOnlyFlag(object: JsonObject, flag: string): boolean {
  return Object.entries(object).every(([key, value]) => key === flag && typeof value === "boolean");
}

/** Whether a value is not deep, and all its numbers are finite: `1e999` is JSON text but no JSON value. */
function isPlainJson(value: unknown, depth = 8): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isPlainJson(inner, depth - 1));
}

function isPlainInfo(info: unknown): boolean {
  if (!isJsonObject(info) || typeof info["name"] !== "string" || typeof info["version"] !== "string") return false;
  for (const key in info) if (key !== "name" && key !== "version" && key !== "title") return false;
  return info["title"] === undefined || typeof info["title"] === "string";
}

/** The body's text, or `undefined` when it is longer than it may be. */
async function readBody(request: Request, limit: number): Promise<string | undefined> {
  const length = request.headers.get("content-length");
  // A length that was announced holds on a connection, and reading at once is what the runtimes do best.
  if (length !== null && /^\d+$/.test(length) && Number(length) <= limit) {
    const text = await request.text();
    return text.length > limit ? undefined : text;
  }
  const read = await readRequestBody(request, limit);
  return read.tooLarge ? undefined : read.text;
}

function errorResponse(id: RequestId, error: unknown, onError: (error: unknown) => void): Response {
  const rpcError = tellError(error, onError);
  return json(rpcError.code === RpcCode.missingCapability ? 400 : 200, { jsonrpc: "2.0", id, error: rpcError });
}

const JSON_HEADERS = { headers: { "content-type": "application/json" } };

function json(status: number, body: object): Response {
  return new Response(JSON.stringify(body), status === 200 ? JSON_HEADERS : { ...JSON_HEADERS, status });
}
