import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { McpServer, ProtocolError, createMcpHandler } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Host, JsonObject, Served } from "../../src/mod.ts";
import { TASKS_EXTENSION, createHost, serve } from "../../src/mod.ts";
import { CAPABILITIES_KEY, Rpc } from "../support/rpc.ts";
import type { Draft, Method } from "./odd-requests.ts";
import { KNOWN, METHODS, ODDITIES, plainDraft } from "./odd-requests.ts";

const BODY_BYTES = 65_536;
const PLAIN_TASK = "a-task-of-the-plain-server-000000";
const MISSING_CAPABILITY = -32021;

/** A server as an author without Errand would write it, on the SDK alone. */
function plainServer(): McpServer {
  const server = new McpServer(
    { name: "plain", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true }, extensions: { [TASKS_EXTENSION]: {} } } },
  );
  server.registerTool("wait", {}, () => ({ content: [] }));
  const checked = ({ taskId }: JsonObject, envelope: unknown): JsonObject => {
    if (!declaresTasks((envelope as JsonObject | undefined)?.[CAPABILITIES_KEY])) {
      throw new ProtocolError(MISSING_CAPABILITY, "Tasks are not declared", { requiredCapabilities: {} });
    }
    if (typeof taskId !== "string") throw new ProtocolError(-32602, "taskId is no string");
    if (taskId !== PLAIN_TASK) throw new ProtocolError(-32602, "No such task");
    return { taskId, status: "working", createdAt: "", lastUpdatedAt: "", ttlMs: null };
  };
  const params = z.looseObject({});
  server.server.setRequestHandler("tasks/get", { params }, (given, { mcpReq }) => checked(given, mcpReq.envelope));
  server.server.setRequestHandler("tasks/cancel", { params }, (given, { mcpReq }) => {
    checked(given, mcpReq.envelope);
    return {};
  });
  server.server.setRequestHandler("tasks/update", { params }, (given, { mcpReq }) => {
    checked(given, mcpReq.envelope);
    if (mcpReq.inputResponses === undefined) throw new ProtocolError(-32602, "inputResponses left out");
    return {};
  });
  return server;
}

function declaresTasks(capabilities: unknown): boolean {
  const { extensions } = (capabilities ?? {}) as { extensions?: JsonObject };
  return extensions?.[TASKS_EXTENSION] !== undefined;
}

/** What two servers must agree on. */
interface Answer {
  readonly status: number;
  readonly kind: string;
  readonly code?: unknown;
  readonly id?: unknown;
}

async function answerOf(response: Response, { method }: Draft): Promise<Answer> {
  const { status, headers } = response;
  if (method === "HEAD") return { status, kind: "nothing" };
  const kind = headers.get("content-type")?.split(";")[0] ?? "nothing";
  if (kind === "text/event-stream") {
    await response.body?.cancel();
    return { status, kind };
  }
  const text = await response.text();
  if (text === "") return { status, kind: "nothing" };
  if (kind !== "application/json") return { status, kind };
  const message = JSON.parse(text) as JsonObject | JsonObject[];
  if (Array.isArray(message)) return { status, kind: "a batch", id: message.map(({ id }) => id) };
  const { id, error } = message as { id?: unknown; error?: { code: unknown } };
  return { status, kind: error === undefined ? "a result" : "an error", code: error?.code, id };
}

/** The request of a draft to a server, where the task that is there goes by `taskId`. */
function requestOf(draft: Draft, url: string, taskId: string, more: Record<string, string> = {}): Request {
  const place = (text: string) =>
    text.replaceAll(`base64?${KNOWN}?`, `base64?${btoa(taskId)}?`).replaceAll(KNOWN, taskId);
  const headers = new Headers(more);
  for (const [name, value] of Object.entries(draft.headers)) if (value !== undefined) headers.set(name, place(value));
  const body = draft.body ?? (draft.message === undefined ? undefined : JSON.stringify(draft.message));
  return new Request(url, {
    method: draft.method,
    headers,
    ...(body !== undefined && { body: typeof body === "string" ? new TextEncoder().encode(place(body)) : body }),
  });
}

describe("an odd request is answered as the plain SDK answers it", () => {
  let host: Host;
  let hostTask: string;
  let served: Served;
  let plainServed: Served;
  const plain = createMcpHandler(plainServer, { maxRequestBodySize: BODY_BYTES });

  before(async () => {
    host = createHost({ name: "host", version: "1.0.0", limits: { bodyBytes: BODY_BYTES } });
    host.tool("wait", { task: "required" }, async (_input, task) => task.sleep("for ever", 1e9));
    served = await serve(host, { port: 0 });
    plainServed = await serve({ fetch: (request) => plain.fetch(request) }, { port: 0 });
    // It is cancelled over and over: what has ended is answered just the same.
    hostTask = (await new Rpc(host).task("wait")).taskId;
  });

  after(async () => {
    await served.close();
    await plainServed.close();
    await plain.close();
  });

  /** What the plain server's answer makes one expect of the host. */
  function expected(theirs: Answer, { message }: Draft, method: Method): Answer {
    // The SDK cannot know that listening to tasks takes the extension.
    if (method !== "subscriptions/listen to tasks" || theirs.kind !== "text/event-stream") return theirs;
    const { id, params } = message as { id: unknown; params: { notifications: JsonObject; _meta: JsonObject } };
    // Nor that the id of a subscription to tasks is held, and so bounded.
    if (typeof id === "string" && id.length > 256) return { status: 200, kind: "an error", code: -32602, id };
    if (declaresTasks(params._meta[CAPABILITIES_KEY]) || params.notifications["taskIds"] === undefined) return theirs;
    return { status: 400, kind: "an error", code: MISSING_CAPABILITY, id };
  }

  for (const [number, { name, change, methods = METHODS }] of ODDITIES.entries()) {
    it(name, async () => {
      const drafts = methods.map((method) => {
        const draft = plainDraft(method);
        change(draft);
        return { method, draft };
      });
      for (const { method, draft } of drafts) {
        const url = "http://127.0.0.1/mcp";
        const ours = await host.fetch(requestOf(draft, url, hostTask, { host: "127.0.0.1" }));
        const theirs = await answerOf(await plain.fetch(requestOf(draft, url, PLAIN_TASK)), draft);
        assert.deepEqual(await answerOf(ours, draft), expected(theirs, draft, method), method);
      }
      // What a connection adds is the same for every method: one of them, each time another, says it all.
      const { method, draft } = drafts[number % drafts.length] as (typeof drafts)[number];
      const ours = await fetch(requestOf(draft, served.url, hostTask));
      const theirs = await answerOf(await fetch(requestOf(draft, plainServed.url, PLAIN_TASK)), draft);
      assert.deepEqual(await answerOf(ours, draft), expected(theirs, draft, method), `${method} over HTTP`);
    });
  }
});
