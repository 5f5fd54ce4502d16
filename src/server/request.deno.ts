/**
 * Deno aborts a request's signal after every response, delivered or not, and warns whoever looks at it. What `info`
 * tells instead: `completed` rejects when the client went away first.
 */
export function withHonestSignal(request: Request, info: unknown): Request {
  const completed = typeof info === "object" && info !== null && "completed" in info ? info.completed : undefined;
  if (!(completed instanceof Promise)) return request;
  let controller: AbortController | undefined;
  return Object.defineProperty(request, "signal", {
    get: () => {
      if (controller === undefined) {
        const made = (controller = new AbortController());
        completed.catch((reason: unknown) => made.abort(reason));
      }
      return controller.signal;
    },
  });
}
