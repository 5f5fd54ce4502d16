import type { Fetch } from "./failures.ts";

/**
 * Deno's `fetch` often leaves the connection open when its signal fires while the body is read: the server goes on
 * writing to nobody, and the process does not end. What closes it reliably is to cancel the body. Elsewhere the `fetch`
 * that is given is as it was.
 */
export function withAbortedBodies(fetch: Fetch): Fetch {
  if (!("Deno" in globalThis)) return fetch;
  return async (url, init) => {
    const { signal } = init ?? {};
    if (signal === undefined || signal === null) return fetch(url, init);
    const headers = new AbortController();
    const onAbort = () => headers.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    let response: Response;
    try {
      response = await fetch(url, { ...init, signal: headers.signal });
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    const { body, status, statusText } = response;
    if (body === null) return response;
    return new Response(abortable(body, signal), { status, statusText, headers: response.headers });
  };
}

/** The same bytes, until the signal fires: then an error with its reason, and the source is cancelled. */
function abortable(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let onAbort = () => {};
  const leave = async (reason: unknown) => {
    signal.removeEventListener("abort", onAbort);
    await reader.cancel(reason).catch(() => {}); // It broke already.
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      onAbort = () => {
        controller.error(signal.reason);
        void leave(signal.reason);
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      // A stream that was aborted meanwhile takes nothing more.
      if (signal.aborted) return;
      if (!done) return controller.enqueue(value);
      signal.removeEventListener("abort", onAbort);
      controller.close();
    },
    cancel: leave,
  });
}
