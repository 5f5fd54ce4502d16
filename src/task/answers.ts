import { z } from "zod";
import { InvalidAnswerError } from "./errors.ts";
import { issuesText } from "./issues.ts";
import type { InputRequest, InputRequests, JsonObject } from "./task.ts";
import { isJsonObject } from "./task.ts";

const content = z.looseObject({ type: z.string() });

/** `CreateMessageResult`: what a client answers to `sampling/createMessage`. */
const samplingResult = z.looseObject({
  role: z.enum(["user", "assistant"]),
  content: z.union([content, z.array(content)]),
  model: z.string(),
  stopReason: z.string().optional(),
});

/** `ListRootsResult`: what a client answers to `roots/list`. */
const rootsResult = z.looseObject({
  roots: z.array(z.looseObject({ uri: z.url(), name: z.string().optional() })),
});

/** `ElicitResult` but for its content, which the question's own schema describes. */
const elicitResult = z.looseObject({ action: z.enum(["accept", "decline", "cancel"]) });

const contentSchemas = new WeakMap<JsonObject, z.ZodType>();

/**
 * The schema of an elicitation's content; extra fields are tolerated. A schema that has something strange in it says
 * nothing here: only its asker can tell what fits, and a question that no answer fits would stay open for ever.
 */
function contentSchema(requestedSchema: JsonObject): z.ZodType {
  let schema = contentSchemas.get(requestedSchema);
  if (schema === undefined) {
    try {
      schema = z.fromJSONSchema({ ...requestedSchema, additionalProperties: true });
    } catch {
      schema = z.looseObject({});
    }
    contentSchemas.set(requestedSchema, schema);
  }
  return schema;
}

function problem(schema: z.ZodType, value: unknown): string | undefined {
  const parsed = schema.safeParse(value);
  return parsed.success ? undefined : issuesText(parsed.error.issues, "; ");
}

/** What is wrong with an answer to a question, or `undefined` when it fits (MCP, "Multi Round-Trip Requests"). */
export function answerProblem(question: InputRequest, answer: unknown): string | undefined {
  if (!isJsonObject(answer)) return "it is not an object";
  switch (question.method) {
    case "sampling/createMessage":
      return problem(samplingResult, answer);
    case "roots/list":
      return problem(rootsResult, answer);
    case "elicitation/create": {
      const shape = problem(elicitResult, answer);
      if (shape !== undefined) return shape;
      if (answer["action"] !== "accept" || question.params?.["mode"] === "url") return undefined;
      if (!isJsonObject(answer["content"])) return "content: an accepted form needs an object";
      const requested = question.params?.["requestedSchema"];
      return isJsonObject(requested) ? problem(contentSchema(requested), answer["content"]) : undefined;
    }
  }
}

/** What is wrong with an answer beyond its shape, or `undefined`: what only the asker knows. */
export type Refine = (key: string, answer: JsonObject) => Promise<string | undefined>;

/** The answers to questions that are open, all of them checked; throws `InvalidAnswerError` at the first that is not. */
export async function checkedAnswers(
  open: InputRequests,
  responses: JsonObject,
  refine?: Refine,
): Promise<Record<string, JsonObject>> {
  const answers: Record<string, JsonObject> = {};
  for (const [key, question] of Object.entries(open)) {
    if (!Object.hasOwn(responses, key)) continue;
    const answer = responses[key];
    const reason = answerProblem(question, answer) ?? (await refine?.(key, answer as JsonObject));
    if (reason !== undefined) throw new InvalidAnswerError(key, reason);
    answers[key] = answer as JsonObject;
  }
  return answers;
}
