import type { Schema } from "../run/context.ts";
import type { JsonObject } from "../task/task.ts";

type Converter = (options: { target: string }) => JsonObject;

interface WithJsonSchema {
  readonly jsonSchema?: { readonly input: Converter; readonly output: Converter };
}

/**
 * The same schema with its JSON Schema converted once: the SDK asks for it on every request. Throws `TypeError` for
 * what is no Standard Schema.
 */
export function memoized<Output>(schema: Schema<Output>, where: string): Schema<Output> {
  const standard = (schema as Partial<Schema<Output>> | undefined)?.["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new TypeError(`${where} takes a Standard Schema, for example z.object({ id: z.number() }).`);
  }
  const { jsonSchema } = standard as WithJsonSchema;
  if (jsonSchema === undefined) return schema;
  return {
    "~standard": Object.assign(Object.create(standard), {
      validate: standard.validate,
      version: standard.version,
      vendor: standard.vendor,
      jsonSchema: { input: once(jsonSchema.input), output: once(jsonSchema.output) },
    }),
  };
}

function once(convert: Converter): Converter {
  const converted = new Map<string, JsonObject>();
  return (options) => {
    let schema = converted.get(options.target);
    if (schema === undefined) converted.set(options.target, (schema = convert(options)));
    return schema;
  };
}
