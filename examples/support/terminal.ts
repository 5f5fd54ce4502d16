// What the examples show, and how they ask: on a terminal with colours and a line that moves, elsewhere plainly.

import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import process from "node:process";
import { createInterface } from "node:readline/promises";

const isTerminal = process.stdout.isTTY;
const hasColours = isTerminal && !process.env["NO_COLOR"];

const paint = (code: string) => (text: string) => (hasColours ? `\x1b[${code}m${text}\x1b[0m` : text);
export const bold = paint("1");
export const dim = paint("2");
export const green = paint("32");
export const cyan = paint("36");

/** A bar for a share between 0 and 1, as wide as the terminal leaves room for beside it. */
export function bar(share: number): string {
  const width = Math.max(4, Math.min(24, (process.stdout.columns ?? 80) - 44));
  const full = Math.round(share * width);
  return green("█".repeat(full)) + dim("░".repeat(width - full));
}

/** One line that is written over and over; where there is no terminal, a new line at every fourth part. */
export class LiveLine {
  #quarter = 0;
  #shown = false;

  show(text: string, share: number): void {
    if (isTerminal) {
      process.stdout.write(`\r\x1b[2K${text}`);
      this.#shown = true;
    } else if (Math.floor(share * 4) > this.#quarter) {
      this.#quarter = Math.floor(share * 4);
      process.stdout.write(`${text}\n`);
    }
  }

  /** Leaves the line as it is, and goes on below it. */
  end(): void {
    if (this.#shown) process.stdout.write("\n");
    this.#shown = false;
  }
}

/** Where a prompt can be seen and answered, if anywhere. */
function prompter(): NodeJS.WriteStream | undefined {
  if (!process.stdin.isTTY) return undefined;
  return [process.stdout, process.stderr].find(({ isTTY }) => isTTY);
}

interface Field {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: string | number | boolean;
  readonly enum?: readonly string[];
}

/**
 * Asks for the fields of a question's form; where nobody can be asked, takes their defaults, and declines for want of
 * one. Whoever ends the input dismisses the question.
 */
export async function answer(question: ElicitRequest["params"], signal: AbortSignal): Promise<ElicitResult> {
  if (!("requestedSchema" in question)) return { action: "decline" };
  const fields = Object.entries(question.requestedSchema.properties) as [string, Field][];
  const output = prompter();
  const content: NonNullable<ElicitResult["content"]> = {};
  for (const [name, field] of fields) {
    const label = fields.length === 1 ? question.message : `${question.message} ${field.title ?? name}:`;
    const prompt = `   ${cyan("?")} ${bold(label)} ${hint(field)} `;
    const given = output === undefined ? "" : await ask(output, prompt, signal);
    if (given === null) return { action: "cancel" };
    const value = read(given.trim(), field);
    if (output === undefined) process.stdout.write(`   ? ${label} ${shown(value)} (nobody to ask: the default)\n`);
    if (value === undefined) return { action: "decline" };
    content[name] = value;
  }
  return { action: "accept", content };
}

function hint({ type, enum: choices, default: fallback }: Field): string {
  if (type === "boolean") return dim(fallback === undefined ? "[y/n]" : fallback === true ? "[Y/n]" : "[y/N]");
  const choice = choices === undefined ? "" : `[${choices.join("/")}] `;
  return dim(`${choice}${fallback === undefined ? "" : `(${fallback})`}`);
}

/** What was typed, as the field wants it; nothing typed is the default. */
function read(typed: string, { type, default: fallback }: Field): string | number | boolean | undefined {
  if (typed === "") return fallback;
  if (type === "boolean") return /^(y|yes|true|1)$/i.test(typed);
  return type === "number" || type === "integer" ? Number(typed) : typed;
}

function shown(value: string | number | boolean = "-"): string {
  return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
}

/** One line from the terminal; `null` when its input ended or the signal fired. */
async function ask(output: NodeJS.WriteStream, label: string, signal: AbortSignal): Promise<string | null> {
  const lines = createInterface({ input: process.stdin, output });
  const { promise, resolve } = Promise.withResolvers<string | null>();
  lines.on("close", () => resolve(null));
  lines.on("SIGINT", () => {
    output.write("\n");
    process.exit(130);
  });
  lines.question(label, { signal }).then(resolve, () => resolve(null));
  try {
    return await promise;
  } finally {
    lines.close();
  }
}
