import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { RawClientDispatch, TaskEnabledSession } from "@modelcontextprotocol/ext-tasks/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";

const clientInfo = { name: "bench", version: "1.0.0" };
const clientCapabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

type Response = Awaited<ReturnType<RawClientDispatch>>;

/**
 * A session of the official extension package with a server. It leaves it to its user to send requests past the SDK's
 * client: here nothing is done for one but to find the response to it.
 */
export async function openSession(url: string): Promise<TaskEnabledSession> {
  const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: "auto" } });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  const pending = new Map<unknown, (response: Response) => void>();
  const deliver = transport.onmessage;
  transport.onmessage = (message, ...rest) => {
    const resolve = "id" in message && !("method" in message) ? pending.get(message.id) : undefined;
    if (resolve === undefined || "method" in message) return deliver?.(message, ...rest);
    pending.delete(message.id);
    if ("error" in message) resolve({ kind: "error", error: message.error as never });
    else resolve({ kind: "result", result: message.result as never });
  };
  let lastId = 0;
  const rawDispatch: RawClientDispatch = (request, { context } = {}) => {
    const { method, params } = request as unknown as { method: string; params: Record<string, unknown> };
    lastId += 1;
    const id = `raw-${lastId}`;
    return new Promise((resolve, reject) => {
      pending.set(id, resolve);
      const headers = context?.headers;
      transport.send({ jsonrpc: "2.0", id, method, params }, headers === undefined ? {} : { headers }).catch(reject);
    });
  };
  return createTaskSessionFromClient(client, {
    endpointId: "bench",
    v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo, clientCapabilities },
    rawDispatch,
    onInputRequest: () => ({ action: "decline" }) as never,
  });
}
