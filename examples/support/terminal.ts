// What the examples show, and how they ask: on a terminal with colours and a line that moves, elsewhere plainly.

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

/**
 * Asks for a yes or a no; nothing typed is `fallback`, and so it is where nobody can be asked. `undefined` when the input
 * ended or the signal fired.
 */
export async function confirm(question: string, fallback: boolean, signal: AbortSignal): Promise<boolean | undefined> {
  const output = prompter();
  if (output === undefined) {
    process.stdout.write(`   ? ${question} ${fallback ? "yes" : "no"} (nobody to ask: the default)\n`);
    return fallback;
  }
  const typed = await ask(output, `   ${cyan("?")} ${bold(question)} ${dim(fallback ? "[Y/n]" : "[y/N]")} `, signal);
  if (typed === null) return undefined;
  return typed.trim() === "" ? fallback : /^(y|yes)$/i.test(typed.trim());
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
