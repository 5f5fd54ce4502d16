import type { Listen } from "./serve.ts";

/** Serves with `Bun.serve`. */
export const listen: Listen = async ({ fetch, port, hostname }) => {
  // Event streams may be silent for longer than Bun's idle timeout.
  const server = Bun.serve({ fetch: (request) => fetch(request), port, hostname, idleTimeout: 0 });
  return { port: server.port ?? port, stop: () => server.stop(), cut: () => void server.stop(true) };
};
