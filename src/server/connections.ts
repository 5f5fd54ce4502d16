import type { McpServerFactory, Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { HostClosedError } from "../task/errors.ts";

/** A client that is served over a transport of its own. */
export interface ConnectionHandle {
  /** Resolves when the connection is over: by `close`, or because the client closed its end. Never rejects. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  readonly factory: McpServerFactory;
  /** How many of the SDK's subscriptions one connection may have open. */
  readonly subscriptions: number;
  readonly onError: (error: unknown) => void;
}

/** The clients of a host that are connected: each has one transport for everything, unlike those over HTTP. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Set<ConnectionHandle>();
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Serves the client at the other end. Throws `HostClosedError` after `close`. */
  open(transport: Transport): ConnectionHandle {
    if (this.#closed) throw new HostClosedError();
    const { factory, subscriptions, onError } = this.#options;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const start = transport.start.bind(transport);
    // What cannot start is over, which the SDK reports and leaves at that.
    transport.start = () =>
      start().catch((error: unknown) => {
        void connection.close();
        throw error;
      });
    const served = serveStdio(factory, { transport, maxSubscriptions: subscriptions, onerror: onError });
    const { onclose } = transport;
    const over = () => {
      this.#open.delete(connection);
      resolve();
    };
    transport.onclose = () => {
      onclose?.();
      over();
    };
    const connection: ConnectionHandle = {
      closed,
      close: async () => {
        await served.close();
        // A transport that never started may not say that it closed.
        over();
      },
    };
    this.#open.add(connection);
    return connection;
  }

  /** Ends every connection, and lets none in any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map((connection) => connection.close()));
  }
}
