import type { JsonObject } from "../../src/mod.ts";
import { CAPABILITIES_KEY, CLIENT_INFO_KEY, REVISION, TASKS, VERSION_KEY } from "../support/rpc.ts";

/** The methods that are answered in front of the SDK. */
export const METHODS = [
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "subscriptions/listen",
  "subscriptions/listen to tasks",
] as const;
export type Method = (typeof METHODS)[number];

/** Stands for the id of a task that is there, in bodies and headers. */
export const KNOWN = "THE-TASK-THAT-IS-THERE";

/** A request, before the id of the task that is there is put into it. */
export interface Draft {
  method: string;
  readonly headers: Record<string, string | undefined>;
  /** The message, unless a body takes its place. */
  message: unknown;
  body: string | Uint8Array<ArrayBuffer> | undefined;
}

/** One way in which a request may be odd. */
export interface Oddity {
  readonly name: string;
  /** Changes a request that is as it should be. */
  readonly change: (draft: Draft) => void;
  /** The methods it makes sense for. Default all. */
  readonly methods?: readonly Method[];
}

const ON_TASKS = ["tasks/get", "tasks/update", "tasks/cancel"] as const;
const LISTENING = ["subscriptions/listen"] as const;

/** A request with nothing odd about it. */
export function plainDraft(kind: Method): Draft {
  const method = kind.replace(" to tasks", "");
  const listens = method === "subscriptions/listen";
  const params: JsonObject = { _meta: { [VERSION_KEY]: REVISION, [CAPABILITIES_KEY]: TASKS } };
  if (!listens) params["taskId"] = KNOWN;
  else params["notifications"] = { toolsListChanged: true, ...(kind !== method && { taskIds: [KNOWN] }) };
  if (method === "tasks/update") params["inputResponses"] = {};
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": method,
      "mcp-name": listens ? undefined : KNOWN,
    },
    message: { jsonrpc: "2.0", id: 7, method, params },
    body: undefined,
  };
}

function body(draft: Draft): JsonObject {
  return draft.message as JsonObject;
}

function params(draft: Draft): JsonObject {
  return body(draft)["params"] as JsonObject;
}

function meta(draft: Draft): JsonObject {
  return params(draft)["_meta"] as JsonObject;
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}

function base64(text: string): string {
  return `=?base64?${btoa(text)}?=`;
}

/** Sets or, with `undefined`, takes out headers. */
function header(name: string, value: string | undefined): Oddity {
  return { name: `${name}: ${value ?? "(left out)"}`, change: (draft) => void (draft.headers[name] = value) };
}

function id(value: unknown): Oddity {
  return { name: `id ${json(value).slice(0, 40)}`, change: (draft) => void (body(draft)["id"] = value) };
}

/** A body in which a number or key is written as `JSON.stringify` never would. */
function written(name: string, from: string, to: string): Oddity {
  return {
    name,
    change: (draft) => {
      draft.body = JSON.stringify(draft.message).replace(from, to);
    },
  };
}

function text(name: string, value: string | Uint8Array<ArrayBuffer>): Oddity {
  return { name, change: (draft) => void (draft.body = value) };
}

function onMessage(name: string, change: (message: JsonObject, draft: Draft) => void): Oddity {
  return { name, change: (draft) => change(body(draft), draft) };
}

function onParams(name: string, change: (given: JsonObject) => void, methods?: readonly Method[]): Oddity {
  return { name, change: (draft) => change(params(draft)), ...(methods !== undefined && { methods }) };
}

function withMeta(name: string, key: string, value: unknown): Oddity {
  return { name, change: (draft) => void (meta(draft)[key] = value) };
}

function capabilities(value: unknown): Oddity {
  return withMeta(`clientCapabilities ${json(value)}`, CAPABILITIES_KEY, value);
}

function withTasks(more: JsonObject): Oddity {
  return capabilities({ ...TASKS, ...more });
}

function clientInfo(value: unknown): Oddity {
  return withMeta(`clientInfo ${json(value)}`, CLIENT_INFO_KEY, value);
}

function inputResponses(value: unknown): Oddity {
  return onParams(`inputResponses ${json(value)}`, (given) => void (given["inputResponses"] = value));
}

