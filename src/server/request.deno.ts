/** What `Deno.serve` tells with a request. */
interface Info {
  readonly completed: Promise<void>;
}

/** Where a request carries it. A `WeakMap`, or giving every request a signal, would double the cost of an answer. */
const INFO = Symbol("info");

type Carrier = Request & { [INFO]?: Info | undefined };

/** Keeps what came with a request, for `withHonestSignal`. Only Deno tells anything. */
export function keepInfo(request: Carrier, info: unknown): Request {
  if (typeof info === "object" && info !== null && "completed" in info) request[INFO] = info as Info;
  return request;
}

/**
 * Deno aborts a request's signal after every response, delivered or not, and warns whoever looks at it. What `info`
 * tells instead: `completed` rejects when the client went away first. Whoever needs a request's signal asks for it here.
 */
export function withHonestSignal(request: Carrier): Request {
  const info = request[INFO];
  if (info === undefined) return request;
  request[INFO] = undefined;
  let controller: AbortController | undefined;
  return Object.defineProperty(request, "signal", {
    get: () => {
      if (controller === undefined) {
        const made = (controller = new AbortController());
        info.completed.catch((reason: unknown) => made.abort(reason));
      }
      return controller.signal;
    },
  });
}
