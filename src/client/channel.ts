import type { Client, JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import { SUBSCRIPTION_ID_META_KEY, isJSONRPCRequest } from "@modelcontextprotocol/client";
import type { Clock } from "../task/clock.ts";
import type { JsonObject } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { RequestFailedError } from "./errors.ts";
import { toRequestFailure } from "./failures.ts";

/** A request as it goes out, but for its id. */
export interface OutgoingRequest {
  readonly method: string;
  readonly params: JsonObject;
  /** More HTTP headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface RequestOptions {
  /** Gives the request up. The server is told, where it may be working on it. */
  readonly signal: AbortSignal;
  /** Hears of the notifications that belong to the request: of its subscription, or of its progress. */
  readonly onNotification?: ((method: string, params: JsonObject) => void) | undefined;
  /** Hears of a result that comes although the request was given up, if it comes soon. */
  readonly late?: { readonly clock: Clock; readonly onResult: (result: JsonObject) => void };
}

/** How long the result of a request that was given up is waited for. */
const LATE_MS = 5_000;

interface Pending {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: unknown) => void;
  readonly onNotification: RequestOptions["onNotification"];
}

/** What stands in for an answer that the SDK's client has to get: it is checked against no output schema. */
const PLACEHOLDER = { resultType: "complete", content: [], isError: true };

/** Marks a call that the SDK's client makes and that never goes out. */
const MARK = "errand/simulated";

/** Answers a call in the server's place. `headers` are what the client would have sent with it. */
type Simulation = (params: JsonObject, headers: OutgoingRequest["headers"]) => JsonObject;

const channels = new WeakMap<Transport, Channel>();

/**
 * Requests of ours on the connection of an SDK client, beside the client's own. The client cannot send them itself: it
 * refuses the results that the extension adds, and its requests declare one set of capabilities.
 */
export class Channel {
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #pending = new Map<string, Pending>();
  readonly #simulations = new Map<string, Simulation>();
  readonly #send: Transport["send"];
  #deliver: (message: JSONRPCMessage) => void = () => {};
  #envelope: Promise<JsonObject> | undefined;
  #lastId = 0;

  /** The channel on a client's connection: one for each, however many ask for it. */
  static of(client: Client): Channel {
    const { transport } = client;
    if (transport === undefined) throw new RequestFailedError({ message: "Not connected" });
    let channel = channels.get(transport);
    if (channel === undefined) channels.set(transport, (channel = new Channel(client, transport)));
    return channel;
  }

  private constructor(client: Client, transport: Transport) {
    this.#client = client;
    this.#transport = transport;
    this.#send = transport.send.bind(transport);
    transport.send = (message, options) => this.#onSend(message, options);
    const deliver = transport.onmessage;
    this.#deliver = (message) => deliver?.call(transport, message);
    transport.onmessage = (message, extra) => {
      if (!this.#onMessage(message)) deliver?.call(transport, message, extra);
    };
    const { onclose } = transport;
    transport.onclose = () => {
      const pending = [...this.#pending.values()];
      this.#pending.clear();
      for (const { reject } of pending) reject(new RequestFailedError({ message: "The connection closed" }));
      onclose?.call(transport);
    };
  }

  /**
   * The `_meta` that the client puts on its requests: protocol version, name and capabilities (MCP, "Request
   * Metadata"). Empty in the older revisions, whose requests have none.
   */
  envelope(): Promise<JsonObject> {
    this.#envelope ??= this.frame({ name: "-" })
      .then(({ params }) => (isJsonObject(params["_meta"]) ? params["_meta"] : {}))
      .catch((error: unknown) => {
        this.#envelope = undefined;
        throw error;
      });
    return this.#envelope;
  }

  /** A `tools/call` as the client would send it, with its `_meta` and the headers that mirror its arguments. */
  async frame(params: { name: string; [key: string]: unknown }): Promise<OutgoingRequest> {
    let framed: OutgoingRequest | undefined;
    await this.#simulate(params, (own, headers) => {
      framed = { method: "tools/call", params: own, headers };
      return PLACEHOLDER;
    });
    if (framed === undefined) throw new RequestFailedError({ message: "Not connected" });
    return framed;
  }

