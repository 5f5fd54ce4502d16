import type {
  AuthInfo,
  McpHttpHandler,
  McpRequestContext,
  McpServerOptions,
  ServerNotifier,
  Transport,
} from "@modelcontextprotocol/server";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { Hono } from "hono";
import type { TaskLogic } from "../registry/logic.ts";
import type { TaskRegistry } from "../registry/task-registry.ts";
import type { Schema } from "../run/context.ts";
import type { Handler } from "../run/call.ts";
import type { TaskHandle } from "../run/task-handle.ts";
import type { ConnectionHandle } from "./connections.ts";
import { Connections } from "./connections.ts";
import type { HostTool, ToolConfig, ToolHandler } from "./host-tool.ts";
import { defineTool } from "./host-tool.ts";
import type { HttpOptions } from "./http.ts";
import { createEndpoint } from "./http.ts";
import type { TasksOptions } from "./options.ts";
import { checkFunction, checkTransport } from "./options.ts";
import { registerOwnTools } from "./own-tools.ts";
import type { Sizes } from "./parts.ts";
import { Parts } from "./parts.ts";
import { registerTaskMethods } from "./task-methods.ts";
import type { CloseOptions } from "./tasks.ts";
import { checkGrace } from "./tasks.ts";

/** Options of `createHost`. Durations are milliseconds. */
export interface HostOptions extends TasksOptions, HttpOptions {
  /** The server's name and version, as clients see them. */
  name: string;
  version: string;
  title?: string;
  websiteUrl?: string;
  /** How a client's model should use the server. */
  instructions?: string;
  /** More options of the SDK's `McpServer`, for example capabilities. */
  serverOptions?: McpServerOptions;
  /** Registers what is not a tool of the host: resources, prompts, plain SDK tools. Called for each SDK server made. */
  setup?: (server: McpServer, ctx: McpRequestContext) => void | Promise<void>;
}

/** Makes a host: a server whose tools become tasks. Throws `TypeError` or `RangeError` that says what to write. */
export function createHost(options: HostOptions): Host {
  return new Host(options);
}

/** An MCP server whose tools become tasks. Its `fetch` makes it a default export that Bun and Deno serve. */
export class Host {
  /** Where the endpoint is. */
  readonly path: string;
  /** The endpoint with its checks as a Hono app, to mount in another: `app.route("/", host.app)`. */
  readonly app: Hono;
  /** Answers a request at the host's path. */
  readonly fetch: (request: Request, info?: unknown) => Response | Promise<Response>;
  /** Tells HTTP and stdio clients that listen for it that tools, prompts or resources changed. */
  readonly notify: ServerNotifier;
  readonly #options: HostOptions;
  readonly #serverInfo: { name: string; version: string; title?: string; websiteUrl?: string };
  readonly #parts: Parts;
  readonly #tools = new Map<string, HostTool>();
  readonly #sdk: McpHttpHandler;
  readonly #handle: (request: Request, options?: { authInfo?: AuthInfo }) => Promise<Response>;
  readonly #connected = new Set<McpServer>();
  readonly #connections: Connections;

