import type { AuthInfo } from "@modelcontextprotocol/server";
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { toRpcError } from "../task/errors.ts";
import { isJsonObject } from "../task/task.ts";
import type { SdkFetch } from "./fast-path.ts";
import { checkFunction } from "./options.ts";
import { refusal } from "./refusal.ts";
import { keepInfo } from "./request.deno.ts";

/** Options of a host that are about HTTP. */
export interface HttpOptions {
  /** Where the endpoint is. Default `/mcp`. */
  path?: string;
  /**
   * Checks a request's authentication: gives who it is, or the response that refuses it. The SDK's
   * `requireBearerAuth({ verifier })` is one. Default none: whoever knows a task's id may use it.
   */
  auth?: (request: Request) => AuthInfo | Response | Promise<AuthInfo | Response>;
  /**
   * The host names that a `Host` header may carry, without port; "any" checks none. Default those of this machine
   * alone, so that no page of another site can reach a server on loopback.
   */
  allowedHosts?: readonly string[] | "any";
  /** The host names that an `Origin` header may carry. Default `allowedHosts`, or with "any" those of this machine. */
  allowedOrigins?: readonly string[] | "any";
}

/** The endpoint with its checks: as a Hono app, and as a fetch function that does without routing where it can. */
export interface Endpoint {
  readonly path: string;
  readonly app: Hono;
  readonly fetch: (request: Request, info?: unknown) => Response | Promise<Response>;
}

/** Makes the endpoint at its path. `onError` hears of an `auth` that throws. */
export function createEndpoint(handle: SdkFetch, options: HttpOptions, onError: (error: unknown) => void): Endpoint {
  const { path = "/mcp", auth, allowedHosts, allowedOrigins } = options;
  if (typeof path !== "string" || !path.startsWith("/")) throw new TypeError('path takes a path such as "/mcp".');
  if (auth !== undefined) checkFunction(auth, "auth");
  const local = localhostAllowedHostnames();
  const hosts = names(allowedHosts, "allowedHosts") ?? local;
  const origins = names(allowedOrigins, "allowedOrigins") ?? (hosts === "any" ? local : hosts);
  /** The last `Host` header that passed, which nearly every request has again: checking it parses a URL. */
  let passed: string | null = null;
  const answer = async (request: Request): Promise<Response> => {
    if (hosts !== "any") {
      const host = request.headers.get("host");
      if (host === null || host !== passed) {
        const refused = hostHeaderValidationResponse(request, hosts);
        if (refused !== undefined) return refused;
        passed = host;
      }
    }
    const refused = origins === "any" ? undefined : originValidationResponse(request, origins);
    if (refused !== undefined) return refused;
    if (auth === undefined) return handle(request);
    let authInfo: AuthInfo | Response;
    try {
      authInfo = await auth(request);
      if (!isJsonObject(authInfo)) throw new TypeError("auth gives who it is, or the response that refuses the request.");
    } catch (error) {
      onError(error);
      return refusal(500, toRpcError(error));
    }
    return authInfo instanceof Response ? authInfo : handle(request, { authInfo });
  };
  // In an app that mounts this one, what came with the request is the app's environment.
  const app = new Hono().all(path, (c) => answer(keepInfo(c.req.raw, c.env)));
  return {
    path,
    app,
    fetch: (request, info) => (isPostTo(path, request) ? answer(keepInfo(request, info)) : app.fetch(request, info)),
  };
}

/** Whether a request is beyond doubt a POST to a path. */
function isPostTo(path: string, { method, url }: Request): boolean {
  return method === "POST" && url.endsWith(path) && url.indexOf("/", url.indexOf("://") + 3) === url.length - path.length;
}

function names(value: readonly string[] | "any" | undefined, option: string): string[] | "any" | undefined {
  if (value === undefined || value === "any") return value;
  if (!Array.isArray(value) || !value.every((name) => typeof name === "string" && !/[/:]/.test(name.replace(/^\[.*\]$/, "")))) {
    throw new TypeError(`${option} takes host names without scheme or port, for example ["mcp.example.com"], or "any".`);
  }
  return value.map((name: string) => name.toLowerCase());
}
