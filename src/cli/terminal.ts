// Standard error as people see it: on a terminal one line that is written over and over, and somebody to ask; elsewhere
// plain lines, and nobody. Standard output is for results alone.

import process from "node:process";
import type { Interface } from "node:readline";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { styleText } from "node:util";
import { systemClock } from "../task/clock.ts";

const { stdin, stderr } = process;
const isTerminal = stderr.isTTY;
const hasColours = isTerminal && (process.env["NO_COLOR"] ?? "") === "";

const paint = (style: "bold" | "dim" | "green" | "red" | "cyan") => (text: string) =>
  hasColours ? styleText(style, text, { validateStream: false }) : text;
export const bold = paint("bold");
export const dim = paint("dim");
export const green = paint("green");
export const red = paint("red");
export const cyan = paint("cyan");

/** Tells something on standard error. */
export function tell(text: string): void {
  stderr.write(`${text}\n`);
}

/** Writes on standard output, and resolves when it has gone out, or cannot since nobody reads any more. */
export function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${text}\n`, () => resolve()));
}

/** A reader that goes away, as `head` does, is no error of ours. */
export function tolerateBrokenPipes(): void {
  for (const stream of [process.stdout, stderr]) stream.on("error", () => {});
}

/** Begins the line anew. */
const ERASE = "\r\x1b[2K";
/** What is wider than the terminal is cut off, by the terminal itself where characters are wider than one cell. */
const oneRow = (text: string) => `${ERASE}\x1b[?7l${dim(Array.from(text).slice(0, stderr.columns || 80).join(""))}\x1b[?7h`;

/** How often the live line is written anew, and how often plain lines tell of small things, in milliseconds. */
const PACE_MS = 1_000;

/** A conversation: nothing else is told or asked in between. */
export interface Dialogue {
  readonly say: (text: string) => void;
  /** Asks for a line; `undefined` when the person ends the input (Ctrl-D). Rejects when the question is over. */
  readonly ask: (label: string) => Promise<string | undefined>;
}

export interface TerminalOptions {
  /** Whether somebody may be asked, where there is a terminal to ask on. */
  readonly asks: boolean;
  /**
   * What Ctrl-C does. Where somebody can be asked, it is given a dialogue to ask what was meant; another Ctrl-C in it
   * ends the input. A signal comes without one.
   */
  readonly onInterrupt: (dialogue?: Dialogue) => Promise<void> | void;
}

/** Standard input and standard error for the time of a call. */
export class Terminal {
  /** Whether there is somebody to ask. */
  readonly asks: boolean;
  readonly #onInterrupt: TerminalOptions["onInterrupt"];
  readonly #over = new AbortController();
  /** Takes what is typed while nothing is asked. */
  #idle: Interface | undefined;
  #live: (() => string) | undefined;
  #timer: unknown;
  #told = { text: "", at: 0 };
  /** The end of the last dialogue, and how many there are. */
  #turn: Promise<unknown> = Promise.resolve();
  #dialogues = 0;

  constructor({ asks, onInterrupt }: TerminalOptions) {
    this.asks = asks && isTerminal && stdin.isTTY;
    this.#onInterrupt = onInterrupt;
    process.on("SIGINT", this.#onSignal);
    process.on("SIGTERM", this.#onSignal);
    this.#listen();
  }

  /** Shows what goes on, from now on: in the live line, or as a line where it is news, and small news not too often. */
  show(text: () => string, isSmall = false): void {
    if (this.#over.signal.aborted) return;
    if (isTerminal) {
      this.#live = text;
      this.#draw();
      return;
    }
    const now = systemClock.now();
    const line = text();
    if (line === this.#told.text || (isSmall && now - this.#told.at < PACE_MS)) return;
    tell(line);
    this.#told = { text: line, at: now };
  }

  /** Has a conversation, as soon as no other is going on. Rejects with the signal's reason when that fires. */
  async dialogue<Result>(signal: AbortSignal, talk: (dialogue: Dialogue) => Promise<Result>): Promise<Result> {
    const ask = async (label: string) => {
      for (;;) {
        const reading = await this.#read(label, signal);
        if (reading !== INTERRUPT) return reading;
        await this.#interrupt();
      }
    };
    return this.#inTurn(() => talk({ say: tell, ask }));
  }

  /** Gives the terminal back, and ends what is still asked. */
  close(): void {
    this.#erase();
    this.#live = undefined;
    this.#over.abort(new Error("The terminal is closed."));
    this.#idle?.close();
    process.off("SIGINT", this.#onSignal);
    process.off("SIGTERM", this.#onSignal);
  }

  readonly #onSignal = () => void this.#onInterrupt();

  #erase(): void {
    systemClock.clearTimeout(this.#timer);
    if (this.#live !== undefined && this.#dialogues === 0) stderr.write(ERASE);
  }

  #draw(): void {
    if (this.#live === undefined || this.#dialogues > 0) return;
    stderr.write(oneRow(this.#live()));
    systemClock.clearTimeout(this.#timer);
    this.#timer = systemClock.setTimeout(() => this.#draw(), PACE_MS);
  }

  async #inTurn<Result>(talk: () => Promise<Result>): Promise<Result> {
    this.#erase();
    this.#dialogues += 1;
    const idle = this.#idle;
    this.#idle = undefined;
    idle?.close();
    const turn = this.#turn.then(talk);
    this.#turn = turn.catch(() => {});
    try {
      return await turn;
    } finally {
      this.#dialogues -= 1;
      this.#listen();
      this.#draw();
    }
  }

  /**
   * Reads the keyboard while nothing is asked, so that what is typed does not stand in the live line, and Ctrl-C is a
   * key: as a signal it would also end a server that was started as a command.
   */
  #listen(): void {
    if (!this.asks || this.#dialogues > 0 || this.#over.signal.aborted) return;
    const output = new Writable({ write: (_chunk, _encoding, done) => done() });
    const idle = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
    this.#idle = idle;
    idle.on("SIGINT", () => void this.#inTurn(() => this.#interrupt()).catch(() => {}));
    // Ctrl-D.
    idle.on("close", () => {
      if (this.#idle === idle) this.#listen();
    });
  }

  async #interrupt(): Promise<void> {
    const ask = async (label: string) => {
      const reading = await this.#read(label, this.#over.signal);
      return reading === INTERRUPT ? undefined : reading;
    };
    await this.#onInterrupt({ say: tell, ask });
  }

  async #read(label: string, signal: AbortSignal): Promise<string | typeof INTERRUPT | undefined> {
    const over = AbortSignal.any([signal, this.#over.signal]);
    over.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<string | typeof INTERRUPT | undefined>();
    const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
    const leave = (settle: () => void) => () => {
      stderr.write("\n");
      settle();
    };
    const onAbort = leave(() => reject(over.reason));
    over.addEventListener("abort", onAbort);
    reader.on("SIGINT", leave(() => resolve(INTERRUPT)));
    const onEnd = leave(() => resolve(undefined));
    reader.on("close", onEnd);
    reader.question(label, resolve);
    try {
      return await promise;
    } finally {
      over.removeEventListener("abort", onAbort);
      reader.off("close", onEnd);
      reader.close();
    }
  }
}

/** What reading a line gives on Ctrl-C. */
const INTERRUPT = Symbol("interrupt");
