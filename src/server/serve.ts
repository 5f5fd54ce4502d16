import { systemClock } from "../task/clock.ts";

/** A runtime's server that listens. */
export interface Listening {
  readonly port: number;
  /** Stops listening, lets every response go out to its end, and resolves when all connections are closed. */
  stop(): Promise<void>;
  /** Cuts off what is still open, or where that cannot be, lets go of it. `stop` then resolves. */
  cut(): void;
}

/** Starts a runtime's HTTP server. */
export type Listen = (options: {
  readonly fetch: (request: Request, info?: unknown) => Response | Promise<Response>;
  readonly port: number;
  readonly hostname: string;
}) => Promise<Listening>;

/** Options of `serve`. */
export interface ServeOptions {
  /** Default 3000; 0 takes one that is free. */
  port?: number;
  /** Default `127.0.0.1`: this machine alone. */
  hostname?: string;
  /** What `url` ends with. Default the host's own path, or `/mcp` where what is served has none. */
  path?: string;
}

/** A host that is being served. */
export interface Served {
  /** Where the endpoint is. */
  readonly url: string;
  readonly port: number;
  /** Closes the host, with its grace, and then stops listening. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** What can be served. */
export interface Servable {
  readonly path?: string;
  fetch(request: Request, info?: unknown): Response | Promise<Response>;
  close?(options?: { graceMs?: number }): Promise<void>;
}

/** How long responses that were given may take to go out once their server closes, in milliseconds. */
const DRAIN_MS = 2_000;

/** Serves a host over HTTP on the runtime that this runs on: Bun, Deno or Node. Rejects when the port is taken. */
export async function serve(host: Servable, options: ServeOptions = {}): Promise<Served> {
  const { port = 3000, hostname = "127.0.0.1", path = host.path ?? "/mcp" } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new RangeError("port takes a number from 0 to 65535.");
  const { listen } = await runtime();
  const listening = await listen({ fetch: (request, info) => host.fetch(request, info), port, hostname });
  return {
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${listening.port}${path}`,
    port: listening.port,
    close: async (closeOptions) => {
      try {
        await host.close?.(closeOptions);
      } finally {
        const timer = systemClock.setTimeout(() => listening.cut(), DRAIN_MS);
        await listening.stop();
        systemClock.clearTimeout(timer);
      }
    },
  };
}

function runtime(): Promise<{ listen: Listen }> {
  if ("Bun" in globalThis) return import("./serve.bun.ts");
  if ("Deno" in globalThis) return import("./serve.deno.ts");
  return import("./serve.node.ts");
}
