import { serve } from "@hono/node-server";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Listen } from "./serve.ts";

/** Serves with Node's HTTP server. */
export const listen: Listen = async ({ fetch, port, hostname }) => {
  const server = serve({ fetch, port, hostname });
  // Rejects with the server's error, such as EADDRINUSE.
  if (!server.listening) await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      const closed = once(server, "close");
      server.close();
      await closed;
    },
    cut: () => {
      if ("closeAllConnections" in server) server.closeAllConnections();
    },
  };
};
