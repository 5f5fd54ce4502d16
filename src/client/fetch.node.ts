import type { Fetch } from "./failures.ts";

/** Where Node keeps what its `fetch` connects with, once it has fetched something. */
const GLOBAL_DISPATCHER = Symbol.for("undici.globalDispatcher.1");

let unlimited: Promise<object | undefined> | undefined;

/**
 * Node's `fetch` gives a response up that is silent for five minutes, and a call may take longer: what bounds it is its
 * wait. Elsewhere, and where the process has a dispatcher of its own (for a proxy, say), the `fetch` that is given is as
 * it was.
 */
export function withoutSilenceLimit(fetch: Fetch): Fetch {
  if ("Bun" in globalThis || "Deno" in globalThis) return fetch;
  return async (url, init) => {
    const dispatcher = await (unlimited ??= makeDispatcher());
    return fetch(url, dispatcher === undefined ? init : ({ ...init, dispatcher } as RequestInit));
  };
}

async function makeDispatcher(): Promise<object | undefined> {
  await globalThis.fetch("data:,");
  const present: unknown = Reflect.get(globalThis, GLOBAL_DISPATCHER);
  if (typeof present !== "object" || present === null || present.constructor.name !== "Agent") return undefined;
  const Agent = present.constructor as new (options: object) => object;
  return new Agent({ headersTimeout: 0, bodyTimeout: 0 });
}
