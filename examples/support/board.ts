// Several lines that change by themselves: on a terminal where they stand, elsewhere a new line at every fourth part.

import process from "node:process";
import { bar, dim } from "./terminal.ts";

interface Line {
  readonly text: string;
  readonly share: number | undefined;
}

/** What several tasks are doing, one line for each. */
export class Board {
  readonly #lines = new Map<string, Line>();
  readonly #told = new Map<string, string>();
  /** How many lines stand above the cursor that are ours to write over. */
  #height = 0;

  /** Shows what a task is doing; how far it is, is what `task.progress` put into words. */
  show(name: string, status: string, message = ""): void {
    const [, text = "", done, of] = /^(.*?)(?: \((\d+)\/(\d+)\))?$/.exec(message) ?? [];
    const share = of === undefined ? undefined : Number(done) / Math.max(Number(of), 1);
    this.#lines.set(name, { text: status === "working" && text !== "" ? text : status, share });
    if (process.stdout.isTTY) this.#draw();
    else this.#tell(name, status);
  }

  /** Writes a line of its own above the others. */
  say(text: string): void {
    this.#rub();
    console.log(text);
    if (process.stdout.isTTY && this.#lines.size > 0) this.#draw();
  }

  /** Leaves the lines as they are, and goes on below them. */
  end(): void {
    this.#height = 0;
    this.#lines.clear();
  }

  #draw(): void {
    this.#rub();
    for (const [name, line] of this.#lines) console.log(write(name, line));
    this.#height = this.#lines.size;
  }

  #rub(): void {
    if (this.#height > 0) process.stdout.write(`\x1b[${this.#height}A\x1b[J`);
    this.#height = 0;
  }

  #tell(name: string, status: string): void {
    const line = this.#lines.get(name);
    if (line === undefined) return;
    const stage = `${status} ${line.text} ${Math.floor((line.share ?? 0) * 4)}`;
    if (this.#told.get(name) === stage) return;
    this.#told.set(name, stage);
    console.log(write(name, line));
  }
}

function write(name: string, { text, share }: Line): string {
  const label = `   ${name.padEnd(14)}`;
  if (share === undefined) return `${label} ${text}`;
  return `${label} ${bar(share)} ${String(Math.floor(share * 100)).padStart(3)} % ${dim(text)}`;
}