/** A task id that the header mirrors as it is. */
function mirrored(name: string, taskId: string, named = taskId): Oddity {
  return {
    name,
    methods: ON_TASKS,
    change: (draft) => {
      params(draft)["taskId"] = taskId;
      draft.headers["mcp-name"] = named;
    },
  };
}

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** Every oddity. */
export const ODDITIES: readonly Oddity[] = [
  { name: "nothing odd", change: () => {} },

  // Headers.
  header("mcp-protocol-version", undefined),
  header("mcp-protocol-version", "2025-11-25"),
  header("mcp-protocol-version", "2025-03-26"),
  header("mcp-protocol-version", "2027-01-01"),
  header("mcp-protocol-version", ""),
  header("mcp-protocol-version", `${REVISION}, ${REVISION}`),
  header("mcp-protocol-version", base64(REVISION)),
  header("mcp-method", undefined),
  header("mcp-method", ""),
  header("mcp-method", "tools/call"),
  header("mcp-method", "TASKS/GET"),
  header("mcp-method", "tasks/list"),
  header("mcp-name", undefined),
  header("mcp-name", ""),
  header("mcp-name", "another"),
  header("mcp-name", KNOWN.toLowerCase()),
  header("mcp-name", `${KNOWN}, ${KNOWN}`),
  header("mcp-name", "=?base64?!!!?="),
  header("mcp-name", "=?base64??="),
  header("mcp-name", "=?base64?Zm9v"),
  header("mcp-name", base64("another")),
  {
    name: "mcp-name in Base64",
    methods: ON_TASKS,
    change: (draft) => void (draft.headers["mcp-name"] = `=?base64?${KNOWN}?=`),
  },
  mirrored("a task id that looks like Base64, mirrored as it is", "=?base64?Zm9v?="),
  mirrored("a task id that looks like Base64, in Base64", "=?base64?Zm9v?=", base64("=?base64?Zm9v?=")),
  mirrored("a task id that starts like Base64", "=?base64?Zm9v"),
  mirrored("a task id in Latin-1", "t\u00e4sk"),
  mirrored("an empty task id", ""),
  mirrored("a task id with spaces within", "a b"),
  mirrored("a task id with spaces around it", " a "),
  mirrored("__proto__ as a task id", "__proto__"),
  mirrored("constructor as a task id", "constructor"),
  mirrored("a task id of 8 000 characters", "x".repeat(8_000)),
  mirrored("a task id with a comma", "a, b"),

  // Content.
  header("content-type", undefined),
  header("content-type", ""),
  header("content-type", "text/plain"),
  header("content-type", "application/jsonp"),
  header("content-type", "application/json-seq"),
  header("content-type", "application/json; charset=utf-8"),
  header("content-type", "application/json; charset=utf-16"),
  header("content-type", "APPLICATION/JSON"),
  header("content-type", "application/json, text/plain"),
  header("content-type", "text/plain; application/json"),
  header("content-type", "multipart/form-data; boundary=x"),
  header("content-type", "application/mcp+json"),
  header("accept", undefined),
  header("accept", "text/html"),
  header("accept", "application/json"),
  header("accept", "text/event-stream"),
  header("mcp-session-id", "abc"),
  header("last-event-id", "7"),

  // Other HTTP methods.
  ...["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"].map(
    (method): Oddity => ({
      name: `${method} without a body`,
      change: (draft) => {
        draft.method = method;
        draft.message = undefined;
      },
    }),
  ),
  { name: "PUT with the body", change: (draft) => void (draft.method = "PUT") },
  { name: "DELETE with the body", change: (draft) => void (draft.method = "DELETE") },

  // Bodies that are no message.
  text("an empty body", ""),
  text("a blank body", "  \n"),
  text("half of a JSON text", '{"jsonrpc":"2.0","id":7,'),
  text("text after the JSON", '{"jsonrpc":"2.0","id":7,"method":"tasks/get"}{}'),
  text("NaN", "NaN"),
  text("single quotes", "{'jsonrpc':'2.0'}"),
  text("a byte order mark alone", "\ufeff"),
  text("bytes that are no UTF-8", new Uint8Array([0xff, 0xfe, 0x7b, 0x7d])),
  text("null", "null"),
  text("true", "true"),
  text("a number", "42"),
  text("a string", '"tasks/get"'),
  text("an empty object", "{}"),
  text("an empty batch", "[]"),
  text("a batch of nothing", "[null]"),
  text("a deep array", nested(2_000)),
  {
    name: "a byte order mark before the message",
    change: (draft) => void (draft.body = `\ufeff${JSON.stringify(draft.message)}`),
  },
  { name: "a batch of one", change: (draft) => void (draft.message = [draft.message]) },
  { name: "a batch of two", change: (draft) => void (draft.message = [draft.message, draft.message]) },
  {
    name: "a batch with a legacy request",
    change: (draft) => void (draft.message = [{ jsonrpc: "2.0", id: 1, method: "ping" }, draft.message]),
  },
  { name: "a batch in a batch", change: (draft) => void (draft.message = [[draft.message]]) },
  { name: "a body over the limit", change: (draft) => void (params(draft)["more"] = "x".repeat(70_000)) },
  {
    name: "a body over the limit that is no JSON",
    change: (draft) => void (draft.body = "x".repeat(70_000)),
  },

  // The frame of the message.
  onMessage("a notification", (message) => delete message["id"]),
  onMessage("jsonrpc left out", (message) => delete message["jsonrpc"]),
  onMessage("jsonrpc 1.0", (message) => (message["jsonrpc"] = "1.0")),
  onMessage("jsonrpc 2", (message) => (message["jsonrpc"] = 2)),
  onMessage("method left out", (message) => delete message["method"]),
  onMessage("method null", (message) => (message["method"] = null)),
  onMessage("method 5", (message) => (message["method"] = 5)),
  onMessage("method empty", (message) => (message["method"] = "")),
  onMessage("method and header tasks/list", (message, draft) => {
    message["method"] = "tasks/list";
    draft.headers["mcp-method"] = "tasks/list";
  }),
  onMessage("method and header tasks/result", (message, draft) => {
    message["method"] = "tasks/result";
    draft.headers["mcp-method"] = "tasks/result";
  }),
  onMessage("method and header __proto__", (message, draft) => {
    message["method"] = "__proto__";
    draft.headers["mcp-method"] = "__proto__";
  }),
  onMessage("method and header in capitals", (message, draft) => {
    message["method"] = String(message["method"]).toUpperCase();
    draft.headers["mcp-method"] = message["method"] as string;
  }),
  onMessage("one more member", (message) => (message["more"] = 1)),
  onMessage("a result beside the method", (message) => (message["result"] = {})),
  onMessage("an error beside the method", (message) => (message["error"] = { code: 1, message: "x" })),
  { name: "a response", change: (draft) => void (draft.message = { jsonrpc: "2.0", id: 7, result: {} }) },
  {
    name: "an error response",
    change: (draft) => void (draft.message = { jsonrpc: "2.0", id: 7, error: { code: -1, message: "x" } }),
  },
  written("__proto__ beside the method", '{"jsonrpc"', '{"__proto__":{"id":1},"jsonrpc"'),
  written("two ids", '"id":7', '"id":1,"id":7'),
  written("two methods", '"method":', '"method":"tools/call","method":'),

  // Ids.
  ...[null, true, false, "", "seven", " ", "__proto__", "x".repeat(10_000), "\ud800", "\u0000"].map(id),
  ...[0, -1, 1.5, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e300, {}, { id: 7 }, [], [7]].map(id),
  written("id -0", '"id":7', '"id":-0'),
  written("id 7.0", '"id":7', '"id":7.0'),
  written("id 7e0", '"id":7', '"id":7e0'),
  written("id 1e999", '"id":7', '"id":1e999'),
  written("id 9007199254740993", '"id":7', '"id":9007199254740993'),

  // Parameters.
  ...[undefined, null, true, 5, "params", [], ["a"], {}].map((value) =>
    onMessage(`params ${json(value)}`, (message) => (message["params"] = value)),
  ),
  ...[undefined, null, 5, true, "", {}, [], [KNOWN], { taskId: KNOWN }].map((value) =>
    onParams(`taskId ${json(value)}`, (given) => void (given["taskId"] = value), ON_TASKS),
  ),
  {
    name: "taskId left out, and no Mcp-Name",
    methods: ON_TASKS,
    change: (draft) => {
      delete params(draft)["taskId"];
      delete draft.headers["mcp-name"];
    },
  },
  onParams("a legacy task parameter", (given) => void (given["task"] = { ttl: 1 })),
  onParams("one more parameter", (given) => void (given["more"] = { deep: [1, 2, 3] })),
  onParams("a parameter named constructor", (given) => void (given["constructor"] = { prototype: 1 })),
  written("a parameter named __proto__", '"params":{', '"params":{"__proto__":{"taskId":"x"},'),
  ...["state", "", 5, null, {}, []].map((value) =>
    onParams(`requestState ${json(value)}`, (given) => void (given["requestState"] = value)),
  ),
  ...[undefined, null, 5, "answers", [], [{}], {}, { a: null }, { a: 5 }, { a: [] }, { a: {} }].map(inputResponses),
  ...[{ a: { method: "x" } }, { a: { result: {} } }, { a: { action: "accept" }, b: 5 }].map(inputResponses),
  written("an answer to __proto__", '"params":{', '"params":{"inputResponses":{"__proto__":{"action":"accept"}},'),
  ...[undefined, null, 5, "all", [], {}, { toolsListChanged: "yes" }, { unknown: true }, { resourceSubscriptions: 5 }].map(
    (value) =>
      onParams(`notifications ${json(value)}`, (given) => void (given["notifications"] = value), LISTENING),
  ),

  // The envelope.
  ...[undefined, null, 5, "meta", [], {}].map((value) =>
    onParams(`_meta ${json(value)}`, (given) => void (given["_meta"] = value)),
  ),
  ...[undefined, null, 5, "", "2025-11-25", "2027-01-01", [REVISION], {}].map((value) =>
    withMeta(`protocolVersion ${json(value)}`, VERSION_KEY, value),
  ),
  ...["2025-11-25", "2027-01-01"].map(
    (version): Oddity => ({
      name: `header and envelope at ${version}`,
      change: (draft) => {
        draft.headers["mcp-protocol-version"] = version;
        meta(draft)[VERSION_KEY] = version;
      },
    }),
  ),
  ...[undefined, null, 5, "all", true, [], {}].map(capabilities),
  ...[{ extensions: {} }, { extensions: null }, { extensions: [] }, { extensions: 5 }].map(capabilities),
  ...[null, true, 5, "yes", [], { more: 1 }].map((value) =>
    capabilities({ extensions: { "io.modelcontextprotocol/tasks": value } }),
  ),
  capabilities({ extensions: { "io.modelcontextprotocol/tasks": {}, other: 5 } }),
  ...[{ elicitation: {} }, { elicitation: 5 }, { elicitation: null }, { elicitation: [] }].map(withTasks),
  ...[{ elicitation: { form: {} } }, { elicitation: { form: 5 } }, { elicitation: { form: { applyDefaults: 5 } } }].map(
    withTasks,
  ),
  ...[{ elicitation: { url: {}, more: 5 } }, { elicitation: { form: {}, more: { a: 1 } } }].map(withTasks),
  ...[{ sampling: {} }, { sampling: 5 }, { sampling: { tools: 5 } }, { sampling: { tools: {}, context: {} } }].map(
    withTasks,
  ),
  ...[{ roots: {} }, { roots: 5 }, { roots: { listChanged: true } }, { roots: { listChanged: "yes" } }].map(withTasks),
  withTasks({ roots: { listChanged: {} } }),
  ...[{ experimental: {} }, { experimental: 5 }, { experimental: { a: 5 } }, { experimental: { a: { b: 5 } } }].map(withTasks),
  ...[{ tasks: {} }, { tasks: 5 }, { tasks: { list: 5 } }, { tasks: { requests: { sampling: 5 } } }].map(withTasks),
  ...[{ unknown: 5 }, { unknown: { a: 5 } }, { unknown: null }, { constructor: 5 }].map(withTasks),
  written("a capability named __proto__", '"extensions":', '"__proto__":{"a":{}},"extensions":'),
  written("an extension named __proto__", '"extensions":{', '"extensions":{"__proto__":{"a":1},'),
  ...[null, 5, "me", [], {}].map(clientInfo),
  ...[{ name: "a" }, { version: "1" }, { name: 5, version: "1" }, { name: "a", version: 5 }].map(clientInfo),
  ...[{ name: "", version: "" }, { name: "a", version: "1", title: "A" }, { name: "a", version: "1", title: 5 }].map(
    clientInfo,
  ),
  ...[{ name: "a", version: "1", icons: 5 }, { name: "a", version: "1", websiteUrl: 5 }].map(clientInfo),
  ...[{ name: "a", version: "1", websiteUrl: "https://a.example" }, { name: "a", version: "1", more: 5 }].map(clientInfo),
  ...["token", 5, 1.5, "", null, {}, [], true].map((value) =>
    withMeta(`progressToken ${json(value)}`, "progressToken", value),
  ),
  ...["debug", "loud", 5, null].map((value) =>
    withMeta(`logLevel ${json(value)}`, "io.modelcontextprotocol/logLevel", value),
  ),
  withMeta("one more key in _meta", "com.example/more", { a: 1 }),
  withMeta("a key of the protocol's own in _meta", "io.modelcontextprotocol/unheard", 5),
  withMeta("a related task", "io.modelcontextprotocol/related-task", { taskId: "x" }),
  withMeta("a related task that is none", "io.modelcontextprotocol/related-task", 5),
  withMeta("a subscription id", "io.modelcontextprotocol/subscriptionId", 5),
  withMeta("a trace", "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
  withMeta("a trace that is none", "traceparent", 5),
  written("a client with a setting of 1e999", '"io.modelcontextprotocol/tasks":{', '"io.modelcontextprotocol/tasks":{"a":1e999'),
  written("a parameter of 1e999", '"params":{', '"params":{"more":1e999,'),
  written("an answer of 1e999", '"params":{', '"params":{"inputResponses":{"a":{"b":1e999}},'),
  capabilities({ extensions: { "io.modelcontextprotocol/tasks": { deep: { deeper: { deepest: [{ a: [1] }] } } } } }),
  capabilities({ extensions: { "io.modelcontextprotocol/tasks": {}, other: { flag: true, list: ["a", 1, null] } } }),
  written("_meta with __proto__", '"_meta":{', '"_meta":{"__proto__":{"a":1},'),
];
