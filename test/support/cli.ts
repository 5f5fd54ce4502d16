// The command line as its users run it: as a process of its own, in a terminal or without one.

import assert from "node:assert/strict";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { childEnv, plainEnv } from "../../scripts/lib/command.mjs";
import { runFile, runningOn } from "../../scripts/lib/runtimes.mjs";
import { Screen } from "./screen.ts";
import { patiently } from "./until.ts";

/** The command of `errand`, on the runtime that the tests run on. */
export function errand(args: readonly string[]): [string, ...string[]] {
  return runFile(runningOn(), fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url)), args);
}

/** The environment of the machine, without anybody's token. */
function environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { ERRAND_TOKEN: _, ...env } = plainEnv(childEnv());
  return { ...env, ...extra };
}

export interface RunOptions {
  /** What it reads on standard input. Default nothing. */
  readonly input?: string;
  readonly env?: Record<string, string>;
}

/** A process without a terminal. */
export class Running {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting = new Set<() => void>();
  readonly #closed: Promise<number | NodeJS.Signals>;
  #isOver = false;
  stdout = "";
  stderr = "";

  constructor(args: readonly string[], { input, env }: RunOptions = {}) {
    const [program, ...rest] = errand(args);
    this.#process = spawn(program, rest, { env: environment(env) });
    const { stdin, stdout, stderr } = this.#process;
    stdin.on("error", () => {});
    if (input !== undefined) stdin.end(input);
    stdout.setEncoding("utf8").on("data", (text: string) => this.#wake((this.stdout += text)));
    stderr.setEncoding("utf8").on("data", (text: string) => this.#wake((this.stderr += text)));
    this.#closed = new Promise((resolve) => {
      this.#process.on("close", (code, signal) => {
        this.#isOver = true;
        this.#wake();
        resolve(code ?? signal ?? -1);
      });
    });
  }

  /** Waits until something has been written on standard error. */
  async until(text: string): Promise<void> {
    await patiently(async () => {
      while (!this.stderr.includes(text)) {
        assert.ok(!this.#isOver, `It ended without "${text}":\n${this.stderr}\n${this.stdout}`);
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
    });
  }

  signal(signal: NodeJS.Signals): void {
    // Deno's `kill` of a child says that the signal ended it, whatever its exit code.
    if (!this.#isOver && this.#process.pid !== undefined) process.kill(this.#process.pid, signal);
  }

  /** Reads no more of what it writes on standard output. */
  closeStdout(): void {
    this.#process.stdout.destroy();
  }

  /** The exit code, or the signal that ended it. */
  async end(): Promise<number | NodeJS.Signals> {
    try {
      return await patiently(() => this.#closed);
    } finally {
      this.signal("SIGKILL");
    }
  }

  #wake(_written?: string): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

/** Runs a command to its end, without a terminal. */
export async function run(
  args: readonly string[],
  options: RunOptions = {},
): Promise<{ code: number | NodeJS.Signals; stdout: string; stderr: string }> {
  const running = new Running(args, { input: "", ...options });
  const code = await running.end();
  return { code, stdout: running.stdout, stderr: running.stderr };
}

export interface TerminalOptions {
  readonly env?: Record<string, string>;
  readonly columns?: number;
  /** What the shell does with the command, for example `echo '{}' | $` with the command for `$`. */
  readonly shell?: string;
}

/** A process in a terminal, whose keys the test presses. `script`, which every Debian has, is the terminal. */
export class InTerminal {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #screen: Screen;
  readonly #waiting = new Set<() => void>();
  readonly #closed: Promise<number>;
  #isOver = false;
  /** All that was written, control sequences included. */
  raw = "";

  constructor(args: readonly string[], { env, columns = 100, shell = "exec $" }: TerminalOptions = {}) {
    this.#screen = new Screen(columns);
    const command = shell.replace("$", () => errand(args).map(quoted).join(" "));
    this.#process = spawn("script", ["-qefc", `stty cols ${columns} rows 40; ${command}`, "/dev/null"], {
      env: { ...environment(env), SHELL: "/bin/sh", TERM: "xterm" },
    });
    this.#process.stdin.on("error", () => {});
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.raw += text;
        this.#screen.write(text);
        this.#wake();
      });
    }
    this.#closed = new Promise((resolve, reject) => {
      this.#process.on("error", reject);
      this.#process.on("close", (code) => {
        this.#isOver = true;
        this.#wake();
        resolve(code ?? -1);
      });
    });
    this.#closed.catch(() => {});
  }

  /** What is seen now. */
  get screen(): string {
    return this.#screen.text;
  }

  /** The same with long lines in one piece. */
  get text(): string {
    return this.#screen.unwrapped;
  }

  /** Waits until a text is seen on the screen. */
  async sees(text: string | RegExp): Promise<void> {
    const isThere = () => (typeof text === "string" ? this.screen.includes(text) : text.test(this.screen));
    const looking = patiently(async () => {
      while (!isThere()) {
        if (this.#isOver) throw new Error("it ended");
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
    });
    await looking.catch((error: unknown) => {
      throw new Error(`${String(text)} was not seen, but:\n${this.screen}`, { cause: error });
    });
  }

  /** Presses keys: `\r` is Enter, `\x03` Ctrl-C, `\x04` Ctrl-D. */
  press(keys: string): void {
    this.#process.stdin.write(keys);
  }

  /** Waits for a prompt, and answers it. */
  async answer(prompt: string | RegExp, text: string): Promise<void> {
    await this.sees(prompt);
    this.press(`${text}\r`);
  }

  /** The exit code. */
  async end(): Promise<number> {
    try {
      return await patiently(() => this.#closed);
    } catch (error) {
      throw new Error(`It did not end:\n${this.screen}`, { cause: error });
    } finally {
      this.kill();
    }
  }

  /** Takes the terminal away, which ends what runs in it. */
  kill(): void {
    this.#process.kill("SIGTERM");
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

export const CTRL_C = "\x03";
export const CTRL_D = "\x04";

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
