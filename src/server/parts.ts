import type { Transport } from "@modelcontextprotocol/server";
import { Registry } from "../registry/registry.ts";
import type { TaskEntry, TaskRegistry } from "../registry/task-registry.ts";
import type { Tool } from "../run/runner.ts";
import { Runner } from "../run/runner.ts";
import type { TaskHandle } from "../run/task-handle.ts";
import { HostClosedError, toRpcError } from "../task/errors.ts";
import type { TaskRecord } from "../task/task.ts";
import { toDetailedTask } from "../wire/2026-07-28.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { SdkFetch } from "./fast-path.ts";
import { fastPath } from "./fast-path.ts";
import { EventStreams } from "./listen-http.ts";
import { ListeningTransport } from "./listen-stdio.ts";
import { ListenHub } from "./listen.ts";
import type { ResolvedOptions, TasksOptions } from "./options.ts";
import { resolveOptions } from "./options.ts";
import { refusal } from "./refusal.ts";
import { withHonestSignal } from "./request.deno.ts";
import { serverInfoMeta, toRequestedSchema } from "./sdk.ts";
import { Unanswered } from "./unanswered.ts";

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

/**
 * What makes, holds, serves and announces the tasks of one process: what a host is built on, and what `createTasks`
 * gives to servers that are there already.
 */
export class Parts {
  readonly options: ResolvedOptions;
  readonly registry: Registry;
  readonly runner: Runner;
  readonly dispatcher: Dispatcher;
  readonly unanswered: Unanswered;
  readonly #hub: ListenHub;
  readonly #streams: EventStreams;
  readonly #listed: ReturnType<TaskRegistry["attach"]>;
  readonly #started: Promise<void>;
  #serverInfo: object | undefined;
  #toolOf: (name: string) => Tool | undefined = () => undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(given: TasksOptions) {
    const options = resolveOptions(given);
    const { store, clock, defaults, limits, retainMs, tombstoneMs, roundTtlMs, keepAliveMs, onError } = options;
    const entryOf = (record: TaskRecord) => toEntry(record, clock.now());
    const registry = new Registry({
      store,
      clock,
      quota: limits,
      retainMs,
      tombstoneMs,
      onError: (error, taskId) => onError(error, taskId === undefined ? {} : { taskId }),
      // Nothing is made of a record where nobody watches.
      onStored: (record) => {
        if (options.registry.isWatched) this.#listed.tell(entryOf(record));
      },
    });
    this.options = options;
    this.registry = registry;
    this.runner = new Runner({ registry, clock, defaults, roundTtlMs, toRequestedSchema, onError, ...limits });
    this.dispatcher = new Dispatcher(registry, this.runner, clock);
    this.unanswered = new Unanswered(clock);
    this.#hub = new ListenHub({ registry, clock, resultMeta: () => serverInfoMeta(this.#serverInfo), ...limits });
    this.#streams = new EventStreams(clock, keepAliveMs);
    this.#listed = options.registry.attach(() => Array.from(registry.open(), entryOf));
    this.#started = registry.start().catch((error: unknown) => onError(error, {}));
  }

  get sizes(): Sizes {
    const { live, coming, watched, ignored } = this.registry.sizes;
    return {
      live: live + coming,
      watched,
      ignored,
      ...this.runner.sizes,
      subscriptions: this.#hub.size,
      streams: this.#streams.size,
    };
  }

  /** How the server names itself in results, and which tools it has. */
  identify(serverInfo: object | undefined, toolOf = this.#toolOf): void {
    this.#serverInfo = serverInfo;
    this.#toolOf = toolOf;
  }

  /** A task by its id, with what is known of its tool. */
  task(taskId: string): TaskHandle {
    return this.runner.task(taskId, this.#toolOf);
  }

  /** Puts listening to tasks, and the fast path of the extension's methods, in front of the SDK's HTTP handler. */
  wrapFetch(fetch: SdkFetch): SdkFetch {
    const { principalOf, limits, onError } = this.options;
    const open = fastPath((request, handlerOptions) => fetch(withHonestSignal(request), handlerOptions), {
      dispatcher: this.dispatcher,
      hub: this.#hub,
      streams: this.#streams,
      principalOf,
      bodyBytes: limits.bodyBytes,
      serverInfo: () => this.#serverInfo,
      onError: (error) => onError(error, {}),
    });
    return (request, handlerOptions) =>
      this.#closed
        ? Promise.resolve(refusal(503, toRpcError(new HostClosedError())))
        : open(request, handlerOptions);
  }

  /** Puts listening to tasks on a transport that one client has for everything. */
  transport(transport: Transport): Transport {
    return new ListeningTransport(transport, this.#hub, (error) => this.options.onError(error, {}));
  }

  /**
   * Takes no new work, lets what runs go on for `graceMs` milliseconds, fails the rest, ends the streams, and closes
   * the store. Tasks stay readable until the grace is over.
   */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    await this.#started;
    await this.runner.close(graceMs);
    await this.unanswered.none();
    this.#closed = true;
    this.#hub.close();
    await this.registry.close();
    this.#listed.detach();
    await this.options.store.close();
  }
}

/** A hosted task as its registry lists it. */
function toEntry(record: TaskRecord, now: number): TaskEntry {
  const { tool, principal } = record;
  return { role: "hosted", task: toDetailedTask(record, now), tool, ...(principal !== undefined && { principal }) };
}
