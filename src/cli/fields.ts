// The fields of a form as their JSON schema describes them (MCP, "Elicitation"): what may be typed, and what it means.

import { z } from "zod";
import { answerProblem } from "../task/answers.ts";
import { isJsonObject } from "../task/task.ts";
import { cleanLine } from "./text.ts";

// What is none of these is as if it were not there: the schema comes from a server.
const text = z.string().optional().catch(undefined);
const number = z.number().optional().catch(undefined);
const values = z.array(z.unknown()).optional().catch(undefined);
const titledValues = z.array(z.object({ const: z.unknown().optional(), title: text })).optional().catch(undefined);
const choosable = z.object({ enum: values, enumNames: z.array(z.string()).optional().catch(undefined) });
const shape = choosable.extend({
  type: text,
  title: text,
  description: text,
  format: text,
  default: z.unknown().optional(),
  oneOf: titledValues,
  items: choosable.extend({ anyOf: titledValues }).optional().catch(undefined),
  minimum: number,
  maximum: number,
  minLength: number,
  maxLength: number,
  minItems: number,
  maxItems: number,
});

/** One of the values a field may have. */
interface Choice {
  readonly value: unknown;
  readonly title: string;
}

/** One field of a form. */
export class Field {
  readonly name: string;
  /** What people call it. */
  readonly title: string;
  readonly description: string | undefined;
  /** The titles of the values it may have; none where it is open. */
  readonly choices: readonly Choice[];
  readonly #schema: unknown;
  readonly #is: z.infer<typeof shape>;
  readonly #isRequired: boolean;

  constructor(name: string, schema: unknown, isRequired: boolean) {
    this.name = name;
    this.#schema = isJsonObject(schema) ? schema : {};
    this.#is = shape.parse(this.#schema);
    this.#isRequired = isRequired;
    this.title = cleanLine(this.#is.title ?? name);
    this.description = this.#is.description;
    const { oneOf, items } = this.#is;
    const { enum: plain = [], enumNames = [] } = items ?? this.#is;
    const titled = items?.anyOf ?? oneOf ?? plain.map((value, at) => ({ const: value, title: enumNames[at] }));
    this.choices = titled.map(({ const: value, title }) => ({ value, title: title ?? written(value) }));
  }

  /** What may be typed, in a few words. */
  get hint(): string {
    const { minimum, maximum, minLength, maxLength, minItems, maxItems, default: fallback } = this.#is;
    const words = [
      this.#kind,
      between(minimum, maximum),
      between(minLength, maxLength, "characters"),
      between(minItems, maxItems, "of them"),
      this.#isRequired || fallback !== undefined ? undefined : "optional",
    ].filter((word) => word !== undefined);
    const inWords = words.length === 0 ? "" : ` (${words.join(", ")})`;
    return fallback === undefined ? inWords : `${inWords} [${this.#shown(fallback)}]`;
  }

  /**
   * Reads what was typed: a value that fits, `undefined` to leave the field out, or what is wrong. Nothing typed is the
   * default.
   */
  read(typed: string): { value: unknown } | { problem: string } {
    const text = typed.trim();
    if (text === "") {
      if (this.#is.default !== undefined) return this.#checked(this.#is.default);
      return this.#isRequired ? { problem: "This is required" } : { value: undefined };
    }
    const value = this.#valueOf(text);
    return value instanceof Error ? { problem: value.message } : this.#checked(value);
  }

  get #kind(): string | undefined {
    const { type, format } = this.#is;
    if (this.choices.length > 0) return type === "array" ? "some of these, with commas" : "one of these";
    if (type === "boolean") return "y/n";
    if (type === "integer") return "whole number";
    if (type === "number") return type;
    return format === undefined ? undefined : cleanLine(format);
  }

  /** What a text means; an error where it means nothing. */
  #valueOf(text: string): unknown {
    if (this.#is.type === "array") {
      const parts = text.split(",").map((part) => part.trim());
      const chosen = parts.filter((part) => part !== "").map((part) => this.#choose(part));
      return chosen.find((value) => value instanceof Error) ?? [...new Set(chosen)];
    }
    if (this.choices.length > 0) return this.#choose(text);
    switch (this.#is.type) {
      case "boolean":
        return toBoolean(text) ?? new Error("Answer y or n");
      case "number":
      case "integer":
        return Number.isNaN(Number(text)) ? new Error("This is no number") : Number(text);
      default:
        return text;
    }
  }

  /** A choice by its value, its title, or else its place in the list. */
  #choose(text: string): unknown {
    const choice =
      this.choices.find(({ value }) => written(value) === text) ??
      this.choices.find(({ title }) => title.toLowerCase() === text.toLowerCase()) ??
      (/^\d+$/.test(text) ? this.choices[Number(text) - 1] : undefined);
    return choice === undefined ? new Error(`"${text}" is none of these`) : choice.value;
  }

  /** A value, if a host would take it. */
  #checked(value: unknown): { value: unknown } | { problem: string } {
    const { name } = this;
    const requestedSchema = { type: "object", properties: { [name]: this.#schema }, required: [name] };
    const question = { method: "elicitation/create", params: { requestedSchema } } as const;
    const problem = answerProblem(question, { action: "accept", content: { [name]: value } });
    return problem === undefined ? { value } : { problem: problem.replaceAll(`${name}: `, "") };
  }

  #shown(value: unknown): string {
    if (typeof value === "boolean") return value ? "y" : "n";
    if (Array.isArray(value)) return value.map((one) => this.#shown(one)).join(", ");
    return cleanLine(this.choices.find((choice) => choice.value === value)?.title ?? written(value));
  }
}

/** `y` or `n` and the like; `undefined` for anything else. */
export function toBoolean(text: string): boolean | undefined {
  if (/^(y|yes|true)$/i.test(text.trim())) return true;
  return /^(n|no|false)$/i.test(text.trim()) ? false : undefined;
}

function written(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function between(least: number | undefined, most: number | undefined, of = ""): string | undefined {
  if (least === undefined && most === undefined) return undefined;
  if (most === undefined) return `at least ${least} ${of}`.trim();
  return (least === undefined ? `at most ${most} ${of}` : `${least} to ${most} ${of}`).trim();
}
