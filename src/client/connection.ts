import type { Transport } from "@modelcontextprotocol/client";
import { CLIENT_CAPABILITIES_META_KEY, Client, SdkError, mergeCapabilities } from "@modelcontextprotocol/client";
import type { FollowSource } from "../registry/followers.ts";
import type { FollowEvent } from "../../machines/follow.ts";
import { Slots } from "../run/slots.ts";
import type { Clock } from "../task/clock.ts";
import { TASKS_EXTENSION } from "../task/errors.ts";
import type { DetailedTask, JsonObject } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import type { CallAnswer } from "../wire/2026-07-28.client.ts";
import { MalformedError, fromCallResult, fromDetailedTask } from "../wire/2026-07-28.client.ts";
import { Channel } from "./channel.ts";
import { RequestFailedError } from "./errors.ts";
import { toRequestFailure } from "./failures.ts";
import { Listener } from "./listener.ts";
import type { Target } from "./target.ts";
import { unless, within } from "./within.ts";

export interface ConnectionOptions {
  readonly target: Target;
  readonly name: string;
  readonly version: string;
  readonly clock: Clock;
  /** How long one request of a wait, and connecting, may take. */
  readonly requestTimeoutMs: number;
  /** How many looks at tasks are under way at once. */
  readonly requests: number;
}

/** A call's parameters: `tools/call`. */
export interface CallParams {
  /** The tool's name. */
  name: string;
  arguments?: JsonObject | undefined;
  /** More for the request's `_meta`, beside the version, name and capabilities that it has in any case. */
  _meta?: JsonObject | undefined;
  /**
   * Answers, by their keys, to the questions of a call that is no task yet, as the outcome `input_required` told them
   * (MCP, "Multi Round-Trip Requests"). The call is made again, with all else as it was.
   */
  inputResponses?: JsonObject | undefined;
  /** What that outcome gave with the questions. */
  requestState?: string | undefined;
}

/** How far a call is (MCP, "Progress"). */
export interface Progress {
  /** How much is done, in units of the server's own. */
  readonly progress: number;
  /** How much there is in all, where it is known. */
  readonly total?: number;
  readonly message?: string;
}

export interface CallRequestOptions {
  /** Capabilities beside the client's own. */
  readonly capabilities: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Hears of an answer that comes although the call was given up. */
  readonly onLate: (answer: CallAnswer) => void;
}

