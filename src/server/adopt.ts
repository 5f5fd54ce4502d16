import type {
  JSONRPCMessage,
  JSONRPCRequest,
  McpServer,
  MessageExtraInfo,
  RequestId,
  Server,
} from "@modelcontextprotocol/server";
import { isJSONRPCNotification, isJSONRPCRequest } from "@modelcontextprotocol/server";
import type { TaskContext } from "../run/context.ts";
import { RawResult } from "../run/outcome.ts";
import type { TaskPolicy } from "../run/policy.ts";
import type { Runner, Tool } from "../run/runner.ts";
import type { Clock } from "../task/clock.ts";
import { ProtocolError, tellError } from "../task/errors.ts";
import { createId } from "../task/ids.ts";
import type { InputRequest, JsonObject, JsonRpcError, ToolResult } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { toCreateTaskResult } from "../wire/2026-07-28.ts";
import type { PrincipalOf } from "./sdk.ts";
import {
  declaresTasks,
  envelopeCapabilities,
  identityOf,
  makeCall,
  progressNotifier,
  reachesHandler,
  serverInfoMeta,
} from "./sdk.ts";
import type { Deliver, Send, Tap } from "./tap.ts";
import { tap } from "./tap.ts";
import type { Unanswered } from "./unanswered.ts";

export interface AdoptOptions {
  readonly policies: ReadonlyMap<string, TaskPolicy>;
  readonly runner: Runner;
  readonly clock: Clock;
  readonly principalOf: PrincipalOf;
  /** Makes a run's context known by the id of the request that the SDK's handler sees. */
  readonly contexts: Map<RequestId, { task: TaskContext }>;
  readonly unanswered: Unanswered;
  readonly onError: (error: unknown, about: { tool: string }) => void;
}

type Exchanged = { result: JsonObject } | { error: JsonRpcError };

/**
 * Lets the tools of an SDK server become tasks. A call goes through the SDK as it always does; only its response is
 * held back, and when it takes too long a task goes out in its place, which ends as the response says.
 */
export function adoptServer(server: McpServer | Server, options: AdoptOptions): void {
  tap(server, (send) => new AdoptedConnection(server, send, options));
}

class AdoptedConnection implements Tap {
  readonly #server: McpServer | Server;
  readonly #send: Send;
  readonly #options: AdoptOptions;
  /** What waits for the SDK's response to a request that was made here. */
  readonly #exchanges = new Map<RequestId, (response: Exchanged) => void>();
  /** What the SDK's handler reports on the way, by the same id. */
  readonly #reports = new Map<RequestId, (message: JSONRPCMessage) => Promise<void>>();
  /** The calls that are not answered yet, by the client's id. */
  readonly #unanswered = new Map<RequestId, AbortController>();
  /** The calls that the SDK works on, tasks that wait between two rounds among them. */
  #driven = 0;
  #closeLater: (() => void) | undefined;

  constructor(server: McpServer | Server, send: Send, options: AdoptOptions) {
    this.#server = server;
    this.#send = send;
    this.#options = options;
  }

