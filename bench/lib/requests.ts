/** Requests of a client at 2026-07-28 that declares tasks. */

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};

/** An HTTP POST. */
export interface Post {
  readonly headers: Record<string, string>;
  readonly body: string;
}

function post(method: string, name: string | undefined, params: object, id: number): Post {
  return {
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: META } }),
  };
}

export function getTask(taskId: string): Post {
  return post("tasks/get", taskId, { taskId }, 1);
}

export function callTool(name: string, args: object, id = 1): Post {
  return post("tools/call", name, { name, arguments: args }, id);
}

export function listenTo(taskId: string): Post {
  return post("subscriptions/listen", undefined, { notifications: { taskIds: [taskId] } }, 1);
}

/** The request for a `fetch` function in this process. */
export function toRequest({ headers, body }: Post): Request {
  return new Request("http://localhost/mcp", {
    method: "POST",
    headers: { ...headers, host: "localhost", "content-length": String(body.length) },
    body,
  });
}

/** The bytes of the request for a socket. */
export function toBytes({ headers, body }: Post, { host, pathname }: URL): Buffer {
  const lines = Object.entries({ ...headers, host, "content-length": String(body.length) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.from(`POST ${pathname} HTTP/1.1\r\n${head}\r\n${body}`, "latin1");
}
