import type {
  ApplicationInputRequest,
  RawClientDispatch,
  TaskEnabledSession,
  ToolExecution,
  WithTasksOptions,
} from "@modelcontextprotocol/ext-tasks/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import assert from "node:assert/strict";
import type { JsonObject } from "../../src/mod.ts";
import type { Peer } from "./peers.ts";
import { CLIENT_CAPABILITIES, CLIENT_INFO } from "./peers.ts";
import { REVISION } from "./rpc.ts";

/** A session of the official ext-tasks package, and what it did. */
export interface Session extends Pick<
  TaskEnabledSession,
  "capabilities" | "callTool" | "resumeTask" | "task" | "close"
> {
  /** The methods that it sent. */
  readonly sent: string[];
  /** What it asked its application: by which delivery, and in which words or kind. */
  readonly asked: { delivery: string; what: string }[];
}

/** What the application answers, by what it is asked: the words of an elicitation, or the kind of another question. */
export type Answers = Readonly<Record<string, JsonObject>>;

export const ANSWERS: Answers = {
  "Name?": { action: "accept", content: { name: "Ann" } },
  "City?": { action: "accept", content: { city: "Oslo" } },
  "Where do you live, Ann?": { action: "accept", content: { city: "Oslo" } },
  sampling: { role: "assistant", model: "a-model", content: { type: "text", text: "Onwards" } },
  roots: { roots: [{ uri: "file:///home/ann" }] },
};

/** Opens a session on a client. It may have no error of its own at its end. */
export function openSession({ client, raw }: Peer, answers: Answers = ANSWERS): Session {
  const sent: string[] = [];
  const asked: Session["asked"] = [];
  const errors: Error[] = [];
  const rawDispatch: RawClientDispatch = async (request, { signal, context } = {}) => {
    const { method, params } = request as unknown as { method: string; params: JsonObject };
    sent.push(method);
    const response = await raw.dispatch(method, params, {
      ...(signal !== undefined && { requestSignal: signal }),
      ...(context?.headers !== undefined && { headers: context.headers }),
    });
    return "error" in response
      ? { kind: "error", error: response.error as never }
      : { kind: "result", result: response.result as never };
  };
  const onInputRequest: WithTasksOptions["onInputRequest"] = async (request, { delivery }) => {
    const what = wordsOf(request);
    asked.push({ delivery, what });
    return (answers[what] ?? { action: "decline" }) as never;
  };
  const session = createTaskSessionFromClient(client, {
    endpointId: "peer-host",
    v2RequestFraming: { protocolVersion: REVISION, clientInfo: CLIENT_INFO, clientCapabilities: CLIENT_CAPABILITIES },
    rawDispatch,
    onInputRequest,
    onError: (error) => errors.push(error),
  });
  return {
    sent,
    asked,
    capabilities: session.capabilities,
    callTool: (...args) => session.callTool(...args),
    resumeTask: (...args) => session.resumeTask(...args),
    task: (...args) => session.task(...args),
    close: async () => {
      await session.close();
      assert.deepEqual(errors, [], "the session had nothing to report");
    },
  };
}

/** Calls a tool that becomes a task. */
export async function beginIn(
  session: Session,
  name: string,
): Promise<Extract<ToolExecution<unknown>, { kind: "task" }>> {
  const execution = await session.callTool(name);
  assert.ok(execution.kind === "task", `${name} was answered inline`);
  return execution;
}

function wordsOf({ kind, params }: ApplicationInputRequest): string {
  return kind === "elicitation" && typeof params["message"] === "string" ? params["message"] : kind;
}
