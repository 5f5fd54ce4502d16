// Fixtures of the `input-required-result-*` scenarios: tools and a prompt that ask before they answer, in rounds.

import { randomBytes } from "node:crypto";
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
} from "@modelcontextprotocol/server";
import type {
  CallToolResult,
  ClientCapabilities,
  InputRequest,
  McpServer,
  ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

/** What a `requestState` of these tools says: how far the rounds have come. */
interface RoundState {
  readonly round: number;
  readonly name?: string;
}

/** Signs and checks the `requestState` of these tools. The key lives as long as the process. */
export const roundState = createRequestStateCodec<RoundState>({ key: randomBytes(32) });

const text = (words: string): CallToolResult => ({ content: [{ type: "text", text: words }] });

const Name = z.object({ name: z.string() });
const Color = z.object({ color: z.string() });
const Confirmation = z.object({ ok: z.boolean() });
const Context = z.object({ context: z.string() });

const askName = (message: string) => inputRequired.elicit({ message, requestedSchema: Name });
const askConfirmation = () => inputRequired.elicit({ message: "Please confirm", requestedSchema: Confirmation });
const askModel = (question: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text: question } }], maxTokens });

/** Registers the tools and the prompt that take more than one round. */
export function registerRoundTools(server: McpServer): void {
  registerStatelessTools(server);
  registerStatefulTools(server);
  server.registerPrompt("test_input_required_result_prompt", { description: "Asks for its context" }, (ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "user_context", Context);
    if (answer === undefined) {
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({
            message: "What context should the prompt use?",
            requestedSchema: Context,
          }),
        },
      });
    }
    return { messages: [{ role: "user", content: { type: "text", text: `Use the context: ${answer.context}` } }] };
  });
}

function registerStatelessTools(server: McpServer): void {
  server.registerTool("test_input_required_result_elicitation", { description: "Asks for a name" }, (ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "user_name", Name);
    if (answer === undefined) return inputRequired({ inputRequests: { user_name: askName("What is your name?") } });
    return text(`Hello, ${answer.name}!`);
  });
  server.registerTool("test_input_required_result_sampling", { description: "Asks the client's model" }, (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.["capital_question"];
    if (answer === undefined) {
      return inputRequired({ inputRequests: { capital_question: askModel("What is the capital of France?", 100) } });
    }
    return text(`The model said: ${JSON.stringify(answer)}`);
  });
  server.registerTool("test_input_required_result_list_roots", { description: "Asks for the roots" }, (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.["client_roots"];
    if (answer === undefined) return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    return text(`The client named: ${JSON.stringify(answer)}`);
  });
  server.registerTool(
    "test_input_required_result_capabilities",
    { description: "Asks only what the client declared it can answer" },
    (ctx) => {
      if (ctx.mcpReq.inputResponses !== undefined) return text("capabilities-ok");
      const inputRequests = questionsFor(capabilitiesOf(ctx));
      return Object.keys(inputRequests).length === 0 ? text("nothing to ask") : inputRequired({ inputRequests });
    },
  );
}

function capabilitiesOf(ctx: ServerContext): ClientCapabilities {
  // The SDK types the envelope as `{}`, though it holds every reserved key that the request carried.
  const envelope: { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } = ctx.mcpReq.envelope ?? {};
  return envelope[CLIENT_CAPABILITIES_META_KEY] ?? {};
}

function questionsFor(capabilities: ClientCapabilities): Record<string, InputRequest> {
  return {
    ...(capabilities.elicitation && { elicit_input: askName("What is your name?") }),
    ...(capabilities.sampling && { sample_input: askModel("Say anything", 50) }),
  };
}

function registerStatefulTools(server: McpServer): void {
  server.registerTool(
    "test_input_required_result_request_state",
    { description: "Asks, and carries state over the round" },
    async (ctx) => {
      const state = ctx.mcpReq.requestState<RoundState>();
      const answer = acceptedContent(ctx.mcpReq.inputResponses, "confirm", Confirmation);
      if (state !== undefined && answer !== undefined) return text("state-ok: confirmed");
      return inputRequired({
        inputRequests: { confirm: askConfirmation() },
        requestState: await roundState.mint({ round: 1 }),
      });
    },
  );
  server.registerTool(
    "test_input_required_result_tampered_state",
    { description: "Refuses state that is not its own" },
    async (ctx) => {
      const state = ctx.mcpReq.requestState<RoundState>();
      const answer = acceptedContent(ctx.mcpReq.inputResponses, "confirm", Confirmation);
      if (state !== undefined && answer !== undefined) return text("integrity-ok: state verified");
      return inputRequired({
        inputRequests: { confirm: askConfirmation() },
        requestState: await roundState.mint({ round: 1 }),
      });
    },
  );
  server.registerTool(
    "test_input_required_result_multiple_inputs",
    { description: "Asks three things at once" },
    async (ctx) => {
      const answers = ctx.mcpReq.inputResponses ?? {};
      const questions = {
        user_name: askName("What is your name?"),
        greeting: askModel("Generate a greeting", 50),
        client_roots: inputRequired.listRoots(),
      };
      if (Object.keys(questions).every((key) => key in answers)) return text("All inputs received");
      return inputRequired({ inputRequests: questions, requestState: await roundState.mint({ round: 1 }) });
    },
  );
  server.registerTool("test_input_required_result_multi_round", { description: "Asks twice in turn" }, async (ctx) => {
    const state = ctx.mcpReq.requestState<RoundState>();
    const name = acceptedContent(ctx.mcpReq.inputResponses, "step1", Name)?.name;
    const color = acceptedContent(ctx.mcpReq.inputResponses, "step2", Color)?.color;
    if (state?.round === 2 && color !== undefined) return text(`${state.name} likes ${color}`);
    if (state?.round === 1 && name !== undefined) {
      const question = { message: "Step 2: What is your favorite color?", requestedSchema: Color };
      return inputRequired({
        inputRequests: { step2: inputRequired.elicit(question) },
        requestState: await roundState.mint({ round: 2, name }),
      });
    }
    return inputRequired({
      inputRequests: { step1: askName("Step 1: What is your name?") },
      requestState: await roundState.mint({ round: 1 }),
    });
  });
}