/** A server, connected when it is needed and again when it was lost, and the requests that Errand makes of it. */
export class Connection implements FollowSource {
  readonly #options: ConnectionOptions;
  readonly #slots: Slots;
  readonly #listener: Listener;
  readonly #closed = new AbortController();
  #client: Client | undefined;
  #connecting: Promise<Client> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#client = options.target.client;
    this.#slots = new Slots(options.requests);
    this.#listener = new Listener({
      clock: options.clock,
      request: async (taskIds, requestOptions) => {
        const channel = await this.#channel(requestOptions.signal);
        const params = { _meta: await this.#meta(channel, {}), notifications: { taskIds } };
        return channel.request({ method: "subscriptions/listen", params }, requestOptions);
      },
    });
  }

  /** How the server is told from others in a reference: by its URL, or by its own name, once it is connected. */
  get server(): string | undefined {
    return this.#options.target.url ?? this.#client?.getServerVersion()?.name;
  }

  /** Whether the SDK's client was given, and with it whoever handles its requests. */
  get isGiven(): boolean {
    return this.#options.target.client !== undefined;
  }

  /** The SDK's client, connected. */
  async client(signal: AbortSignal): Promise<Client> {
    const { target, requestTimeoutMs, clock } = this.#options;
    if (this.#closed.signal.aborted) throw new RequestFailedError({ message: "The client is closed" });
    if (this.#client?.transport !== undefined) return this.#client;
    if (target.client !== undefined) {
      throw new RequestFailedError({ message: "The SDK client is not connected: await client.connect(transport) first" });
    }
    // Whoever needs it waits for the same connection; one that leaves does not take it from the others.
    this.#connecting ??= within(
      {
        clock,
        ms: requestTimeoutMs,
        signal: this.#closed.signal,
        late: () => new RequestFailedError({ message: `The server could not be connected within ${requestTimeoutMs} ms` }),
      },
      (connecting) => this.#connect(connecting),
    ).finally(() => {
      this.#connecting = undefined;
    });
    const connecting = this.#connecting;
    connecting.catch(() => {}); // Those who wait hear of it.
    return unless(signal, () => connecting);
  }

  async #connect(signal: AbortSignal): Promise<Client> {
    const { target, name, version } = this.#options;
    const client = new Client({ name, version }, { versionNegotiation: { mode: "auto" } });
    let transport: Transport | undefined;
    // The SDK asks a server for its revision until the transport closes, whatever the signal says.
    const onAbort = () => void transport?.close().catch(() => {});
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      transport = await target.open();
      signal.throwIfAborted();
      await client.connect(transport, { signal, timeout: 2 ** 31 - 1 });
      signal.throwIfAborted();
      this.#client = client;
      return client;
    } catch (error) {
      // What could not even be started says why itself.
      const gone = transport !== undefined && error instanceof SdkError ? target.whyGone?.(transport) : undefined;
      await Promise.allSettled([client.close(), transport?.close()]);
      if (signal.aborted) throw toRequestFailure(signal.reason);
      throw gone === undefined ? toRequestFailure(error) : new RequestFailedError({ message: gone }, { cause: error });
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Whether the server says that it serves tasks (Tasks, "Capability Negotiation"). */
  async supportsTasks(signal: AbortSignal): Promise<boolean> {
    const client = await this.client(signal);
    const { extensions } = client.getServerCapabilities() ?? {};
    // The older revisions have no extensions, whatever the server says.
    return client.getProtocolEra() === "modern" && isJsonObject(extensions) && isJsonObject(extensions[TASKS_EXTENSION]);
  }

  /** Calls a tool. Rejects with `RequestFailedError`, or with the signal's reason. */
  async call(params: CallParams, { capabilities, signal, onProgress, onLate }: CallRequestOptions): Promise<CallAnswer> {
    const attempt = async () => {
      const channel = await this.#channel(signal);
      const framed = await unless(signal, () => channel.frame({ ...params }));
      const own = { ...framed.params, _meta: await this.#meta(channel, capabilities, framed.params["_meta"]) };
      return channel.request(
        { ...framed, params: own },
        {
          signal,
          late: { clock: this.#options.clock, onResult: (result) => ignoring(() => onLate(fromCallResult(result))) },
          ...(onProgress !== undefined && {
            onNotification: (_, progress) => ignoring(() => onProgress(progress as unknown as Progress)),
          }),
        },
      );
    };
    const result = await attempt().catch(async (error: unknown) => {
      if (isHeaderMismatch(error)) {
        // The server wants an argument in a header, as the tool's newest definition says.
        const client = await this.client(signal);
        await client.listTools(undefined, { cacheMode: "refresh", signal, timeout: 2 ** 31 - 1 });
      } else if (this.#isSessionLost(error)) {
        await this.#reset();
      } else {
        throw error;
      }
      return attempt();
    });
    return reading("tools/call", () => fromCallResult(result));
  }

  /** `tasks/get`. Rejects with `RequestFailedError`, or with the signal's reason. */
  async look(taskId: string, signal: AbortSignal): Promise<DetailedTask> {
    // What people do, answer and cancel, waits in no line.
    if (!(await this.#slots.take(signal))) throw signal.reason;
    try {
      const result = await this.#taskRequest("tasks/get", { taskId }, signal);
      return reading("tasks/get", () => fromDetailedTask(result, taskId));
    } finally {
      this.#slots.free();
    }
  }

  /** `tasks/update`. */
  async update(taskId: string, inputResponses: JsonObject, signal: AbortSignal): Promise<void> {
    await this.#taskRequest("tasks/update", { taskId, inputResponses }, signal);
  }

  /** `tasks/cancel`. */
  async cancel(taskId: string, signal: AbortSignal = this.#closed.signal): Promise<void> {
    await this.#taskRequest("tasks/cancel", { taskId }, signal);
  }

  listen(taskId: string, tell: (event: FollowEvent) => void): () => void {
    return this.#listener.add(taskId, tell);
  }

  /** Has the handlers of the given SDK client answer a question. */
  async askClient(key: string, question: object, signal: AbortSignal): Promise<unknown> {
    const channel = await this.#channel(signal);
    return (await channel.askClient({ [key]: question }, signal))[key];
  }

  /** The capabilities that the client itself declares. */
  async ownCapabilities(signal: AbortSignal): Promise<JsonObject> {
    const channel = await this.#channel(signal);
    const own = (await unless(signal, () => channel.envelope()))[CLIENT_CAPABILITIES_META_KEY];
    return isJsonObject(own) ? own : {};
  }

  /** Ends what listens and connects, and the connection, unless it was given. */
  async close(): Promise<void> {
    this.#closed.abort(new RequestFailedError({ message: "The client is closed" }));
    this.#listener.close();
    if (this.#options.target.client === undefined) await this.#client?.close();
  }

  async #channel(signal: AbortSignal): Promise<Channel> {
    return Channel.of(await this.client(signal));
  }

  /** Whether the server has forgotten the session, which only its older revisions have (2025-11-25, "Session Management"). */
  #isSessionLost(error: unknown): boolean {
    const isNotFound = error instanceof RequestFailedError && error.status === 404;
    return isNotFound && !this.isGiven && this.#client?.getProtocolEra() === "legacy";
  }

  /** Lets go of the connection, so that the next request makes another. */
  async #reset(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.close().catch(() => {});
  }

  /** The `_meta` of a request that declares the extension, and more capabilities, on top of the client's own. */
  async #meta(channel: Channel, more: JsonObject, framed?: unknown): Promise<JsonObject> {
    const meta = isJsonObject(framed) ? framed : await channel.envelope();
    const own = meta[CLIENT_CAPABILITIES_META_KEY];
    // The revisions before 2026-07-28 declare nothing on a request.
    if (!isJsonObject(own)) return meta;
    const declared = mergeCapabilities(own, { ...more, extensions: { [TASKS_EXTENSION]: {} } });
    return { ...meta, [CLIENT_CAPABILITIES_META_KEY]: declared };
  }

  #taskRequest(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const { clock, requestTimeoutMs } = this.#options;
    const late = () => new RequestFailedError({ message: `${method} was not answered within ${requestTimeoutMs} ms` });
    return within({ clock, ms: requestTimeoutMs, signal, late }, async (bounded) => {
      const channel = await this.#channel(bounded);
      return channel.request({ method, params: { ...params, _meta: await this.#meta(channel, {}) } }, { signal: bounded });
    });
  }
}

/** `-32020`: what a header says is not what the body says (MCP, "Server Validation"). */
function isHeaderMismatch(error: unknown): boolean {
  return error instanceof RequestFailedError && error.rpcCode === -32020;
}

/** Reads a result, and rejects in our words where it is malformed. */
function reading<Result>(method: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof MalformedError)) throw cause;
    throw new RequestFailedError(
      { message: `${method} was answered with ${cause.message}` },
      { cause, retry: "few" },
    );
  }
}

/** Tells what nobody waits for: whoever hears of it must not harm the rest. */
function ignoring(tell: () => void): void {
  try {
    tell();
  } catch {
    // It had its chance.
  }
}
