import type { McpServer, Server, ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import { ProtocolError, RpcCode, TASKS_EXTENSION, missingTasksExtension, tellError } from "../task/errors.ts";
import type { JsonObject } from "../task/task.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { PrincipalOf } from "./sdk.ts";
import { answersOf, capabilitiesOf, lowLevel, toSdkError } from "./sdk.ts";

/** Made once: a server is made for every request, and a schema takes longer than the rest of it. */
const anyParams = z.looseObject({});

/**
 * Gives an SDK server the methods of the Tasks extension, and says so in its capabilities. `onError` hears of what no
 * client was told.
 */
export function registerTaskMethods(
  server: McpServer | Server,
  dispatcher: Dispatcher,
  principalOf: PrincipalOf,
  onError: (error: unknown) => void,
): void {
  const low = lowLevel(server);
  low.registerCapabilities({ extensions: { [TASKS_EXTENSION]: {} } });

  const method = (
    name: "tasks/get" | "tasks/update" | "tasks/cancel",
    answer: (taskId: string, principal: string | undefined, ctx: ServerContext) => Promise<JsonObject>,
  ) => {
    // The capability comes before the parameters, and so does the SDK's own schema check after it.
    low.setRequestHandler(name, { params: anyParams }, async (params, ctx) => {
      try {
        if (!capabilitiesOf(ctx, low).tasks) throw missingTasksExtension();
        const { taskId } = params;
        if (typeof taskId !== "string") {
          throw new ProtocolError(RpcCode.invalidParams, "Invalid params: taskId must be a string");
        }
        return await answer(taskId, principalOf(ctx.http?.authInfo), ctx);
      } catch (error) {
        throw toSdkError(tellError(error, onError));
      }
    });
  };

  method("tasks/get", async (taskId, principal) => ({ ...(await dispatcher.get(taskId, principal)) }));
  method("tasks/update", async (taskId, principal, { mcpReq }) => {
    if (mcpReq.inputResponses === undefined) {
      throw new ProtocolError(RpcCode.invalidParams, "Invalid params: inputResponses must be an object");
    }
    await dispatcher.update(taskId, principal, answersOf(mcpReq));
    return {};
  });
  method("tasks/cancel", async (taskId, principal) => {
    await dispatcher.cancel(taskId, principal);
    return {};
  });
}
