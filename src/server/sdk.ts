/** Small bridges between the SDK's words and Errand's. */
import type {
  AuthInfo,
  ClientCapabilities,
  McpServer,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import {
  CLIENT_CAPABILITIES_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError as SdkProtocolError,
  SERVER_INFO_META_KEY,
  inputRequired,
} from "@modelcontextprotocol/server";
import type { Schema } from "../run/context.ts";
import { askableBy } from "../run/questions.ts";
import type { Call } from "../run/call.ts";
import { TASKS_EXTENSION } from "../task/errors.ts";
import type { JsonObject, JsonRpcError } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";

export { CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY };

/** Whether client capabilities declare the Tasks extension (Tasks, "Capability Negotiation"). */
export function declaresTasks(capabilities: JsonObject): boolean {
  const { extensions } = capabilities;
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS_EXTENSION]);
}

/** The client capabilities of one request at 2026-07-28, or `undefined` for a request of an older revision. */
export function envelopeCapabilities(meta: unknown): JsonObject | undefined {
  if (!isJsonObject(meta) || meta[PROTOCOL_VERSION_META_KEY] === undefined) return undefined;
  const capabilities = meta[CLIENT_CAPABILITIES_META_KEY];
  return isJsonObject(capabilities) ? capabilities : {};
}

/** What the requestor of an SDK request declared, on the request itself or, in the old era, when it connected. */
export function capabilitiesOf(
  ctx: ServerContext,
  server: Server,
): { capabilities: JsonObject; tasks: boolean } {
  const envelope = ctx.mcpReq.envelope as JsonObject | undefined;
  const own = envelope?.[CLIENT_CAPABILITIES_META_KEY];
  if (isJsonObject(own)) return { capabilities: own, tasks: declaresTasks(own) };
  const legacy: ClientCapabilities = server.getClientCapabilities() ?? {};
  return { capabilities: legacy, tasks: false };
}

/** A call as the runner takes it. */
export function makeCall(call: {
  principal: string | undefined;
  capabilities: JsonObject;
  tasks: boolean;
  arguments: unknown;
  signal: AbortSignal | undefined;
  notifyProgress: Call["notifyProgress"];
}): Call {
  const { principal, capabilities, tasks, signal, notifyProgress } = call;
  const args = isJsonObject(call.arguments) ? call.arguments : {};
  return { principal, tasks, arguments: args, askable: askableBy(capabilities), signal, notifyProgress };
}

/** A request's answers. What the SDK dropped for its shape is `null`: refused where it answers an open question. */
export function answersOf({ inputResponses, droppedInputResponseKeys = [] }: ServerContext["mcpReq"]): JsonObject {
  return { ...inputResponses, ...Object.fromEntries(droppedInputResponseKeys.map((key) => [key, null])) };
}

/** Reports progress under a request's token, each time further than before (MCP, "Progress"). */
export function progressNotifier(
  token: unknown,
  send: (params: JsonObject) => void,
): Call["notifyProgress"] {
  if (typeof token !== "string" && typeof token !== "number") return undefined;
  let last = Number.NEGATIVE_INFINITY;
  return (done, total, message) => {
    if (done <= last) return;
    last = done;
    send({
      progressToken: token,
      progress: done,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    });
  };
}

/** An error as the SDK sends it to a client, with our code, message and data. */
export function toSdkError({ code, message, data }: JsonRpcError): SdkProtocolError {
  return new SdkProtocolError(code, message, data);
}

/** The form of an elicitation, by the SDK's rules. Throws `TypeError` naming what a form cannot express. */
export function toRequestedSchema(message: string, schema: Schema): JsonObject {
  const { params } = inputRequired.elicit({ message, requestedSchema: schema as never });
  return (params as unknown as { requestedSchema: JsonObject }).requestedSchema;
}

/** The low-level server of either kind. */
export function lowLevel(server: McpServer | Server): Server {
  return "server" in server ? server.server : server;
}

/** How a server names itself, which the SDK keeps to itself; `undefined` should it ever hide it better. */
export function identityOf(server: McpServer | Server): object | undefined {
  const info: unknown = lowLevel(server)["_serverInfo"];
  return isJsonObject(info) ? info : undefined;
}

/**
 * Whether the SDK lets a call get as far as the tool's handler: there is such a tool, and its input fits. True where
 * that cannot be known, as for a low-level server. The SDK keeps its tools to itself, and checks again.
 */
export async function reachesHandler(server: McpServer | Server, name: string, args: unknown): Promise<boolean> {
  const tools: unknown = "server" in server ? server["_registeredTools"] : undefined;
  if (!isJsonObject(tools)) return true;
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (!isJsonObject(tool) || tool["enabled"] === false) return false;
  const schema = tool["inputSchema"] as Partial<Schema> | undefined;
  const checked = await schema?.["~standard"]?.validate(args ?? {});
  return checked?.issues === undefined || checked.issues.length === 0;
}

/** The `_meta` by which a server names itself in a result (MCP, "_meta"). */
export function serverInfoMeta(serverInfo: object | undefined): JsonObject {
  return serverInfo === undefined ? {} : { [SERVER_INFO_META_KEY]: serverInfo };
}

/** The principal a host sees in a request's authentication. */
export type PrincipalOf = (authInfo: AuthInfo | undefined) => string | undefined;
