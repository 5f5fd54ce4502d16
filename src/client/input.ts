import { z } from "zod";
import type { Root, SamplingResult } from "../run/context.ts";
import { answerProblem } from "../task/answers.ts";
import { issuesText } from "../task/issues.ts";
import type { DetailedTask, InputRequest, InputRequests, JsonObject, Task } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import type { Connection } from "./connection.ts";

/**
 * What a person, or whoever is asked in their place, makes of an elicitation (MCP, "Elicitation"): `content` has the
 * fields of the form; for a page there is none. `decline` says no, `cancel` that they did not say.
 */
export type ElicitAnswer =
  | { action: "accept"; content?: JsonObject }
  | { action: "decline" }
  | { action: "cancel" };

/** What an input handler knows beside the question. */
export interface InputContext {
  /** The question's key; each is asked once in a task's life. */
  readonly key: string;
  /** Fires when the answer is of no use any more: the task ended, expired or was cancelled, or the wait is over. */
  readonly signal: AbortSignal;
  /** The task that asks; `undefined` when the call asks before it is a task. */
  readonly task: DetailedTask | undefined;
}

/** A form to fill in: the params of an elicitation (MCP, "Form Mode Elicitation Requests"). */
export interface FormParams extends JsonObject {
  message: string;
  /** A JSON Schema of an object, whose properties are the fields. */
  requestedSchema: { properties: { [name: string]: JsonObject }; required?: string[]; [key: string]: unknown };
}

/** A page to open: the params of an elicitation (MCP, "URL Mode Elicitation Requests"). */
export interface UrlParams extends JsonObject {
  message: string;
  url: string;
}

/** Answers a question of a kind; `params` are the request's. */
export type InputHandler<Answer, Params = JsonObject> = (params: Params, context: InputContext) => Answer | Promise<Answer>;

/**
 * Who answers what is asked. A handler that throws, and an answer that does not fit its question, end the wait with
 * `InputHandlerError`. A question of a kind without a handler ends it with the outcome `input_required`, and then no
 * handler is called.
 */
export interface InputHandlers {
  /** `elicitation/create` with a form. */
  form?: InputHandler<ElicitAnswer, FormParams>;
  /** `elicitation/create` with a page to open. */
  url?: InputHandler<ElicitAnswer, UrlParams>;
  /** `sampling/createMessage`. */
  sampling?: InputHandler<SamplingResult>;
  /** `roots/list`. */
  roots?: InputHandler<{ roots: Root[] }>;
}

/** A task that asks; a call that asks before it is a task has its questions alone. */
export type Questioner = Partial<Task> & { status: "input_required"; inputRequests: InputRequests };

/**
 * Answers the questions of a task by a function of its state, whose `inputRequests` are those that have no answer yet,
 * which gives answers by their keys. What it leaves out it is asked again as soon as its other answers are there, or with
 * the task's next state. The signal fires when the wait is over.
 */
export type AnswerInput = (task: Questioner, signal: AbortSignal) => Responses | Promise<Responses>;
type Responses = { readonly [key: string]: object };

/** How questions are answered: by handlers, by a function, or not at all, so that they end the wait. */
export type Input = InputHandlers | AnswerInput | "return";

const KINDS = ["form", "url", "sampling", "roots"] as const satisfies readonly (keyof InputHandlers)[];
type Kind = (typeof KINDS)[number];

function kindOf({ method, params }: InputRequest): Kind | undefined {
  switch (method as string) {
    case "elicitation/create":
      return params?.["mode"] === "url" ? "url" : "form";
    case "sampling/createMessage":
      return "sampling";
    case "roots/list":
      return "roots";
    default:
      return undefined;
  }
}

/** Throws `TypeError` unless a value says how questions are answered. */
export function checkInput(input: unknown): void {
  if (input === undefined || input === "return" || typeof input === "function") return;
  if (!isJsonObject(input)) throw new TypeError('input takes handlers, a function, or "return".');
  for (const [kind, handler] of Object.entries(input)) {
    if (!(KINDS as readonly string[]).includes(kind)) {
      throw new TypeError(`input.${kind} is unknown. The handlers are ${KINDS.join(", ")}.`);
    }
    if (handler !== undefined && typeof handler !== "function") throw new TypeError(`input.${kind} takes a function.`);
  }
}

/** Who answers the questions of a wait. */
export interface Answerer {
  /** Whether such a question is answered. */
  answers(question: InputRequest): boolean;
  /** The capabilities that say so. */
  readonly capabilities: JsonObject;
  /**
   * Answers questions that were not asked before: each by itself as soon as it is there, or all of them together.
   * Rejections name the key, where it is one's.
   */
  ask(inputRequests: InputRequests, context: Asking): Map<string | undefined, Promise<Responses>>;
}

export interface Asking {
  readonly task: DetailedTask | undefined;
  readonly signalOf: (key: string | undefined) => AbortSignal;
}

