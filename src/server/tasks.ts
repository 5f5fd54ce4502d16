import type { McpHttpHandler, McpServer, RequestId, Server, ServerContext, Transport } from "@modelcontextprotocol/server";
import type { TaskRegistry } from "../registry/task-registry.ts";
import type { TaskContext } from "../run/context.ts";
import type { TaskPolicy } from "../run/policy.ts";
import { checkDuration, resolvePolicy } from "../run/policy.ts";
import type { TaskHandle } from "../run/task-handle.ts";
import { adoptServer } from "./adopt.ts";
import type { TasksOptions } from "./options.ts";
import type { Sizes } from "./parts.ts";
import { Parts } from "./parts.ts";
import { keepInfo } from "./request.deno.ts";
import { identityOf } from "./sdk.ts";
import { registerTaskMethods } from "./task-methods.ts";

/** Options of `close`. */
export interface CloseOptions {
  /** How long work that runs may go on, in milliseconds. Default 0. */
  graceMs?: number;
}

/** Gives tasks to SDK servers that are there already. */
export function createTasks(options: TasksOptions = {}): Tasks {
  return new Tasks(options);
}

/** The tasks of SDK servers that are there already. */
export class Tasks {
  readonly #parts: Parts;
  readonly #contexts = new Map<RequestId, { task: TaskContext }>();

  constructor(options: TasksOptions) {
    this.#parts = new Parts(options);
  }

  /**
   * Gives an SDK server tasks: the named tools' calls may become tasks, by a policy each, and it answers the
   * extension's methods. Call it in the factory, before the server connects.
   *
   * @example
   * const factory = () => tasks.adopt(buildServer(), { report: "optional" });
   */
  adopt<S extends McpServer | Server>(server: S, policies: { readonly [tool: string]: TaskPolicy }): S {
    const { runner, dispatcher, unanswered, options } = this.#parts;
    for (const [name, policy] of Object.entries(policies)) {
      if (typeof policy !== "function") resolvePolicy(policy, options.defaults, `tasks.adopt: the policy of "${name}"`);
    }
    this.#parts.identify(identityOf(server));
    registerTaskMethods(server, dispatcher, options.principalOf, (error) => options.onError(error, {}));
    adoptServer(server, {
      policies: new Map(Object.entries(policies)),
      runner,
      clock: options.clock,
      principalOf: options.principalOf,
      contexts: this.#contexts,
      unanswered,
      onError: options.onError,
    });
    return server;
  }

  /** Where the tasks can be listed and watched. */
  get registry(): TaskRegistry {
    return this.#parts.options.registry;
  }

  /** How much is held, for tests and for figures. */
  get sizes(): Sizes {
    return this.#parts.sizes;
  }

  /** The task context of a call to an adopted server's tool, in its handler. */
  context(ctx: ServerContext): TaskContext | undefined {
    return this.#contexts.get(ctx.mcpReq.id)?.task;
  }

  /** Puts listening to tasks, and the fast path of the extension's methods, in front of the SDK's HTTP handler. */
  wrap(handler: McpHttpHandler): McpHttpHandler {
    const fetch = this.#parts.wrapFetch((request, options) => handler.fetch(request, options));
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

  /** Puts listening to tasks on a transport, for `serveStdio(factory, { transport })`. */
  transport(transport: Transport): Transport {
    return this.#parts.transport(transport);
  }

  /**
   * A task by its id, to complete, fail or ask in: for whoever does the work of a handler that returned
   * `task.external()`.
   */
  task(taskId: string): TaskHandle {
    return this.#parts.task(taskId);
  }

  /**
   * Takes no new work, lets what runs go on for `graceMs` milliseconds, fails the rest, ends the streams, and closes
   * the store. Tasks stay readable until the grace is over.
   */
  async close({ graceMs = 0 }: CloseOptions = {}): Promise<void> {
    checkGrace(graceMs);
    await this.#parts.close(graceMs);
  }
}

/** Throws `RangeError` unless a value is a grace. */
export function checkGrace(graceMs: number): void {
  checkDuration(graceMs, "close: graceMs", { infinity: true });
}
