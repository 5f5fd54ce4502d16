import { DeclinedError, InvalidAnswerError, MissingCapabilityError } from "../task/errors.ts";
import type { Askable, InputRequest, JsonObject } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import type { Root, SamplingResult, Schema } from "./context.ts";
import { schemaProblem } from "./outcome.ts";

/** A question, with what its answer must be beyond its shape, and what the asker makes of it. */
export interface Question<Output> {
  readonly request: InputRequest;
  readonly refine?: (answer: JsonObject) => Promise<string | undefined>;
  readonly read: (answer: JsonObject) => Output | Promise<Output>;
}

/** Turns a schema into the flat JSON Schema that a form may have, or throws saying what it cannot express. */
export type ToRequestedSchema = (message: string, schema: Schema) => JsonObject;

/** A form: `elicitation/create` in the mode `form`. */
export function form<Output>(
  message: string,
  schema: Schema<Output>,
  toRequestedSchema: ToRequestedSchema,
): Question<Output> {
  return {
    request: {
      method: "elicitation/create",
      params: { mode: "form", message, requestedSchema: toRequestedSchema(message, schema) },
    },
    refine: async (answer) =>
      answer["action"] === "accept" ? schemaProblem(schema, answer["content"]) : undefined,
    read: async (answer) => {
      throwIfDeclined(answer, message);
      const parsed = await schema["~standard"].validate(answer["content"]);
      if (parsed.issues !== undefined) throw new InvalidAnswerError(message, "it no longer fits its schema");
      return parsed.value;
    },
  };
}

/** A page to open: `elicitation/create` in the mode `url`. */
export function page(message: string, url: string | URL): Question<void> {
  return {
    request: { method: "elicitation/create", params: { mode: "url", message, url: String(url) } },
    read: (answer) => throwIfDeclined(answer, message),
  };
}

/** A question to the client's model. */
export function sampling(params: JsonObject): Question<SamplingResult> {
  return { request: { method: "sampling/createMessage", params }, read: (answer) => answer as unknown as SamplingResult };
}

/** A question for the client's roots. */
export function rootsList(): Question<Root[]> {
  return { request: { method: "roots/list" }, read: (answer) => answer["roots"] as Root[] };
}

/** A question of the asker's own making, answered as it comes. */
export function raw(request: InputRequest): Question<JsonObject> {
  return { request, read: (answer) => answer };
}

/** Throws `MissingCapabilityError` when the client did not declare that it can answer such a question. */
export function checkAskable({ method, params }: InputRequest, askable: Askable): void {
  switch (method) {
    case "elicitation/create":
      if (params?.["mode"] === "url") {
        if (!askable.url) throw new MissingCapabilityError({ elicitation: { url: {} } }, "elicitation by URL");
      } else if (!askable.form) {
        throw new MissingCapabilityError({ elicitation: { form: {} } }, "elicitation by form");
      }
      return;
    case "sampling/createMessage":
      if (!askable.sampling) throw new MissingCapabilityError({ sampling: {} }, "sampling");
      if (params?.["tools"] !== undefined && !askable.samplingTools) {
        throw new MissingCapabilityError({ sampling: { tools: {} } }, "sampling with tools");
      }
      return;
    case "roots/list":
      if (!askable.roots) throw new MissingCapabilityError({ roots: {} }, "roots");
      return;
    default:
      throw new TypeError(
        `A question's method is "elicitation/create", "sampling/createMessage" or "roots/list", not "${String(method)}".`,
      );
  }
}

/** The few combinations there are: their objects serve every task. */
const kinds = new Map<string, Askable>();

/** What a request's client capabilities let one ask. */
export function askableBy(capabilities: JsonObject): Askable {
  const { elicitation, sampling } = capabilities;
  const url = isJsonObject(elicitation) && elicitation["url"] !== undefined;
  // A client that names no mode means forms.
  const form = isJsonObject(elicitation) && (elicitation["form"] !== undefined || !url);
  const askable = {
    form,
    url,
    sampling: sampling !== undefined,
    samplingTools: isJsonObject(sampling) && sampling["tools"] !== undefined,
    roots: capabilities["roots"] !== undefined,
  };
  const key = JSON.stringify(askable);
  const known = kinds.get(key);
  if (known !== undefined) return known;
  kinds.set(key, Object.freeze(askable));
  return askable;
}

function throwIfDeclined(answer: JsonObject, message: string): void {
  const { action } = answer;
  if (action === "decline" || action === "cancel") throw new DeclinedError(action, message);
}
