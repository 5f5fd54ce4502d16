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
import { z } from "zod";
import type { Host, JsonObject, JsonRpcError } from "../../src/mod.ts";
import { ProtocolError, createHost, serve } from "../../src/mod.ts";
import { programOf } from "./child.ts";
import { TASKS } from "./rpc.ts";

const Name = z.object({ name: z.string() });

/** The tools that the peers call, on whatever transport. */
export function addPeerTools(host: Host): void {
  host.tool("quick", { inputSchema: z.object({ a: z.number() }) }, ({ a }) => `got ${a}`);
  host.tool("required", { task: "required" }, async (_input, task) => {
    task.progress(1, 2, "half");
    await task.sleep("work", 30);
    return "worked";
  });
  host.tool("external", { task: "required" }, (_input, task) => task.external());
  host.tool("slow_poll", { task: { mode: "required", pollIntervalMs: 600_000 } }, (_input, task) => task.external());
  host.tool("asks", { task: "required" }, async (_input, task) => {
    const { name } = await task.elicit("Name?", Name);
    return `Hello, ${name}`;
  });
  host.tool("asks_inline", { task: "forbidden" }, async (_input, task) => {
    task.progress(1, 2);
    const { name } = await task.elicit("Name?", Name);
    task.progress(2, 2);
    // The client takes no progress that comes in one piece with its result.
    await task.sleep("breath", 20);
    return `Hello, ${name}`;
  });
  host.tool("hangs", { task: "required" }, async (_input, task) => {
    await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
    return "never";
  });
  host.tool("fails", { task: "required" }, () => {
    throw new ProtocolError(-32050, "Out of paper", { tray: 2 });
  });
  host.tool("errs", { task: "required" }, () => ({ content: [{ type: "text", text: "no such file" }], isError: true }));
  host.tool("counts", { task: "required", outputSchema: z.object({ count: z.number() }) }, () => ({ count: 3 }));
  host.tool("finish", { inputSchema: z.object({ taskId: z.string(), text: z.string() }) }, async ({ taskId, text }) => {
    await host.task(taskId).status("nearly");
    await host.task(taskId).complete(text);
  });
}

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
export const CLIENT_CAPABILITIES = { ...TASKS, elicitation: {} };

/** A connected client of the official SDK, with the transport beneath it. */
export interface Peer {
  readonly client: Client;
  readonly raw: RawTransport;
}

/** A server that peers connect to: each time with a new client, where the transport lets more than one in. */
export interface PeerServer {
  connect(options?: ClientOptions): Promise<Peer>;
  close(): Promise<void>;
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

/** A host with the peers' tools on a port of its own. */
async function overHttp(): Promise<PeerServer> {
  const host = createHost({ name: "peer-host", version: "1.0.0", pollIntervalMs: 20 });
  addPeerTools(host);
  const served = await serve(host, { port: 0 });
  const clients: Client[] = [];
  return {
    connect: async (options = {}) => {
      const peer = await connected(new StreamableHTTPClientTransport(new URL(served.url)), options);
      clients.push(peer.client);
      return peer;
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await served.close();
    },
  };
}

/** A process with the peers' tools, a new one for each client. */
async function overStdio(): Promise<PeerServer> {
  const clients: Client[] = [];
  return {
    connect: async (options = {}) => {
      const [command, ...args] = programOf("stdio-peers");
      const peer = await connected(new StdioClientTransport({ command, args }), options);
      clients.push(peer.client);
      return peer;
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
    },
  };
}

/** The transports that peers meet over. */
export const transports = { HTTP: overHttp, stdio: overStdio } as const;
