import { ProtocolError, SdkError, SdkHttpError } from "@modelcontextprotocol/client";
import type { Clock } from "../task/clock.ts";
import { systemClock } from "../task/clock.ts";
import type { JsonRpcError } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { RequestFailedError } from "./errors.ts";

/** How much of a response's text goes into an error. */
const EXCERPT = 300;
/** How many errors that caused each other are told. */
const CAUSES = 4;

/** Response statuses whose `Retry-After` says when to come again. */
const PAUSES: ReadonlySet<number> = new Set([429, 503]);

/** What a failed send comes to, in our words. */
export function toRequestFailure(error: unknown): RequestFailedError {
  // What a `fetch` of ours threw, the SDK may have wrapped.
  for (let inner = error; inner instanceof Error; inner = inner.cause) if (inner instanceof RequestFailedError) return inner;
  if (error instanceof SdkHttpError) {
    const { status, text } = error.data;
    // The SDK says why it did not go where it was sent.
    if (status >= 300 && status < 400) return new RequestFailedError({ message: error.message }, { status, cause: error });
    return httpFailure(status, typeof text === "string" ? text : "", undefined, error);
  }
  if (error instanceof ProtocolError) {
    return new RequestFailedError({ code: error.code, message: error.message, data: error.data }, { cause: error });
  }
  if (error instanceof SdkError && isJsonObject(error.data) && typeof error.data["code"] === "number") {
    return new RequestFailedError({ code: error.data["code"], message: error.message }, { cause: error });
  }
  if (error instanceof SyntaxError || (error instanceof Error && "issues" in error)) {
    return new RequestFailedError({ message: "The server's answer is no JSON-RPC response" }, { cause: error, retry: "few" });
  }
  return new RequestFailedError({ message: reasonOf(error) }, { cause: error });
}

/** Why something failed: Node's `fetch` says "fetch failed", and why in the cause, which the SDK wraps once more. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const reasons = [error.message];
  for (let { cause } = error; cause instanceof Error && reasons.length < CAUSES; cause = cause.cause) {
    const { message } = cause;
    if (!reasons.some((reason) => reason.includes(message))) reasons.push(message);
  }
  return reasons.join(": ");
}

/** A response that is no success: with its JSON-RPC error, where its body has one. */
function httpFailure(status: number, text: string, retryAfterMs?: number, cause?: unknown): RequestFailedError {
  const error = rpcErrorIn(text);
  if (error !== undefined) return new RequestFailedError(error, { status, retryAfterMs, cause });
  const excerpt = text.trim() === "" || text.trimStart().startsWith("<") ? "" : `: ${text.trim().slice(0, EXCERPT)}`;
  return new RequestFailedError({ message: `The server answered with HTTP ${status}${excerpt}` }, { status, retryAfterMs, cause });
}

function rpcErrorIn(text: string): JsonRpcError | undefined {
  try {
    const body: unknown = JSON.parse(text);
    const error = isJsonObject(body) ? body["error"] : undefined;
    if (!isJsonObject(error) || !Number.isSafeInteger(error["code"]) || typeof error["message"] !== "string") return undefined;
    return { code: error["code"] as number, message: error["message"], ...("data" in error && { data: error["data"] }) };
  } catch {
    return undefined;
  }
}

/**
 * Wraps a `fetch` for an SDK transport, so that errors say when a busy server (429, 503) wants to be asked again, which
 * the SDK keeps to itself: `new StreamableHTTPClientTransport(url, { fetch: heedRetryAfter(fetch) })`. Clients that
 * Errand makes have it already. `clock` reads a `Retry-After` that is a date; default the machine's. The wrapped `fetch`
 * rejects with `RequestFailedError` for such a response, and is as it was for any other.
 */
export function heedRetryAfter(fetch: Fetch, clock: Clock = systemClock): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!PAUSES.has(response.status)) return response;
    const retryAfterMs = parseRetryAfter(response.headers.get("retry-after"), clock.now());
    if (retryAfterMs === undefined) return response;
    throw httpFailure(response.status, await response.text(), retryAfterMs);
  };
}

/** The `fetch` that SDK transports take. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** `Retry-After` in milliseconds: it says seconds, or a date (RFC 9110, 10.2.3). */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(date - now, 0);
}
