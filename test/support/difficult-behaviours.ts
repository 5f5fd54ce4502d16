// What the difficult server can be told to do with a request, beside what is usual.
import type { Behaviour, Exchange } from "./difficult-server.ts";

type JsonObject = { [key: string]: unknown };

/** What a good server does. */
export const usual: Behaviour = (exchange, server) => server.usual(exchange);

/** Never answers. */
export const hangs: Behaviour = () => {};

/** Breaks the connection before the response. */
export const drops: Behaviour = (exchange) => exchange.cut();

/** Breaks the connection in the middle of the response. */
export const breaksOff: Behaviour = (exchange, server) => exchange.half(server.snapshot(exchange.taskId));

/** Ends the response without having said anything. */
export const endsEmpty: Behaviour = (exchange) => exchange.end();

/** Answers later, by the server's clock. */
export function slow(ms: number, then: Behaviour = usual): Behaviour {
  return (exchange, server) => void server.clock.setTimeout(() => then(exchange, server), ms);
}

/** Answers with a JSON-RPC error. */
export function fails(code: unknown, message: unknown = "No", data?: unknown): Behaviour {
  return (exchange) => exchange.error(code, message, data);
}

/** Answers with a result, whatever was asked. */
export function gives(result: unknown): Behaviour {
  return (exchange) => exchange.result(result);
}

/** Answers `tasks/get` with the task as it is, but for a lie. */
export function lies(lie: JsonObject): Behaviour {
  return (exchange, server) => {
    if (server.tasks.has(exchange.taskId)) exchange.result(server.snapshot(exchange.taskId, lie));
    else server.usual(exchange);
  };
}

/** Answers `tools/call` with a task, but for a lie. */
export function begins(lie: JsonObject): Behaviour {
  return (exchange, server) => exchange.result({ resultType: "task", ...server.make(undefined, lie) });
}

/** Answers with an HTTP status. */
export function http(status: number, headers: { [name: string]: string } = {}, body = ""): Behaviour {
  return (exchange) => exchange.http(status, headers, body);
}

/** Does one thing, then another. */
export function both(first: Behaviour, second: Behaviour): Behaviour {
  return (exchange, server) => {
    first(exchange, server);
    second(exchange, server);
  };
}

/** Keeps the requests of a method, for a test to answer when it likes. */
export function keeps(kept: Exchange[]): Behaviour {
  return (exchange) => void kept.push(exchange);
}
