import type { McpHttpHandler, McpServer, RequestId, Server, ServerContext, Transport } from "@modelcontextprotocol/server";
import { Registry } from "../registry/registry.ts";
import type { TaskEntry, TaskRegistry } from "../registry/task-registry.ts";
import type { TaskContext } from "../run/context.ts";
import type { TaskPolicy } from "../run/policy.ts";
import { checkDuration, resolvePolicy } from "../run/policy.ts";
import type { Tool } from "../run/runner.ts";
import { Runner } from "../run/runner.ts";
import type { TaskHandle } from "../run/task-handle.ts";
import { HostClosedError, toRpcError } from "../task/errors.ts";
import type { TaskRecord } from "../task/task.ts";
import { toDetailedTask } from "../wire/2026-07-28.ts";
import { adoptServer } from "./adopt.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { SdkFetch } from "./fast-path.ts";
import { fastPath } from "./fast-path.ts";
import { EventStreams } from "./listen-http.ts";
import { ListeningTransport } from "./listen-stdio.ts";
import { ListenHub } from "./listen.ts";
import type { ResolvedOptions, TasksOptions } from "./options.ts";
import { resolveOptions } from "./options.ts";
import { identityOf, serverInfoMeta, toRequestedSchema } from "./sdk.ts";
import { keepInfo, withHonestSignal } from "./request.deno.ts";
import { registerTaskMethods } from "./task-methods.ts";
import { Unanswered } from "./unanswered.ts";

/** Options of `close`. */
export interface CloseOptions {
  /** How long work that runs may go on, in milliseconds. Default 0. */
  graceMs?: number;
}

/** How much a host holds at a moment, but for the tasks in its store. */
export interface Sizes {
  /** Tasks that have not ended and have an actor in this process. */
  readonly live: number;
  /** Tasks that somebody watches. */
  readonly watched: number;
  /** Changes that came too late to change anything, so far. */
  readonly ignored: number;
  /** Calls and tasks whose work goes on in this process, and those whose work is done elsewhere. */
  readonly runs: number;
  readonly elsewhere: number;
  /** Plain calls that wait for answers. */
  readonly rounds: number;
  /** Handlers at work, and those in line. */
  readonly taken: number;
  readonly waiting: number;
  /** Subscriptions to tasks, and the event streams among them. */
  readonly subscriptions: number;
  readonly streams: number;
}

/** Gives tasks to SDK servers that are there already. */
export function createTasks(options: TasksOptions = {}): Tasks {
  return new Tasks(options);
}

