import type { Listen } from "./serve.ts";

/** The part of Deno that is used here. */
declare const Deno: {
  serve(
    options: { port: number; hostname: string; signal: AbortSignal; onListen: () => void },
    fetch: (request: Request, info: unknown) => Response | Promise<Response>,
  ): { addr: { port: number }; finished: Promise<void> };
};

/** Serves with `Deno.serve`. */
export const listen: Listen = async ({ fetch, port, hostname }) => {
  const abort = new AbortController();
  const server = Deno.serve({ port, hostname, signal: abort.signal, onListen: () => {} }, fetch);
  return {
    port: server.addr.port,
    stop: async () => {
      abort.abort();
      await server.finished;
    },
  };
};
