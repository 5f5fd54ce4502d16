import type {
  AuthProvider,
  OAuthClientProvider,
  StreamableHTTPClientTransportOptions,
  Transport,
} from "@modelcontextprotocol/client";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Clock } from "../task/clock.ts";
import type { Fetch } from "./failures.ts";
import { heedRetryAfter } from "./failures.ts";
import { withAbortedBodies } from "./fetch.deno.ts";
import { withoutSilenceLimit } from "./fetch.node.ts";
import { linkedTransports } from "./link.ts";

/** A server that is run as a command and spoken to on its stdin and stdout. */
export interface CommandTarget {
  /** A program, found as a shell finds it; no shell is involved. */
  command: string;
  /** Its arguments. Default none. */
  args?: string[];
  /** Added to the few variables that are safe to inherit: `PATH`, `HOME` and the like. */
  env?: Record<string, string>;
  /** The folder it runs in. Default this process's. */
  cwd?: string;
  /** Where its stderr goes. Default `inherit`. */
  stderr?: "inherit" | "ignore";
}

/** A server behind a URL, with what its requests carry. */
export interface UrlTarget {
  /** The endpoint: http or https. */
  url: string | URL;
  /** Headers of every request, for example `{ authorization: "Bearer …" }`. */
  headers?: Record<string, string>;
  /** What sends the requests. Default the runtime's `fetch`. */
  fetch?: Fetch;
  /** Gets and renews tokens: the SDK's. */
  authProvider?: AuthProvider | OAuthClientProvider;
}

/** A host in the same process: what `createHost` makes. */
export interface HostTarget {
  connect(transport: Transport): unknown;
}

/**
 * Where a client's server is. A `Client` of the SDK is connected already and stays its owner's; it speaks of tasks only
 * where it was made with `versionNegotiation: { mode: "auto" }`.
 */
export type ClientTarget = Client | string | URL | UrlTarget | CommandTarget | HostTarget;

/** A target, read. */
export interface Target {
  /** The client that was given; `undefined` where one is made for each connection. */
  readonly client: Client | undefined;
  /** The endpoint without what may be secret in it: user, query and fragment. */
  readonly url: string | undefined;
  /** Makes the transport of a new connection. */
  readonly open: () => Transport | Promise<Transport>;
  /** Why a transport that could not be connected has no server any more, where that is known. */
  readonly whyGone?: (transport: Transport) => string | undefined;
}

const WHAT =
  "createTaskClient takes a connected SDK Client, the URL of an endpoint, { url, headers }, { command, args }, or a host.";

/** Reads a target. Throws `TypeError` that says what to write. */
export function readTarget(target: ClientTarget, clock: Clock): Target {
  if (typeof target === "string" || target instanceof URL) return urlTarget({ url: target }, clock);
  if (typeof target !== "object" || target === null) throw new TypeError(WHAT);
  if (isSdkClient(target)) return { client: target, url: undefined, open: () => Promise.reject(new TypeError(WHAT)) };
  if ("command" in target) return commandTarget(target);
  if ("url" in target) return urlTarget(target, clock);
  if (!("callTool" in target) && "connect" in target && typeof target.connect === "function") {
    return {
      client: undefined,
      url: undefined,
      open: async () => {
        const [ours, theirs] = linkedTransports();
        await target.connect(theirs);
        return ours;
      },
    };
  }
  throw new TypeError(WHAT);
}

/** Several copies of the SDK may be loaded, so that `instanceof` says little. */
function isSdkClient(target: object): target is Client {
  return target instanceof Client || ("callTool" in target && "request" in target && "getServerCapabilities" in target);
}

function urlTarget({ url: given, headers, fetch: own, authProvider }: UrlTarget, clock: Clock): Target {
  const url = URL.canParse(String(given)) ? new URL(given) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new TypeError(`"${String(given)}" is no http or https URL. ${WHAT}`);
  }
  const fetch: Fetch = own ?? withoutSilenceLimit((input, init) => globalThis.fetch(input, init));
  const options: StreamableHTTPClientTransportOptions = {
    fetch: heedRetryAfter(withAbortedBodies(fetch), clock),
    ...(headers !== undefined && { requestInit: { headers } }),
    ...(authProvider !== undefined && { authProvider }),
  };
  return {
    client: undefined,
    url: url.origin + url.pathname,
    open: () => new StreamableHTTPClientTransport(url, options),
  };
}

function commandTarget({ command, args = [], env, cwd, stderr }: CommandTarget): Target {
  if (typeof command !== "string" || command === "" || !Array.isArray(args)) throw new TypeError(WHAT);
  return {
    client: undefined,
    url: undefined,
    open: async () => {
      const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
      // As a class of its own it is asked for its revision itself: of the SDK's own a second process is started for that.
      class CommandTransport extends StdioClientTransport {}
      return new CommandTransport({
        command,
        args,
        ...(env !== undefined && { env }),
        ...(cwd !== undefined && { cwd }),
        ...(stderr !== undefined && { stderr }),
      });
    },
    whyGone: (transport) =>
      "pid" in transport && transport.pid === null
        ? `The command ended before it answered: ${command}. Its stderr may say why.`
        : undefined,
  };
}