  onMessage = (message: JSONRPCMessage, extra: MessageExtraInfo | undefined, pass: Deliver): void => {
    if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
      const call = this.#unanswered.get(message.params?.["requestId"] as RequestId);
      if (call !== undefined) return call.abort();
    }
    if (isJSONRPCRequest(message) && message.method === "tools/call") {
      const name = message.params?.["name"];
      const policy = typeof name === "string" ? this.#options.policies.get(name) : undefined;
      const capabilities = envelopeCapabilities(message.params?._meta);
      if (policy !== undefined && capabilities !== undefined) {
        void this.#call({ name: name as string, policy, capabilities, message, extra, pass });
        return;
      }
    }
    pass(message, extra);
  };

  onSend: Send = async (message, options) => {
    if ("id" in message && message.id !== undefined && !("method" in message)) {
      const settle = this.#exchanges.get(message.id);
      if (settle === undefined) return this.#send(message, options);
      this.#exchanges.delete(message.id);
      return settle(message);
    }
    const report = options?.relatedRequestId === undefined ? undefined : this.#reports.get(options.relatedRequestId);
    return report === undefined ? this.#send(message, options) : report(message);
  };

  onClose = (pass: () => void): void => {
    for (const call of this.#unanswered.values()) call.abort();
    // The SDK aborts its handlers when it hears of the end: work that became a task goes on first.
    if (this.#driven === 0) pass();
    else this.#closeLater = pass;
  };

  async #call(about: {
    name: string;
    policy: TaskPolicy;
    capabilities: JsonObject;
    message: JSONRPCRequest;
    extra: MessageExtraInfo | undefined;
    pass: Deliver;
  }): Promise<void> {
    const { name, policy, capabilities, message, extra, pass } = about;
    const { runner, clock, principalOf, unanswered, onError } = this.#options;
    const { id } = message;
    const settled = unanswered.begin();
    const abort = new AbortController();
    this.#unanswered.set(id, abort);
    const tasks = declaresTasks(capabilities);
    const tool: Tool = {
      name,
      policy,
      outputSchema: undefined,
      handler: (_input, task) => this.#drive(message, extra, pass, task),
    };
    const meta = message.params?._meta;
    let response: { result: JsonObject } | { error: JsonRpcError };
    try {
      if (!(await reachesHandler(this.#server, name, message.params?.["arguments"]))) {
        // The SDK has its own answer to it, which no task may come before.
        if (!abort.signal.aborted) pass(message, extra);
        return settled();
      }
      const call = makeCall({
        principal: principalOf(extra?.authInfo),
        capabilities,
        tasks,
        arguments: message.params?.["arguments"],
        signal: abort.signal,
        notifyProgress: progressNotifier(meta?.["progressToken"], (params) => {
          const sent = this.#send({ jsonrpc: "2.0", method: "notifications/progress", params }, { relatedRequestId: id });
          void sent.catch(() => {});
        }),
      });
      const answered = await runner.call(tool, call.arguments, call);
      switch (answered.kind) {
        case "result":
          response = { result: answered.result };
          break;
        case "task":
          response = {
            result: {
              ...toCreateTaskResult(answered.record, clock.now()),
              _meta: serverInfoMeta(identityOf(this.#server)),
            },
          };
          break;
        case "error":
          response = { error: answered.error };
          break;
        case "input_required":
          // The SDK's handler asks by its result, which passes through; nothing here asks in its place.
          throw new Error("An adopted tool asked outside a task");
      }
    } catch (error) {
      if (abort.signal.aborted) return settled();
      response = { error: tellError(error, () => onError(error, { tool: name })) };
    } finally {
      this.#unanswered.delete(id);
    }
    await this.#send({ jsonrpc: "2.0", id, ...response }).catch(() => {});
    settled();
  }

  /** Has the SDK answer the call, and again with each round of answers that its handler asks for. */
  async #drive(
    message: JSONRPCRequest,
    extra: MessageExtraInfo | undefined,
    pass: Deliver,
    task: TaskContext,
  ): Promise<RawResult> {
    let params = message.params ?? {};
    this.#driven += 1;
    try {
      for (;;) {
        const response = await this.#exchange({ ...message, params }, extra, pass, task);
        if ("error" in response) {
          const { code, message: text, data } = response.error;
          throw new ProtocolError(code, text, data);
        }
        const { result } = response;
        // Before there is a task, the client goes through the round itself.
        if (result["resultType"] !== "input_required" || !task.isTask) return new RawResult(result as ToolResult);
        const questions = isJsonObject(result["inputRequests"]) ? result["inputRequests"] : {};
        const inputResponses = await task.ask(questions as Record<string, InputRequest>);
        const { requestState } = result;
        params = { ...message.params, inputResponses, ...(requestState !== undefined && { requestState }) };
      }
    } finally {
      this.#driven -= 1;
      if (this.#driven === 0) this.#closeLater?.();
    }
  }

  /** Sends one request to the SDK under an id of its own, and waits for the response or the task's end. */
  async #exchange(
    request: JSONRPCRequest,
    extra: MessageExtraInfo | undefined,
    pass: Deliver,
    task: TaskContext,
  ): Promise<Exchanged> {
    const id = createId();
    const given = request.params?._meta;
    const { signal } = task;
    const onAbort = () => {
      pass({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      this.#settle(id, { error: { code: -32603, message: "The task has ended" } });
    };
    try {
      return await new Promise<Exchanged>((resolve) => {
        this.#exchanges.set(id, resolve);
        this.#reports.set(id, async (message) => {
          if (!isJSONRPCNotification(message)) return;
          const { progress, total, message: text } = message.params ?? {};
          if (message.method === "notifications/progress" && typeof progress === "number") {
            task.progress(progress, total as number | undefined, text as string | undefined);
          } else if (!task.isTask) {
            await this.#send(message, { relatedRequestId: request.id });
          }
        });
        this.#options.contexts.set(id, { task });
        signal.addEventListener("abort", onAbort, { once: true });
        // A handler that reports progress only when asked to is always asked to: a task shows it.
        pass({ ...request, id, params: { ...request.params, _meta: { ...given, progressToken: id } } }, extra);
      });
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#reports.delete(id);
      this.#options.contexts.delete(id);
    }
  }

  #settle(id: RequestId, response: Exchanged): void {
    const settle = this.#exchanges.get(id);
    this.#exchanges.delete(id);
    settle?.(response);
  }
}