  /** Has the client's own handlers answer questions, as if a call of its had asked them. Rejects when one fails. */
  async askClient(inputRequests: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    let answers: JsonObject = {};
    await this.#simulate(
      { name: "-" },
      ({ inputResponses }) => {
        if (!isJsonObject(inputResponses)) return { resultType: "input_required", inputRequests };
        answers = inputResponses;
        return PLACEHOLDER;
      },
      signal,
    );
    return answers;
  }

  /** Sends a request and gives its result. Rejects with `RequestFailedError`, or with the signal's reason. */
  request({ method, params, headers }: OutgoingRequest, options: RequestOptions): Promise<JsonObject> {
    const { signal, onNotification, late } = options;
    this.#lastId += 1;
    const id = `errand-${this.#lastId}`;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    if (signal.aborted) {
      reject(signal.reason);
      return promise;
    }
    const over = new AbortController();
    const drop = () => {
      this.#pending.delete(id);
      over.abort(signal.reason);
    };
    const fail = (error: unknown) => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      pending?.reject(error);
    };
    const onAbort = () => {
      if (!this.#pending.has(id)) return;
      reject(signal.reason);
      this.#tellCancelled(id, method);
      if (late === undefined) return drop();
      const timer = late.clock.setTimeout(drop, LATE_MS);
      const settle = (result?: JsonObject) => {
        late.clock.clearTimeout(timer);
        if (result !== undefined) late.onResult(result);
      };
      this.#pending.set(id, { resolve: settle, reject: () => settle(), onNotification: () => {} });
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pending.set(id, { resolve, reject, onNotification });
    const sent: JsonObject =
      onNotification === undefined || method === "subscriptions/listen"
        ? params
        : { ...params, _meta: { ...(params["_meta"] as JsonObject), progressToken: id } };
    // The transport may throw at once, or never settle.
    void (async () => {
      await this.#send({ jsonrpc: "2.0", id, method, params: sent }, {
        requestSignal: over.signal,
        onRequestStreamEnd: () => fail(new RequestFailedError({ message: "The response broke off" })),
        headers,
      });
    })().catch((error: unknown) => fail(toRequestFailure(error)));
    return promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  /** Where requests share a stream, or the revision is an older one, the server hears of it; else the closed stream says it. */
  #tellCancelled(requestId: string, method: string): void {
    const closing = this.#transport.hasPerRequestStream === true && this.#client.getProtocolEra() === "modern";
    if (closing || method.startsWith("tasks/")) return;
    const message = { jsonrpc: "2.0" as const, method: "notifications/cancelled", params: { requestId } };
    void (async () => {
      const _meta = await this.envelope();
      await this.#send({ ...message, params: { ...message.params, _meta } });
    })().catch(() => {}); // The connection is gone, and the request with it.
  }

  /** Has the client make a call which `respond` answers in the server's place. */
  async #simulate(params: { name: string; [key: string]: unknown }, respond: Simulation, signal?: AbortSignal) {
    this.#lastId += 1;
    const mark = String(this.#lastId);
    this.#simulations.set(mark, respond);
    try {
      const _meta = { ...(isJsonObject(params["_meta"]) ? params["_meta"] : {}), [MARK]: mark };
      // What bounds it is the wait that it is part of.
      await this.#client.callTool({ ...params, _meta }, { timeout: 2 ** 31 - 1, ...(signal && { signal }) });
    } finally {
      this.#simulations.delete(mark);
    }
  }

  #onSend(message: JSONRPCMessage, options: TransportSendOptions | undefined): Promise<void> {
    if (!isJSONRPCRequest(message)) return this.#send(message, options);
    const { [MARK]: mark, ..._meta } = (message.params?._meta ?? {}) as JsonObject;
    if (typeof mark !== "string") return this.#send(message, options);
    const result = this.#simulations.get(mark)?.({ ...message.params, _meta }, options?.headers) ?? PLACEHOLDER;
    queueMicrotask(() => this.#deliver({ jsonrpc: "2.0", id: message.id, result }));
    return Promise.resolve();
  }

  /** Takes a message that belongs to a request of ours, and gives whether it did. */
  #onMessage(message: JSONRPCMessage): boolean {
    if ("method" in message) {
      const params: JsonObject = message.params ?? {};
      const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
      const id = message.method === "notifications/progress" ? params["progressToken"] : meta[SUBSCRIPTION_ID_META_KEY];
      const pending = this.#pending.get(id as string);
      pending?.onNotification?.(message.method, params);
      return pending !== undefined;
    }
    const pending = this.#pending.get(message.id as string);
    if (pending === undefined) return typeof message.id === "string" && message.id.startsWith("errand-");
    this.#pending.delete(message.id as string);
    if ("error" in message) pending.reject(new RequestFailedError(message.error));
    else pending.resolve(message.result);
    return true;
  }
}
