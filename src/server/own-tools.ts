import type {
  CallToolResult,
  InputRequiredResult,
  JSONRPCRequest,
  McpServer,
  RequestId,
  ServerContext,
  StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { isJSONRPCErrorResponse, isJSONRPCRequest, isJSONRPCResultResponse } from "@modelcontextprotocol/server";
import type { Answer, Runner } from "../run/runner.ts";
import type { Clock } from "../task/clock.ts";
import { tellError } from "../task/errors.ts";
import type { JsonObject, JsonRpcError } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { toCreateTaskResult } from "../wire/2026-07-28.ts";
import type { HostTool } from "./host-tool.ts";
import type { PrincipalOf } from "./sdk.ts";
import { answersOf, capabilitiesOf, makeCall, progressNotifier, serverInfoMeta } from "./sdk.ts";
import { tap } from "./tap.ts";
import type { Unanswered } from "./unanswered.ts";

export interface OwnToolsOptions {
  readonly tools: readonly HostTool[];
  readonly runner: Runner;
  readonly clock: Clock;
  readonly principalOf: PrincipalOf;
  readonly serverInfo: object;
  readonly unanswered: Unanswered;
  readonly onError: (error: unknown, about: { tool: string }) => void;
}

/** A call as it came, before the SDK read it. */
interface RawCall {
  readonly arguments: unknown;
  readonly requestState: unknown;
}

/** What the SDK is given where another response goes out in its place. It never reaches the wire. */
const PLACEHOLDER: CallToolResult = { content: [], isError: true };

/**
 * Registers a host's tools with an SDK server. The SDK lists them and checks their input; the call itself is the
 * runner's, and where the answer is not the tool's result, it goes out in the place of the SDK's response.
 */
export function registerOwnTools(server: McpServer, options: OwnToolsOptions): void {
  const { tools, runner, clock, principalOf, serverInfo, unanswered, onError } = options;
  const replacements = new Map<RequestId, { result: JsonObject } | { error: JsonRpcError }>();
  const calls = new Map<RequestId, RawCall>();
  const names = new Set(tools.map(({ name }) => name));
  /** What to do once a call is answered, or will never be. */
  const answered = new Map<RequestId, () => void>();
  const settle = (id: RequestId) => {
    answered.get(id)?.();
    answered.delete(id);
  };

  tap(server, (send) => ({
    onMessage(message, extra, pass) {
      const { params } = isJSONRPCRequest(message) && message.method === "tools/call" ? message : {};
      if (params === undefined || !names.has(params["name"] as string)) return pass(message, extra);
      const { requestState, ...rest } = params;
      const { id } = message as JSONRPCRequest;
      answered.set(id, unanswered.begin());
      calls.set(id, { arguments: params["arguments"], requestState });
      // A host's own key to its rounds is none of the verifier's that the author's other tools may have.
      pass(typeof requestState === "string" ? { ...(message as JSONRPCRequest), params: rest } : message, extra);
    },
    async onSend(message, sendOptions) {
      if ((isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) && message.id !== undefined) {
        const { id } = message;
        const replacement = replacements.get(id);
        calls.delete(id);
        replacements.delete(id);
        try {
          return await send(replacement === undefined ? message : { jsonrpc: "2.0", id, ...replacement }, sendOptions);
        } finally {
          settle(id);
        }
      }
      return send(message, sendOptions);
    },
    onClose(pass) {
      for (const id of answered.keys()) settle(id);
      pass();
    },
  }));

  const answer = async (tool: HostTool, input: unknown, ctx: ServerContext): Promise<Answer> => {
    const { mcpReq, http } = ctx;
    const { capabilities, tasks } = capabilitiesOf(ctx, server.server);
    const raw = calls.get(mcpReq.id);
    const call = makeCall({
      principal: principalOf(http?.authInfo),
      capabilities,
      tasks,
      arguments: raw?.arguments,
      signal: mcpReq.signal,
      notifyProgress: progressNotifier(mcpReq._meta?.progressToken, (params) => {
        // A client that has gone needs no progress.
        void mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
      }),
    });
    // In the old era the SDK asks in our place, and comes back with the key itself.
    const requestState = raw?.requestState ?? mcpReq.requestState();
    if (requestState === undefined) return runner.call(tool, input, call);
    return runner.resume(tool, requestState, answersOf(mcpReq), call);
  };

  const handle = async (
    tool: HostTool,
    input: unknown,
    ctx: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult> => {
    const { id } = ctx.mcpReq;
    try {
      const answered = await answer(tool, input, ctx);
      switch (answered.kind) {
        case "result":
          return answered.result as CallToolResult;
        case "input_required":
          return {
            resultType: "input_required",
            inputRequests: answered.inputRequests,
            requestState: answered.requestState,
          } as InputRequiredResult;
        case "task":
          replacements.set(id, {
            result: {
              ...toCreateTaskResult(answered.record, clock.now()),
              _meta: serverInfoMeta(serverInfo),
            },
          });
          return PLACEHOLDER;
        case "error":
          replacements.set(id, { error: answered.error });
          return PLACEHOLDER;
      }
    } catch (error) {
      replacements.set(id, { error: tellError(error, () => onError(error, { tool: tool.name })) });
      return PLACEHOLDER;
    } finally {
      calls.delete(id);
      // A request that was cancelled is never answered.
      if (ctx.mcpReq.signal.aborted) {
        replacements.delete(id);
        settle(id);
      }
    }
  };

  for (const tool of tools) {
    const { inputSchema, outputSchema, ...config } = tool.config;
    const listed = {
      ...config,
      ...(outputSchema !== undefined && { outputSchema: outputSchema as StandardSchemaWithJSON }),
    };
    if (inputSchema === undefined) {
      server.registerTool(tool.name, listed, (ctx: ServerContext) => handle(tool, {}, ctx));
    } else {
      server.registerTool(
        tool.name,
        { ...listed, inputSchema: inputSchema as StandardSchemaWithJSON },
        (input: unknown, ctx: ServerContext) => handle(tool, isJsonObject(input) ? input : {}, ctx),
      );
    }
  }
}
