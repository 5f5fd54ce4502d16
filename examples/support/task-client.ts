// The official client, made to follow tasks: by itself it refuses a task where it expects a result.

import type {
  CallToolRequest,
  CallToolResult,
  ElicitRequest,
  ElicitResult,
  SubscriptionFilter,
  Transport,
} from "@modelcontextprotocol/client";
import { Client, ProtocolError } from "@modelcontextprotocol/client";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { DetailedTask } from "../../src/mod.ts";
import { TASKS_EXTENSION } from "../../src/mod.ts";

/** Answers a question. The signal fires when the task goes on without an answer. */
export type Answer = (question: ElicitRequest["params"], signal: AbortSignal) => Promise<ElicitResult>;

/** Hears of every state of a task. */
export type OnTask = (task: DetailedTask) => void;

const taskSchema = z.looseObject({ taskId: z.string(), status: z.string() }) as unknown as z.ZodType<DetailedTask>;

/** A client that calls tools and gives their results, however long it takes. */
export class TaskClient {
  readonly sdk: Client;
  readonly #answer: Answer;
  readonly #followed = new Map<string, OnTask>();

  private constructor(answer: Answer) {
    this.#answer = answer;
    this.sdk = new Client(
      { name: "errand-examples", version: "1.0.0" },
      {
        versionNegotiation: { mode: "auto" },
        capabilities: { elicitation: { form: {} }, extensions: { [TASKS_EXTENSION]: {} } },
      },
    );
    // Questions asked before there is a task come here; those of a task are in its state.
    this.sdk.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) => answer(params, mcpReq.signal));
    this.sdk.setNotificationHandler("notifications/tasks", { params: taskSchema }, (task) =>
      this.#followed.get(task.taskId)?.(task),
    );
  }

  static async connect(transport: Transport, answer: Answer): Promise<TaskClient> {
    const client = new TaskClient(answer);
    // Sees every message before the SDK does, and lets a task pass as a result that carries the task's fields.
    transport.onmessage = (message) => {
      if ("result" in message && message.result["resultType"] === "task") {
        Object.assign(message.result, { resultType: "complete", content: [], isError: true });
      }
    };
    await client.sdk.connect(transport);
    return client;
  }

  /** Calls a tool. `onTask` hears of every state of the task that the call may become. */
  async call(params: CallToolRequest["params"], onTask: OnTask = () => {}): Promise<CallToolResult> {
    const result = await this.sdk.callTool(params);
    return typeof result["taskId"] === "string" ? this.follow(result["taskId"], onTask) : result;
  }

  /** Follows a task by its id, answers what it asks, and gives its result. Rejects when it failed or was cancelled. */
  async follow(taskId: string, onTask: OnTask = () => {}): Promise<CallToolResult> {
    const over = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<CallToolResult>();
    const asked = new Set<string>();
    const onState = (task: DetailedTask) => {
      if (over.signal.aborted) return;
      onTask(task);
      if (task.status === "input_required") {
        for (const [key, { params }] of Object.entries(task.inputRequests)) {
          if (asked.has(key)) continue;
          asked.add(key);
          this.#reply(taskId, key, params as ElicitRequest["params"], over.signal).catch(reject);
        }
      } else if (task.status === "completed") {
        resolve(task.result as CallToolResult);
      } else if (task.status === "failed") {
        reject(ProtocolError.fromError(task.error.code, task.error.message, task.error.data));
      } else if (task.status === "cancelled") {
        reject(new Error(task.statusMessage ?? "The task was cancelled"));
      }
    };
    this.#watch(taskId, onState, over.signal).catch(reject);
    try {
      return await promise;
    } finally {
      over.abort();
    }
  }

  /** The task as it is now. */
  async get(taskId: string): Promise<DetailedTask> {
    return this.sdk.request({ method: "tasks/get", params: { taskId } }, taskSchema);
  }

  /** Cancels a task. */
  async cancel(taskId: string): Promise<void> {
    await this.sdk.request({ method: "tasks/cancel", params: { taskId } }, z.looseObject({}));
  }

  async close(): Promise<void> {
    await this.sdk.close();
  }

  /** Listens to a task until it has ended; where listening breaks off, looks at it as often as it says. */
  async #watch(taskId: string, onState: OnTask, signal: AbortSignal): Promise<void> {
    this.#followed.set(taskId, onState);
    try {
      // `taskIds` is the extension's part of the filter, which the SDK's types do not know.
      const subscription = await this.sdk.listen({ taskIds: [taskId] } as SubscriptionFilter, { signal });
      await subscription.closed;
    } finally {
      this.#followed.delete(taskId);
    }
    while (!signal.aborted) {
      const task = await this.get(taskId);
      onState(task);
      await delay(task.pollIntervalMs ?? 1000, undefined, { signal }).catch(() => {});
    }
  }

  async #reply(taskId: string, key: string, question: ElicitRequest["params"], signal: AbortSignal): Promise<void> {
    const answer = await this.#answer(question, signal);
    if (signal.aborted) return;
    const params = { taskId, inputResponses: { [key]: answer } };
    await this.sdk.request({ method: "tasks/update", params }, z.looseObject({}));
  }
}
