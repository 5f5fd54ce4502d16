// A server of the 2026-07-28 revision, written by hand for the tests of the client: it shares no code with Errand or
// with the SDK's server, behaves well unless a test's script says otherwise, and writes down all that it is sent.
import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../../src/task/clock.ts";
import { systemClock } from "../../src/task/clock.ts";
import type { HttpWire, StdioWire, Wire } from "./difficult-wires.ts";
import { Buffer } from "node:buffer";
import { connectWire, serveHttp, serveStdio } from "./difficult-wires.ts";

type JsonObject = { [key: string]: unknown };

/** What the server was sent. */
export interface Received {
  /** By the server's clock, in milliseconds since the server was made. */
  readonly at: number;
  readonly method: string;
  readonly params: JsonObject;
  /** `undefined` for a notification. */
  readonly id: unknown;
  /** Over HTTP. */
  readonly headers: IncomingHttpHeaders | undefined;
}

/** What the server does with one request. */
export type Behaviour = (exchange: Exchange, server: DifficultServer) => void;

/** One request, and what it is answered over. */
export class Exchange {
  readonly request: Received;
  readonly #wire: Wire;
  readonly #gone = new AbortController();

  constructor(request: Received, wire: Wire) {
    this.request = request;
    this.#wire = wire;
  }

  /** Fires when the client waits no more: it closed the connection, or said so. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** The task that the request is about. */
  get taskId(): string {
    return String(this.request.params["taskId"]);
  }

  leave(): void {
    this.#gone.abort();
  }

  notify(method: string, params: JsonObject): void {
    this.#wire.notify({ jsonrpc: "2.0", method, params });
  }

  result(result: unknown): void {
    this.respond({ jsonrpc: "2.0", id: this.request.id, result });
  }

  error(code: unknown, message: unknown, data?: unknown): void {
    this.respond({ jsonrpc: "2.0", id: this.request.id, error: { code, message, ...(data !== undefined && { data }) } });
  }

  /** Sends whatever message for a response. */
  respond(message: JsonObject): void {
    this.#wire.respond(message);
  }

  /** Sends the first half of a response and breaks the connection. */
  half(result: JsonObject): void {
    this.#wire.half({ jsonrpc: "2.0", id: this.request.id, result });
  }

  /** Ends the stream as if all were well, with no response. */
  end(): void {
    this.#wire.end();
  }

  /** Breaks the connection. */
  cut(): void {
    this.#wire.cut();
  }

