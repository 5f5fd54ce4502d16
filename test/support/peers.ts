import type {
  ClientOptions,
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { z } from "zod";
import type { DetailedTask, JsonObject, JsonRpcError, Task } from "../../src/mod.ts";
import { TASKS_EXTENSION, serve } from "../../src/mod.ts";
import { programOf } from "./child.ts";
import { createPeerHost } from "./peer-tools.ts";
import { envelope, textOf } from "./rpc.ts";
import { patiently } from "./until.ts";

/** What a raw request got. */
export type RawResponse = { readonly result: JsonObject } | { readonly error: JsonRpcError };

/**
 * Stands between an SDK client and its transport: sends requests of one's own past the client, which takes no task for
 * an answer, and keeps what the client shows to nobody.
 */
export class RawTransport implements Transport {
  readonly #inner: Transport;
  readonly #waiting = new Map<RequestId, (response: RawResponse) => void>();
  #lastId = 0;
  /** The ids of tasks that acknowledgements named, one list for each. */
  readonly acknowledged: unknown[] = [];

  onmessage?: Transport["onmessage"];
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  get hasPerRequestStream(): boolean {
    return (this.#inner as { hasPerRequestStream?: boolean }).hasPerRequestStream === true;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#inner.setSupportedProtocolVersions?.(versions);
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => this.#take(message, extra);
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => this.onerror?.(error);
    await this.#inner.start();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    return this.#inner.send(message, options);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Sends a request, and resolves to its response, whatever that is. */
  dispatch(method: string, params: JsonObject, options: TransportSendOptions = {}): Promise<RawResponse> {
    const id = `raw-${(this.#lastId += 1)}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      options.requestSignal?.addEventListener("abort", () => reject(options.requestSignal?.reason as Error), {
        once: true,
      });
      this.#inner.send({ jsonrpc: "2.0", id, method, params }, options).catch(reject);
    });
  }

  #take(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    if ("method" in message && message.method === "notifications/subscriptions/acknowledged") {
      this.acknowledged.push((message.params?.["notifications"] as JsonObject | undefined)?.["taskIds"]);
    }
    const waiting = "method" in message || message.id === undefined ? undefined : this.#waiting.get(message.id);
    if (waiting === undefined) return this.onmessage?.(message, extra);
    this.#waiting.delete((message as { id: RequestId }).id);
    waiting(message as unknown as RawResponse);
  }
}

export const CLIENT_INFO = { name: "peer", version: "1.0.0" };
/** It knows tasks and can be asked anything. */
export const CLIENT_CAPABILITIES = {
  extensions: { [TASKS_EXTENSION]: {} },
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: {},
};

/** A connected client of the official SDK, with the transport beneath it. */
export interface Peer {
  readonly client: Client;
  readonly raw: RawTransport;
}

/** A server that peers connect to: each time with a new client, where the transport lets more than one in. */
export interface PeerServer {
  connect(options?: ClientOptions): Promise<Peer>;
  /** Connects one more client to the very host that a peer is a client of. */
  beside(peer: Peer): Promise<Peer>;
  close(): Promise<void>;
}

const Anything = z.looseObject({});
const TaskNotification = z.looseObject({ taskId: z.string() });

/** Calls a tool past the client, for a task. */
export async function begin({ raw }: Peer, name: string): Promise<Task> {
  const response = await raw.dispatch("tools/call", { name, arguments: {}, _meta: envelope(CLIENT_CAPABILITIES) });
  const { result } = response as Extract<RawResponse, { result: JsonObject }>;
  assert.equal(result["resultType"], "task", JSON.stringify(response));
  return result as unknown as Task;
}

/** A task as it is. */
export async function get({ client }: Peer, taskId: string): Promise<DetailedTask> {
  const task: unknown = await client.request({ method: "tasks/get", params: { taskId } }, Anything);
  return task as DetailedTask;
}

/** Looks at a task until it is as it is wanted. */
export async function polled<Wanted extends DetailedTask>(
  peer: Peer,
  taskId: string,
  wanted: (task: DetailedTask) => task is Wanted,
): Promise<Wanted> {
  return patiently(async () => {
    for (;;) {
      const task = await get(peer, taskId);
      if (wanted(task)) return task;
    }
  });
}

export async function cancel({ client }: Peer, taskId: string): Promise<void> {
  await client.request({ method: "tasks/cancel", params: { taskId } }, Anything);
}

export async function update({ client }: Peer, taskId: string, inputResponses: JsonObject): Promise<void> {
  await client.request({ method: "tasks/update", params: { taskId, inputResponses } }, Anything);
}

/** Everything that the client is notified of tasks, from now on; the one that asked last hears it. */
export function notificationsOf({ client }: Peer): DetailedTask[] {
  const tasks: DetailedTask[] = [];
  client.setNotificationHandler("notifications/tasks", { params: TaskNotification }, (task) => {
    tasks.push(task as unknown as DetailedTask);
  });
  return tasks;
}

async function connected(transport: Transport, options: ClientOptions): Promise<Peer> {
  const raw = new RawTransport(transport);
  const client = new Client(CLIENT_INFO, {
    capabilities: CLIENT_CAPABILITIES,
    versionNegotiation: { mode: "auto" },
    ...options,
  });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ann" } }));
  await client.connect(raw);
  return { client, raw };
}

/** Connects clients and closes them all in the end. */
class Clients {
  readonly #clients: Client[] = [];

  async connect(transport: Transport, options: ClientOptions = {}): Promise<Peer> {
    const peer = await connected(transport, options);
    this.#clients.push(peer.client);
    return peer;
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }
}

const httpTransport = (url: string) => new StreamableHTTPClientTransport(new URL(url));

/** A host on a port of its own. */
async function overHttp(): Promise<PeerServer> {
  const served = await serve(createPeerHost(), { port: 0 });
  const clients = new Clients();
  return {
    connect: (options) => clients.connect(httpTransport(served.url), options),
    beside: () => clients.connect(httpTransport(served.url)),
    close: async () => {
      await clients.close();
      await served.close();
    },
  };
}

/** A process with a host, a new one for each client. */
async function overStdio(): Promise<PeerServer> {
  const clients = new Clients();
  return {
    connect: (options) => {
      const [command, ...args] = programOf("stdio-peers");
      return clients.connect(new StdioClientTransport({ command, args }), options);
    },
    // A process has one client on its standard streams: others come in over HTTP, where the same tasks are.
    beside: async ({ client }) => clients.connect(httpTransport(textOf(await client.callTool({ name: "address" })))),
    close: () => clients.close(),
  };
}

/** The transports that peers meet over. */
export const transports = { HTTP: overHttp, stdio: overStdio } as const;
