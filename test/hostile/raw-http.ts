import type { Buffer } from "node:buffer";
import { connect } from "node:net";
import { clearTimeout, setTimeout } from "node:timers";

/** How long a server may take to answer what is no request, before the client hangs up. */
const PATIENCE_MS = 150;

/** What is sent over a connection. */
export interface Volley {
  readonly bytes: Uint8Array;
  /** Whether the client goes away as soon as it has sent all. */
  readonly leaves: boolean;
}

/**
 * Sends bytes over a connection of its own and gives the HTTP status of what comes back, or `undefined` when nothing
 * does. It hangs up on the first answer, in the middle of it if need be.
 */
export function shoot(port: number, { bytes, leaves }: Volley): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (status?: number) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(status);
    };
    const timer = setTimeout(end, PATIENCE_MS);
    socket.on("connect", () => {
      socket.write(bytes, () => {
        if (leaves) end();
      });
    });
    socket.on("data", (data: Buffer) => {
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(data.toString("latin1"))?.[1];
      end(status === undefined ? undefined : Number(status));
    });
    socket.on("error", () => end());
    socket.on("close", () => end());
  });
}