  constructor(options: HostOptions) {
    const { name, version, title, websiteUrl, setup } = options;
    if (typeof name !== "string" || name === "" || typeof version !== "string" || version === "") {
      throw new TypeError('createHost takes a name and a version: createHost({ name: "reports", version: "1.0.0" }).');
    }
    if (setup !== undefined) checkFunction(setup, "setup");
    this.#options = options;
    this.#serverInfo = {
      name,
      version,
      ...(title !== undefined && { title }),
      ...(websiteUrl !== undefined && { websiteUrl }),
    };
    this.#parts = new Parts(options);
    this.#parts.identify(this.#serverInfo, (tool) => this.#tools.get(tool));
    const { limits, keepAliveMs, onError } = this.#parts.options;
    this.#sdk = createMcpHandler(
      async (ctx) => {
        try {
          return await this.#makeServer(ctx);
        } catch (error) {
          onError(error, {});
          throw error;
        }
      },
      { keepAliveMs, maxRequestBodySize: limits.bodyBytes, maxSubscriptions: limits.subscriptions },
    );
    this.#connections = new Connections({
      factory: (ctx) => this.#makeServer(ctx),
      subscriptions: limits.subscriptions,
      onError: (error) => onError(error, {}),
    });
    this.#handle = this.#parts.wrapFetch((request, handlerOptions) => this.#sdk.fetch(request, handlerOptions));
    const { app, fetch, path } = createEndpoint(this.#handle, options, (error) => onError(error, {}));
    this.path = path;
    this.app = app;
    this.fetch = fetch;
    this.notify = this.#notifier();
  }

  /**
   * Adds a tool. `work` is a function, or XState actor logic; it is the same whether the call becomes a task or not.
   * Add tools before serving: a client that is connected, as on stdio, sees those that were there when it came.
   */
  tool<Input extends Schema | undefined = undefined, Output extends Schema | undefined = undefined>(
    name: string,
    config: ToolConfig<Input, Output>,
    work: ToolHandler<Input, Output> | TaskLogic,
  ): this {
    if (this.#tools.has(name)) throw new TypeError(`host.tool("${name}"): there is a tool of this name already.`);
    const { clock, defaults } = this.#parts.options;
    const tool = defineTool(
      name,
      config,
      work as Handler | TaskLogic,
      clock,
      defaults,
    );
    this.#tools.set(name, tool);
    return this;
  }

  /** The endpoint alone, to mount behind routing, checks and authentication of one's own. */
  handle(request: Request, options: { authInfo?: AuthInfo } = {}): Promise<Response> {
    return this.#handle(request, options);
  }

  /**
   * A task by its id, to complete, fail or ask in: for whoever does the work of a handler that returned
   * `task.external()`.
   */
  task(taskId: string): TaskHandle {
    return this.#parts.task(taskId);
  }

  /** Where the host's tasks can be listed and watched. */
  get registry(): TaskRegistry {
    return this.#parts.options.registry;
  }

  /** How much is held, for tests and for figures. */
  get sizes(): Sizes {
    return this.#parts.sizes;
  }

  /**
   * Serves one client over any transport of the SDK that is not started yet, in both eras. Its requests carry no
   * authentication, so that its tasks have no principal. Throws `HostClosedError` when the host is closed.
   */
  connect(transport: Transport): ConnectionHandle {
    checkTransport(transport);
    return this.#connections.open(this.#parts.transport(transport));
  }

  /** Serves one client on stdin and stdout, and closes the host when it goes. Write nothing else to stdout. */
  stdio(): ConnectionHandle {
    const { limits, onError } = this.#parts.options;
    const connection = this.connect(
      new StdioServerTransport(undefined, undefined, { maxBufferSize: limits.bodyBytes }),
    );
    const closed = connection.closed.then(() => this.close()).catch((error: unknown) => onError(error, {}));
    return { closed, close: () => connection.close() };
  }

  /**
   * Takes no new work, lets what runs go on for `graceMs` milliseconds (default 0), fails the rest, and ends the
   * streams. Tasks stay readable until the grace is over.
   */
  async close({ graceMs = 0 }: CloseOptions = {}): Promise<void> {
    checkGrace(graceMs);
    try {
      await this.#parts.close(graceMs);
    } finally {
      await this.#sdk.close();
      await this.#connections.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #makeServer(ctx: McpRequestContext): Promise<McpServer> {
    const { instructions, serverOptions, setup } = this.#options;
    const { options, runner, dispatcher, unanswered } = this.#parts;
    const server = new McpServer(this.#serverInfo, {
      ...(instructions !== undefined && { instructions }),
      ...serverOptions,
      capabilities: { tools: { listChanged: true }, ...serverOptions?.capabilities },
    });
    registerTaskMethods(server, dispatcher, options.principalOf, (error) => options.onError(error, {}));
    registerOwnTools(server, {
      tools: this.#toolsFor(ctx),
      runner,
      clock: options.clock,
      principalOf: options.principalOf,
      serverInfo: this.#serverInfo,
      unanswered,
      onError: options.onError,
    });
    await setup?.(server, ctx);
    if (ctx.requestInfo === undefined) this.#keep(server);
    return server;
  }

  /** The tools that a request can be about: of a call, the one it names. */
  #toolsFor({ requestInfo }: McpRequestContext): HostTool[] {
    const method = requestInfo?.headers.get("mcp-method") ?? "tools/list";
    const name = requestInfo?.headers.get("mcp-name") ?? "";
    // A name that a header cannot carry comes in Base64, which is the SDK's to decode.
    if (method === "tools/list" || name.startsWith("=?base64?")) return [...this.#tools.values()];
    const tool = method === "tools/call" ? this.#tools.get(name) : undefined;
    return tool === undefined ? [] : [tool];
  }

  /** Remembers a server that stays connected, to notify its client. */
  #keep(server: McpServer): void {
    this.#connected.add(server);
    const { onclose } = server.server;
    server.server.onclose = () => {
      this.#connected.delete(server);
      onclose?.();
    };
  }

  #notifier(): ServerNotifier {
    const { notify } = this.#sdk;
    const onEach = (send: (server: McpServer) => void | Promise<void>) => {
      for (const server of this.#connected) void send(server);
    };
    return {
      toolsChanged: () => {
        notify.toolsChanged();
        onEach((server) => server.sendToolListChanged());
      },
      promptsChanged: () => {
        notify.promptsChanged();
        onEach((server) => server.sendPromptListChanged());
      },
      resourcesChanged: () => {
        notify.resourcesChanged();
        onEach((server) => server.sendResourceListChanged());
      },
      resourceUpdated: (uri) => {
        notify.resourceUpdated(uri);
        onEach((server) => server.server.sendResourceUpdated({ uri }));
      },
    };
  }
}