/** The tasks of one process: what makes, holds, serves and announces them. */
export class Tasks {
  /** Where the tasks can be listed and watched. */
  readonly registry: TaskRegistry;
  /** The parts, for the host that is built on them. */
  readonly parts: {
    readonly options: ResolvedOptions;
    readonly registry: Registry;
    readonly runner: Runner;
    readonly dispatcher: Dispatcher;
    readonly hub: ListenHub;
  };
  /** For the host that is built on them, too. */
  readonly unanswered: Unanswered;
  readonly #listed: ReturnType<TaskRegistry["attach"]>;
  readonly #streams: EventStreams;
  readonly #contexts = new Map<RequestId, { task: TaskContext }>();
  readonly #started: Promise<void>;
  #serverInfo: object | undefined;
  #toolOf: (name: string) => Tool | undefined = () => undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(given: TasksOptions) {
    const options = resolveOptions(given);
    const { store, clock, defaults, limits, retainMs, tombstoneMs, roundTtlMs, keepAliveMs, onError } = options;
    this.registry = options.registry;
    const entryOf = (record: TaskRecord) => toEntry(record, clock.now());
    this.#listed = this.registry.attach(() => Array.from(registry.open(), entryOf));
    const registry = new Registry({
      store,
      clock,
      quota: limits,
      retainMs,
      tombstoneMs,
      onError: (error, taskId) => onError(error, taskId === undefined ? {} : { taskId }),
      // Nothing is made of a record where nobody watches.
      onStored: (record) => {
        if (this.registry.isWatched) this.#listed.tell(entryOf(record));
      },
    });
    const runner = new Runner({ registry, clock, defaults, roundTtlMs, toRequestedSchema, onError, ...limits });
    const dispatcher = new Dispatcher(registry, runner, clock);
    const hub = new ListenHub({ registry, clock, resultMeta: () => serverInfoMeta(this.#serverInfo), ...limits });
    this.parts = { options, registry, runner, dispatcher, hub };
    this.unanswered = new Unanswered(clock);
    this.#streams = new EventStreams(clock, keepAliveMs);
    this.#started = registry.start().catch((error: unknown) => onError(error, {}));
  }

  /**
   * Gives an SDK server tasks: the named tools' calls may become tasks, by a policy each, and it answers the
   * extension's methods. Call it in the factory, before the server connects.
   *
   * @example
   * const factory = () => tasks.adopt(buildServer(), { report: "optional" });
   */
  adopt<S extends McpServer | Server>(server: S, policies: { readonly [tool: string]: TaskPolicy }): S {
    const { runner, dispatcher, options } = this.parts;
    for (const [name, policy] of Object.entries(policies)) {
      if (typeof policy !== "function") resolvePolicy(policy, options.defaults, `tasks.adopt: the policy of "${name}"`);
    }
    this.identify(identityOf(server));
    registerTaskMethods(server, dispatcher, options.principalOf, (error) => options.onError(error, {}));
    adoptServer(server, {
      policies: new Map(Object.entries(policies)),
      runner,
      clock: options.clock,
      principalOf: options.principalOf,
      contexts: this.#contexts,
      unanswered: this.unanswered,
      onError: options.onError,
    });
    return server;
  }

  /** How much is held, for tests and for figures. */
  get sizes(): Sizes {
    const { registry, runner, hub } = this.parts;
    const { live, coming, watched, ignored } = registry.sizes;
    return {
      live: live + coming,
      watched,
      ignored,
      ...runner.sizes,
      subscriptions: hub.size,
      streams: this.#streams.size,
    };
  }

  /** The task context of a call to an adopted server's tool, in its handler. */
  context(ctx: ServerContext): TaskContext | undefined {
    return this.#contexts.get(ctx.mcpReq.id)?.task;
  }

  /** Puts listening to tasks, and the fast path of the extension's methods, in front of the SDK's HTTP handler. */
  wrap(handler: McpHttpHandler): McpHttpHandler {
    const fetch = this.wrapFetch((request, options) => handler.fetch(request, options));
    return {
      ...handler,
      // As a default export it is given what Deno tells of the request in the options' place.
      fetch: (request, options) => fetch(keepInfo(request, options), options),
      close: async () => {
        try {
          await this.close();
        } finally {
          await handler.close();
        }
      },
    };
  }

  /** `wrap` for a fetch function alone. */
  wrapFetch(fetch: SdkFetch): SdkFetch {
    const { options, dispatcher, hub } = this.parts;
    const open = fastPath((request, handlerOptions) => fetch(withHonestSignal(request), handlerOptions), {
      dispatcher,
      hub,
      streams: this.#streams,
      principalOf: options.principalOf,
      bodyBytes: options.limits.bodyBytes,
      serverInfo: () => this.#serverInfo,
      onError: (error) => options.onError(error, {}),
    });
    return (request, handlerOptions) =>
      this.#closed ? Promise.resolve(closedResponse()) : open(request, handlerOptions);
  }

  /** Puts listening to tasks on a transport, for `serveStdio(factory, { transport })`. */
  transport(transport: Transport): Transport {
    return new ListeningTransport(transport, this.parts.hub, (error) => this.parts.options.onError(error, {}));
  }

  /**
   * A task by its id, to complete, fail or ask in: for whoever does the work of a handler that returned
   * `task.external()`.
   */
  task(taskId: string): TaskHandle {
    return this.parts.runner.task(taskId, this.#toolOf);
  }

  /** How the server names itself in results, and which tools it has. */
  identify(serverInfo: object | undefined, toolOf = this.#toolOf): void {
    this.#serverInfo = serverInfo;
    this.#toolOf = toolOf;
  }

  /**
   * Takes no new work, lets what runs go on for `graceMs` milliseconds, fails the rest, ends the streams, and closes
   * the store. Tasks stay readable until the grace is over.
   */
  async close({ graceMs = 0 }: CloseOptions = {}): Promise<void> {
    checkGrace(graceMs);
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    const { runner, registry, hub, options } = this.parts;
    await this.#started;
    await runner.close(graceMs);
    await this.unanswered.none();
    this.#closed = true;
    hub.close();
    await registry.close();
    this.#listed.detach();
    await options.store.close();
  }
}

/** A hosted task as its registry lists it. */
function toEntry(record: TaskRecord, now: number): TaskEntry {
  const { tool, principal } = record;
  return { role: "hosted", task: toDetailedTask(record, now), tool, ...(principal !== undefined && { principal }) };
}

/** Throws `RangeError` unless a value is a grace. */
export function checkGrace(graceMs: number): void {
  checkDuration(graceMs, "close: graceMs", { infinity: true });
}

function closedResponse(): Response {
  return Response.json({ jsonrpc: "2.0", error: toRpcError(new HostClosedError()), id: null }, { status: 503 });
}
