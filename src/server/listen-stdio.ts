import type {
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/server";
import { SUBSCRIPTION_ID_META_KEY, isJSONRPCNotification, isJSONRPCRequest } from "@modelcontextprotocol/server";
import { missingTasksExtension, tellError } from "../task/errors.ts";
import type { JsonObject } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import type { Message } from "./frames.ts";
import type { ListenHub, Sink, Subscription } from "./listen.ts";
import { declaresTasks, envelopeCapabilities } from "./sdk.ts";

/**
 * Adds tasks to `subscriptions/listen` on a transport that one client shares for everything, such as stdio. The SDK
 * sees the rest of the filter and answers for it; its acknowledgement goes out with the task ids added.
 */
export class ListeningTransport implements Transport {
  readonly #inner: Transport;
  readonly #hub: ListenHub;
  readonly #onError: (error: unknown) => void;
  /** Open subscriptions by their request; one that is still being made has none yet. */
  readonly #subscriptions = new Map<RequestId, { subscription?: Subscription }>();

  /** Settles when the last message is out, and is left away when it is. */
  #sending: Promise<void> | undefined;

  onmessage?: Transport["onmessage"];
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;

  constructor(inner: Transport, hub: ListenHub, onError: (error: unknown) => void) {
    this.#inner = inner;
    this.#hub = hub;
    this.#onError = onError;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion = (version: string): void => this.#inner.setProtocolVersion?.(version);

  async start(): Promise<void> {
    this.#inner.onmessage = (message, extra) => {
      if (isJSONRPCRequest(message) && message.method === "subscriptions/listen") {
        const notifications = message.params?.["notifications"];
        if (isJsonObject(notifications) && "taskIds" in notifications) {
          void this.#listen(message, notifications, extra);
          return;
        }
      } else if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
        this.#drop(message.params?.["requestId"] as RequestId);
      }
      this.onmessage?.(message, extra);
    };
    this.#inner.onclose = () => {
      for (const id of this.#subscriptions.keys()) this.#drop(id);
      this.onclose?.();
    };
    this.#inner.onerror = (error) => this.onerror?.(error);
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ("method" in message && message.method === "notifications/subscriptions/acknowledged") {
      const id = (message.params?._meta)?.[SUBSCRIPTION_ID_META_KEY] as RequestId;
      const subscription = this.#subscriptions.get(id)?.subscription;
      if (subscription !== undefined) {
        const { notifications } = (message.params ?? {}) as { notifications?: unknown };
        subscription.start(this.#sink(id), isJsonObject(notifications) ? notifications : {});
        return;
      }
    }
    // A response to a listen refuses it or ends it.
    if (!("method" in message) && message.id !== undefined) this.#drop(message.id);
    return this.#write(message, options);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async #listen(message: JSONRPCRequest, notifications: JsonObject, extra: MessageExtraInfo | undefined): Promise<void> {
    const { id } = message;
    const capabilities = envelopeCapabilities(message.params?._meta);
    // Not a request of this era: the SDK says so.
    if (capabilities === undefined) return this.onmessage?.(message, extra);
    const { taskIds, ...others } = notifications;
    const place: { subscription?: Subscription } = {};
    try {
      if (!declaresTasks(capabilities)) throw missingTasksExtension();
      // As in the SDK, a subscription takes the place of an older one of the same id.
      this.#drop(id);
      this.#subscriptions.set(id, place);
      const subscription = await this.#hub.subscribe(id, taskIds, undefined);
      // The client may have gone on to cancel it.
      if (this.#subscriptions.get(id) !== place) return subscription.drop();
      place.subscription = subscription;
      this.onmessage?.({ ...message, params: { ...message.params, notifications: others } }, extra);
    } catch (error) {
      if (this.#subscriptions.get(id) === place) this.#subscriptions.delete(id);
      await this.#write({ jsonrpc: "2.0", id, error: tellError(error, this.#onError) }).catch(() => {});
    }
  }

  #sink(id: RequestId): Sink {
    let writing = 0;
    const write = (message: Message): void => {
      writing += 1;
      this.#write(JSON.parse(message().join("")) as JSONRPCMessage)
        .catch(() => {}) // The client has gone, and the transport says so itself.
        .finally(() => {
          writing -= 1;
          if (writing === 0) this.#subscriptions.get(id)?.subscription?.flush();
        });
    };
    return {
      get ready() {
        return writing === 0;
      },
      write,
      end: (last) => {
        for (const message of last) write(message);
        this.#subscriptions.delete(id);
        // The SDK keeps a subscription of its own under this id.
        this.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      },
    };
  }

  /** Sends one message after the other: for each that waits for a slow reader, the SDK's transport adds listeners. */
  #write(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const send = () => this.#inner.send(message, options);
    const sent = this.#sending === undefined ? send() : this.#sending.then(send);
    const settled: Promise<void> = sent
      .catch(() => {})
      .then(() => {
        if (this.#sending === settled) this.#sending = undefined;
      });
    this.#sending = settled;
    return sent;
  }

  #drop(id: RequestId): void {
    this.#subscriptions.get(id)?.subscription?.drop();
    this.#subscriptions.delete(id);
  }
}