  /** Answers with an HTTP response of one's own. Throws on other transports. */
  http(status: number, headers: { [name: string]: string } = {}, body = ""): void {
    if (this.#wire.http === undefined) throw new Error("Only HTTP has statuses");
    this.#wire.http(status, headers, body);
  }
}

const PREFIX = "io.modelcontextprotocol";
const EXTENSION = `${PREFIX}/tasks`;
const REVISION = "2026-07-28";
const ENDS: ReadonlySet<unknown> = new Set(["completed", "failed", "cancelled"]);

/** Which parameter the `Mcp-Name` header repeats. */
const NAMED: { readonly [method: string]: string } = {
  "tools/call": "name",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

interface Listener {
  readonly exchange: Exchange;
  readonly taskIds: ReadonlySet<string>;
}

export interface DifficultOptions {
  /** Where it takes its time from. Default the machine's. */
  readonly clock?: Clock;
  /** Whether it says that it knows tasks. Default true. */
  readonly tasks?: boolean;
  /** What its tasks say of polling, in milliseconds; `undefined` says nothing. Default 1000. */
  readonly pollIntervalMs?: number | undefined;
  /** How it answers over HTTP. Default `json`. */
  readonly responses?: "json" | "sse";
  readonly tools?: readonly JsonObject[];
}

/** What a client answered. */
export interface Answer {
  readonly taskId: string;
  readonly key: string;
  readonly response: unknown;
}

export class DifficultServer {
  readonly clock: Clock;
  readonly responses: "json" | "sse";
  /** All that came, notifications included, in order. */
  readonly received: Received[] = [];
  /** What clients did that they may not. A test takes out what it expects. */
  readonly complaints: string[] = [];
  readonly answers: Answer[] = [];
  /** The tasks as they are. */
  readonly tasks = new Map<string, JsonObject>();
  pollIntervalMs: number | undefined;
  /** How many requests came before the answer, for each task whose end a client was told. */
  readonly #ended = new Map<string, number>();
  readonly #knowsTasks: boolean;
  readonly #tools: readonly JsonObject[];
  readonly #scripts = new Map<string, Behaviour[]>();
  readonly #open = new Set<Exchange>();
  readonly #listeners = new Set<Listener>();
  readonly #start: number;
  readonly #closers: (() => Promise<void>)[] = [];
  #made = 0;
  #changes = 0;

  constructor(options: DifficultOptions = {}) {
    const { clock = systemClock, tasks = true, responses = "json", tools } = options;
    this.clock = clock;
    this.responses = responses;
    this.pollIntervalMs = "pollIntervalMs" in options ? options.pollIntervalMs : 1_000;
    this.#knowsTasks = tasks;
    this.#tools = tools ?? [{ name: "work", inputSchema: { type: "object" } }, { name: "inline", inputSchema: { type: "object" } }];
    this.#start = clock.now();
  }

  /** What the server does on the requests of a method: each behaviour once, in order, and the last from then on. */
  on(method: string, ...behaviours: readonly Behaviour[]): this {
    this.#scripts.set(method, [...behaviours]);
    return this;
  }

  /** The requests of a method, or all requests. */
  requests(method?: string): Received[] {
    return this.received.filter((one) => one.id !== undefined && (method === undefined || one.method === method));
  }

  count(method: string): number {
    return this.requests(method).length;
  }

  /** When the requests of a method came, in milliseconds since the server was made. */
  times(method: string): number[] {
    return this.requests(method).map(({ at }) => at);
  }

  /** How many requests wait for an answer, subscriptions included. */
  get open(): number {
    return this.#open.size;
  }

  /** How many subscriptions are open. */
  get listening(): number {
    return [...this.#open].filter(({ request }) => request.method === "subscriptions/listen").length;
  }

  /** What was asked about a task after its end had been told. */
  afterEnd(): string[] {
    return this.received.flatMap(({ method, params }, at) => {
      const end = this.#ended.get(String(params["taskId"]));
      return end !== undefined && at >= end ? [method] : [];
    });
  }

  // Its tasks.

  make(taskId = `task-${(this.#made += 1)}`, more: JsonObject = {}): JsonObject {
    const now = this.#now();
    const { pollIntervalMs } = this;
    const hint = pollIntervalMs === undefined ? {} : { pollIntervalMs };
    const task = { taskId, status: "working", createdAt: now, lastUpdatedAt: now, ttlMs: 3_600_000, ...hint, ...more };
    this.tasks.set(taskId, task);
    return task;
  }

  task(taskId: string): JsonObject {
    const task = this.tasks.get(taskId);
    if (task === undefined) throw new Error(`There is no ${taskId}`);
    return task;
  }

  /** Changes a task, and tells who listens. */
  change(taskId: string, change: JsonObject): JsonObject {
    const task = { ...this.task(taskId), lastUpdatedAt: this.#now(), ...change };
    this.tasks.set(taskId, task);
    this.tell(taskId);
    return task;
  }

  /** Completes a task. */
  complete(taskId: string, text = "done"): JsonObject {
    const { inputRequests: _, ...rest } = this.task(taskId);
    this.tasks.set(taskId, rest);
    return this.change(taskId, { status: "completed", result: { content: [{ type: "text", text }] } });
  }

  /** Opens questions beside those that are open. */
  ask(taskId: string, questions: JsonObject): JsonObject {
    const open = (this.task(taskId)["inputRequests"] ?? {}) as JsonObject;
    return this.change(taskId, { status: "input_required", inputRequests: { ...open, ...questions } });
  }

  /** Tells those who listen to a task something of it; by default how it is. */
  tell(taskId: string, task: JsonObject = this.task(taskId)): void {
    for (const { exchange, taskIds } of this.#listeners) {
      if (taskIds.has(taskId)) this.notify(exchange, task);
    }
  }

  notify(exchange: Exchange, task: JsonObject): void {
    this.#noteEnd(task);
    exchange.notify("notifications/tasks", { ...task, _meta: { [`${PREFIX}/subscriptionId`]: exchange.request.id } });
  }

  /** Acknowledges a subscription, and from then on tells of those tasks. */
  acknowledge(exchange: Exchange, taskIds = askedFor(exchange)): void {
    exchange.notify("notifications/subscriptions/acknowledged", {
      notifications: { taskIds },
      _meta: { [`${PREFIX}/subscriptionId`]: exchange.request.id },
    });
    const listener = { exchange, taskIds: new Set(taskIds) };
    this.#listeners.add(listener);
    exchange.gone.addEventListener("abort", () => this.#listeners.delete(listener));
  }

  /** Does with every open subscription what `end` does. */
  endListening(end: (exchange: Exchange) => void): void {
    for (const { exchange } of this.#listeners) end(exchange);
    this.#listeners.clear();
  }

  /** A task as `tasks/get` gives it. */
  snapshot(taskId: string, lie: JsonObject = {}): JsonObject {
    const task = { resultType: "complete", ...this.task(taskId), ...lie };
    this.#noteEnd(task);
    return task;
  }

  // Its requests.

  /** What a good server does. */
  usual(exchange: Exchange): void {
    const { method, params } = exchange.request;
    switch (method) {
      case "server/discover":
        return exchange.result({
          resultType: "complete",
          supportedVersions: [REVISION],
          capabilities: { tools: {}, ...(this.#knowsTasks && { extensions: { [EXTENSION]: {} } }) },
          _meta: { [`${PREFIX}/serverInfo`]: { name: "difficult", version: "1.0.0" } },
          ttlMs: 0,
          cacheScope: "private",
        });
      case "tools/list":
        return exchange.result({ resultType: "complete", tools: this.#tools, ttlMs: 0, cacheScope: "private" });
      case "tools/call":
        return this.#call(exchange, String(params["name"]));
      case "tasks/get":
        if (!this.tasks.has(exchange.taskId)) return exchange.error(-32602, "Task not found");
        return exchange.result(this.snapshot(exchange.taskId));
      case "tasks/update":
        if (!this.tasks.has(exchange.taskId)) return exchange.error(-32602, "Task not found");
        this.take(exchange);
        return exchange.result({ resultType: "complete" });
      case "tasks/cancel":
        if (!this.tasks.has(exchange.taskId)) return exchange.error(-32602, "Task not found");
        exchange.result({ resultType: "complete" });
        if (!ENDS.has(this.task(exchange.taskId)["status"])) this.change(exchange.taskId, { status: "cancelled" });
        return;
      case "subscriptions/listen":
        return this.acknowledge(exchange);
      default:
        return exchange.error(-32601, `Method not found: ${method}`);
    }
  }

  /** Takes the answers of an update. */
  take({ request, taskId }: Exchange, applied = true): void {
    const responses = request.params["inputResponses"] as JsonObject;
    for (const [key, response] of Object.entries(responses)) {
      if (this.answers.some((answer) => answer.taskId === taskId && answer.key === key)) {
        this.complaints.push(`${key} of ${taskId} was answered twice`);
      }
      this.answers.push({ taskId, key, response });
    }
    const task = this.task(taskId);
    if (!applied || task["status"] !== "input_required") return;
    const open = Object.entries(task["inputRequests"] as JsonObject).filter(([key]) => !Object.hasOwn(responses, key));
    const { inputRequests: _, ...rest } = task;
    this.tasks.set(taskId, rest);
    this.change(taskId, open.length > 0 ? { inputRequests: Object.fromEntries(open) } : { status: "working" });
  }

  #call(exchange: Exchange, name: string): void {
    if (name === "inline") return exchange.result({ resultType: "complete", content: [{ type: "text", text: "inline" }] });
    if (!declares(exchange.request)) return exchange.result({ resultType: "complete", content: [{ type: "text", text: "plain" }] });
    exchange.result({ resultType: "task", ...this.make() });
  }

  /** Takes one message that came over a wire. What a wire cannot parse never gets here. */
  accept(message: JsonObject, wire: Wire, headers?: IncomingHttpHeaders): Exchange | undefined {
    const { method, id } = message as { method?: unknown; id?: unknown };
    if (typeof method !== "string") {
      this.complaints.push(`a message that is no request: ${JSON.stringify(message)}`);
      return undefined;
    }
    const params = (message["params"] ?? {}) as JsonObject;
    const request: Received = { at: this.clock.now() - this.#start, method, params, id, headers };
    this.received.push(request);
    if (id === undefined) {
      for (const open of this.#open) if (open.request.id === params["requestId"]) open.leave();
      wire.end();
      return undefined;
    }
    this.#check(request);
    const exchange = new Exchange(request, wire);
    this.#open.add(exchange);
    exchange.gone.addEventListener("abort", () => this.#open.delete(exchange));
    const scripts = this.#scripts.get(method);
    const behaviour = scripts !== undefined && scripts.length > 1 ? scripts.shift() : scripts?.[0];
    if (behaviour === undefined) this.usual(exchange);
    else behaviour(exchange, this);
    return exchange;
  }

  // Its ends.

  /** Serves one client in this process, on its end of a pair of linked SDK transports. */
  connect(transport: Parameters<typeof connectWire>[1]): Promise<void> {
    return connectWire(this, transport);
  }

  /** Serves on a port of its own. */
  async http(): Promise<HttpWire> {
    const served = await serveHttp(this);
    this.#closers.push(served.close);
    return served;
  }

  /** The command of a process whose standard streams end in this server. */
  async stdio(): Promise<StdioWire> {
    const served = await serveStdio(this);
    this.#closers.push(served.close);
    return served;
  }

  async close(): Promise<void> {
    await Promise.all(this.#closers.splice(0).map((close) => close()));
  }

  #check({ method, params, headers }: Received): void {
    const meta = (params["_meta"] ?? {}) as JsonObject;
    const complain = (what: string) => this.complaints.push(`${method}: ${what}`);
    if (meta[`${PREFIX}/protocolVersion`] !== REVISION) complain("no protocol version");
    if (method.startsWith("tasks/") || method === "subscriptions/listen") {
      if (!declares({ params })) complain("the extension is not declared");
    }
    if (headers === undefined) return;
    if (headers["mcp-protocol-version"] !== REVISION) complain("MCP-Protocol-Version is missing");
    if (headers["mcp-method"] !== method) complain("Mcp-Method is missing or wrong");
    const named = NAMED[method];
    const name = headers["mcp-name"];
    if (named !== undefined && (typeof name !== "string" || decodeName(name) !== params[named])) {
      complain("Mcp-Name is missing or wrong");
    }
  }

  #noteEnd(task: JsonObject): void {
    const taskId = String(task["taskId"]);
    const isEnd = ENDS.has(task["status"]) && (task["status"] !== "completed" || Object.hasOwn(task, "result"));
    if (isEnd && !this.#ended.has(taskId)) this.#ended.set(taskId, this.received.length);
  }

  /** The time, with a number of changes in its last digits: two changes in one millisecond have different times. */
  #now(): string {
    this.#changes += 1;
    return new Date(this.clock.now() + this.#changes).toISOString();
  }
}

/** The tasks that a subscription asks for. */
export function askedFor({ request }: Exchange): string[] {
  return ((request.params["notifications"] as JsonObject | undefined)?.["taskIds"] ?? []) as string[];
}

/** Whether a request declares the extension. */
export function declares({ params }: Pick<Received, "params">): boolean {
  const meta = (params["_meta"] ?? {}) as JsonObject;
  const capabilities = (meta[`${PREFIX}/clientCapabilities`] ?? {}) as JsonObject;
  return Object.hasOwn(capabilities["extensions"] ?? {}, EXTENSION);
}

/** Headers carry what is not plain ASCII in Base64 (MCP, "Streamable HTTP"). */
function decodeName(header: string): string {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
  return encoded === undefined ? header : Buffer.from(encoded, "base64").toString("utf8");
}
