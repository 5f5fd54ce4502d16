import { keepInfo } from "./request.deno.ts";
import type { Listen } from "./serve.ts";

/** The part of Deno that is used here. */
declare const Deno: {
  serve(
    options: { port: number; hostname: string; onListen: () => void },
    fetch: (request: Request, info: unknown) => Response | Promise<Response>,
  ): { addr: { port: number }; shutdown(): Promise<void>; unref(): void };
};

/** Serves with `Deno.serve`. */
export const listen: Listen = async ({ fetch, port, hostname }) => {
  const server = Deno.serve({ port, hostname, onListen: () => {} }, (request, info) => fetch(keepInfo(request, info), info));
  const { promise: given, resolve: giveUp } = Promise.withResolvers<void>();
  return {
    port: server.addr.port,
    stop: () => Promise.race([server.shutdown(), given]),
    // Once it shuts down in good order, Deno cannot be made to hurry: what is still open may not hold the process.
    cut: () => {
      server.unref();
      giveUp();
    },
  };
};
