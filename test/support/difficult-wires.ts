// The ends of the difficult server: HTTP, a process's standard streams, and a transport in this process.
import type { Transport } from "@modelcontextprotocol/client";
import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createSocketServer } from "node:net";
import type { DifficultServer, Exchange } from "./difficult-server.ts";
import { programOf } from "./child.ts";

type JsonObject = { [key: string]: unknown };

/** What one request is answered over. */
export interface Wire {
  notify(message: JsonObject): void;
  respond(message: JsonObject): void;
  /** Sends the first half of a response and breaks the connection. */
  half(message: JsonObject): void;
  end(): void;
  cut(): void;
  http?(status: number, headers: { [name: string]: string }, body: string): void;
}

export interface HttpWire {
  readonly url: string;
  /** How many connections are open. */
  connections(): number;
  readonly close: () => Promise<void>;
}

export interface StdioWire {
  readonly command: string;
  readonly args: string[];
  readonly close: () => Promise<void>;
}

/** Serves HTTP on a free port of this machine. */
export async function serveHttp(server: DifficultServer): Promise<HttpWire> {
  const sockets = new Set<Socket>();
  const http = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const message = JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonObject;
      response.on("error", () => {});
      const exchange = server.accept(message, new HttpAnswer(response, server.responses), request.headers);
      response.on("close", () => exchange?.leave());
    });
  });
  http.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    connections: () => sockets.size,
    close: async () => {
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      http.closeAllConnections();
      await closed;
    },
  };
}

class HttpAnswer implements Wire {
  readonly #response: ServerResponse;
  readonly #responses: "json" | "sse";

  constructor(response: ServerResponse, responses: "json" | "sse") {
    this.#response = response;
    this.#responses = responses;
  }

  notify(message: JsonObject): void {
    this.#stream();
    this.#response.write(frame(message));
  }

  respond(message: JsonObject): void {
    if (this.#responses === "sse" || this.#response.headersSent) {
      this.#stream();
      this.#response.end(frame(message));
    } else {
      this.#response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
    }
  }

  half(message: JsonObject): void {
    if (this.#responses === "sse") this.#stream();
    const text = this.#responses === "sse" ? frame(message) : JSON.stringify(message);
    if (!this.#response.headersSent) {
      const length = Buffer.byteLength(text);
      this.#response.writeHead(200, { "content-type": "application/json", "content-length": length });
    }
    this.#response.write(text.slice(0, text.length / 2), () => this.cut());
  }

  end(): void {
    if (!this.#response.headersSent) this.#response.writeHead(202);
    this.#response.end();
  }

  cut(): void {
    this.#response.destroy();
    this.#response.socket?.destroy();
  }

  http(status: number, headers: { [name: string]: string }, body: string): void {
    this.#response.writeHead(status, headers).end(body);
  }

  #stream(): void {
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      this.#response.flushHeaders();
    }
  }
}

function frame(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

/** Where messages of one client go that all share a channel. */
interface Line {
  send(message: JsonObject): void;
  half(message: JsonObject): void;
  close(): void;
}

/** What one request is answered over where all share a channel. */
class SharedAnswer implements Wire {
  readonly #line: Line;
  exchange: Exchange | undefined;
  over = false;

  constructor(line: Line) {
    this.#line = line;
  }

  notify(message: JsonObject): void {
    this.#line.send(message);
  }

  respond(message: JsonObject): void {
    this.#line.send(message);
    this.end();
  }

  half(message: JsonObject): void {
    this.#line.half(message);
    this.end();
  }

  /** Here an end shows nowhere: a request that is not answered hangs. */
  end(): void {
    this.over = true;
    this.exchange?.leave();
  }

  cut(): void {
    this.#line.close();
    this.end();
  }
}

function accept(server: DifficultServer, message: JsonObject, line: Line, open: Set<Exchange>): void {
  const wire = new SharedAnswer(line);
  const exchange = server.accept(message, wire);
  wire.exchange = exchange;
  if (exchange === undefined) return;
  if (wire.over) return exchange.leave();
  open.add(exchange);
  exchange.gone.addEventListener("abort", () => open.delete(exchange));
}

/** Serves one client over its end of a pair of linked transports. Messages are copied, so that nothing is shared. */
export async function connectWire(server: DifficultServer, transport: Transport): Promise<void> {
  const open = new Set<Exchange>();
  const send = (message: JsonObject) => void transport.send(structuredClone(message) as never).catch(() => {});
  const line: Line = { send, half: () => void transport.close(), close: () => void transport.close() };
  transport.onmessage = (message) => accept(server, { ...structuredClone(message) }, line, open);
  transport.onclose = () => {
    for (const exchange of open) exchange.leave();
  };
  await transport.start();
}

/**
 * Gives the command of a process that passes its standard streams on to this server, which so stays in the test's
 * hands. The process ends when the server breaks the connection, or when its input ends.
 */
export async function serveStdio(server: DifficultServer): Promise<StdioWire> {
  const sockets = new Set<Socket>();
  const listener = createSocketServer((socket) => {
    sockets.add(socket);
    const open = new Set<Exchange>();
    const line: Line = {
      send: (message) => void socket.write(`${JSON.stringify(message)}\n`),
      half: (message) => {
        const text = JSON.stringify(message);
        socket.end(text.slice(0, text.length / 2));
      },
      close: () => socket.destroy(),
    };
    let partial = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      const lines = (partial + text).split("\n");
      partial = lines.pop() ?? "";
      for (const one of lines) accept(server, JSON.parse(one) as JsonObject, line, open);
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      for (const exchange of open) exchange.leave();
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const [command, ...args] = programOf("difficult-stdio", [String((listener.address() as AddressInfo).port)]);
  return {
    command,
    args,
    close: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