/** Who answers, by what the caller said; an SDK client that was given answers by its own handlers. */
export async function answererOf(input: Input | undefined, connection: Connection, signal: AbortSignal): Promise<Answerer> {
  if (input === "return") return { ...byHandlers({}), capabilities: ALL };
  if (typeof input === "function") return byFunction(input);
  if (input === undefined && connection.isGiven) return byClient(connection, await connection.ownCapabilities(signal));
  return byHandlers(input ?? {});
}

/** The capabilities of one who may answer anything. */
const ALL: JsonObject = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

function byHandlers(handlers: InputHandlers): Answerer {
  const has = (kind: Kind | undefined) => kind !== undefined && handlers[kind] !== undefined;
  return {
    answers: (question) => has(kindOf(question)),
    capabilities: {
      ...((has("form") || has("url")) && {
        elicitation: { ...(has("form") && { form: {} }), ...(has("url") && { url: {} }) },
      }),
      ...(has("sampling") && { sampling: {} }),
      ...(has("roots") && { roots: {} }),
    },
    ask: eachBy(async (key, question, { task, signalOf }) => {
      const kind = kindOf(question);
      if (kind === undefined) return undefined;
      const handler = handlers[kind] as InputHandler<object> | undefined;
      return handler?.(checkedParams(kind, question.params), { key, task, signal: signalOf(key) });
    }),
  };
}

/** The handlers that an SDK client was given for the requests of its server. */
function byClient(connection: Connection, capabilities: JsonObject): Answerer {
  const { elicitation } = capabilities;
  const modes = isJsonObject(elicitation) ? elicitation : {};
  const can: Record<Kind, boolean> = {
    // A client that names no mode means forms.
    form: elicitation !== undefined && (modes["form"] !== undefined || modes["url"] === undefined),
    url: modes["url"] !== undefined,
    sampling: capabilities["sampling"] !== undefined,
    roots: capabilities["roots"] !== undefined,
  };
  return {
    answers: (question) => {
      const kind = kindOf(question);
      return kind !== undefined && can[kind];
    },
    capabilities: {},
    ask: eachBy((key, question, { signalOf }) => connection.askClient(key, question, signalOf(key))),
  };
}

/** Asks each question by itself. */
function eachBy(answer: (key: string, question: InputRequest, asking: Asking) => Promise<unknown>): Answerer["ask"] {
  return (inputRequests, asking) => {
    const one = async (key: string, question: InputRequest) => ({
      [key]: checked(question, await answer(key, question, asking)),
    });
    return new Map(Object.entries(inputRequests).map(([key, question]) => [key, one(key, question)]));
  };
}

function byFunction(answer: AnswerInput): Answerer {
  return {
    answers: () => true,
    capabilities: ALL,
    ask: (inputRequests, { task, signalOf }) => {
      const all = async () => {
        const asked: Questioner = { ...task, status: "input_required", inputRequests };
        const responses: unknown = await answer(asked, signalOf(undefined));
        if (!isJsonObject(responses)) throw new TypeError("it gave no map from key to answer");
        const keys = Object.keys(inputRequests).filter((key) => Object.hasOwn(responses, key));
        return Object.fromEntries(keys.map((key) => [key, checked(inputRequests[key], responses[key], key)]));
      };
      return new Map([[undefined, all()]]);
    },
  };
}

const paramShapes = {
  form: z.looseObject({
    message: z.string(),
    requestedSchema: z.looseObject({
      properties: z.record(z.string(), z.looseObject({})),
      required: z.array(z.string()).optional(),
    }),
  }),
  url: z.looseObject({ message: z.string(), url: z.string() }),
  sampling: z.looseObject({}),
  roots: z.looseObject({}),
} as const satisfies { [kind in Kind]: z.ZodType<JsonObject> };

/** The params of a question, as handlers rely on them. */
function checkedParams(kind: Kind, params: JsonObject = {}): JsonObject {
  const { error } = paramShapes[kind].safeParse(params);
  if (error === undefined) return params;
  throw new TypeError(`the server's question is malformed: ${issuesText(error.issues, "; ")}`);
}

/** A question without regular expressions, which forms do not have: a server's could take for ever. */
function withoutPatterns(question: InputRequest): InputRequest {
  const isPattern = (key: string, value: unknown) =>
    (key === "pattern" && typeof value === "string") || key === "patternProperties";
  return JSON.parse(JSON.stringify(question, (key, value: unknown) => (isPattern(key, value) ? undefined : value))) as InputRequest;
}

/** The answer, if it is one to the question. */
function checked(question: InputRequest | undefined, answer: unknown, key?: string): JsonObject {
  const problem = question === undefined ? "there is no such question" : answerProblem(withoutPatterns(question), answer);
  if (problem === undefined) return answer as JsonObject;
  throw new TypeError(`${key === undefined ? "its answer" : `the answer to "${key}"`} does not fit: ${problem}`);
}
