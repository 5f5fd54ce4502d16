import type { JsonRpcError } from "../task/task.ts";

/** The response to an HTTP request that is refused as a whole, before anybody knows the id of what it asks. */
export function refusal(status: number, error: JsonRpcError): Response {
  const headers = { "content-type": "application/json" };
  return new Response(JSON.stringify({ jsonrpc: "2.0", error, id: null }), { status, headers });
}
