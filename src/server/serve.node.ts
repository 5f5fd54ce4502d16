import { serve } from "@hono/node-server";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Listen } from "./serve.ts";

/** Serves with Node's HTTP server. */
export const listen: Listen = async ({ fetch, port, hostname }) => {
  const server = serve({ fetch, port, hostname });
  let responses = 0;
  let onIdle: (() => void) | undefined;
  server.on("request", (_request: unknown, response: ServerResponse) => {
    responses += 1;
    response.once("close", () => {
      responses -= 1;
      if (responses === 0) onIdle?.();
    });
  });
  const cut = () => {
    if ("closeAllConnections" in server) server.closeAllConnections();
  };
  // Rejects with the server's error, such as EADDRINUSE.
  if (!server.listening) await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      const closed = once(server, "close");
      server.close();
      // To Node, a connection that was never used is not idle: it would be waited for.
      if (responses === 0) cut();
      else onIdle = cut;
      await closed;
    },
    cut,
  };
};
