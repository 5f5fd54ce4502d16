import { backoffMs } from "../../machines/follow.ts";
import type { Clock } from "../task/clock.ts";
import type { DetailedTask, InputRequest, JsonObject } from "../task/task.ts";
import { RequestFailedError } from "./errors.ts";
import type { Answerer } from "./input.ts";
import { pauseFor } from "./within.ts";

export interface QuestionsOptions {
  readonly answerer: Answerer;
  readonly clock: Clock;
  /** Sends answers (`tasks/update`). */
  readonly send: (responses: JsonObject, signal: AbortSignal) => Promise<void>;
  /** Whether the server still shows one of the questions. */
  readonly isOpen: (keys: readonly string[], signal: AbortSignal) => Promise<boolean>;
  /** Hears of a key that is answered: the server has the answer. */
  readonly onAnswered: (key: string) => void;
  /** Hears of a question whose answer failed. */
  readonly onFailed: (key: string | undefined, error: unknown) => void;
}

/** A question that was asked. */
interface Asked {
  /** Tells its handler that its answer is of no use any more. */
  readonly asking: AbortController;
  /** Whether the server shows it still. */
  open: boolean;
}

/** The questions of one task that are being answered, each once. */
export class Questions {
  readonly #options: QuestionsOptions;
  readonly #asked = new Map<string, Asked>();
  /** What has an answer that is on its way, or there: a server may still show the question for a while. */
  readonly #sent = new Set<string>();
  readonly #over = new AbortController();
  /** Those who wait for a question to be open again. */
  readonly #waiting = new Set<() => void>();

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /**
   * Asks the questions that are open and new, and withdraws those that are open no more. One that comes again, as a
   * replica may show it, takes the answer that its handler gives all the same, and is not asked twice.
   */
  update(task: DetailedTask, open: readonly (readonly [string, InputRequest])[]): void {
    if (this.#over.signal.aborted) return;
    const keys = new Set(open.map(([key]) => key));
    for (const [key, asked] of this.#asked) {
      asked.open = keys.has(key);
      if (!asked.open && !asked.asking.signal.aborted) asked.asking.abort(new Error("The question is open no more"));
    }
    this.#wake();
    const added = open.filter(([key]) => !this.#asked.has(key) && !this.#sent.has(key));
    if (added.length === 0) return;
    for (const [key] of added) this.#asked.set(key, { asking: new AbortController(), open: true });
    const answers = this.#options.answerer.ask(Object.fromEntries(added), {
      task,
      signalOf: (key) => (key === undefined ? undefined : this.#asked.get(key)?.asking.signal) ?? this.#over.signal,
    });
    const names = added.map(([key]) => key);
    for (const [key, responses] of answers) void this.#answer(key, key === undefined ? names : [key], responses);
  }

  /** Nobody waits for answers any more. */
  close(reason: unknown): void {
    this.#over.abort(reason);
    for (const { asking } of this.#asked.values()) asking.abort(reason);
    this.#asked.clear();
    this.#wake();
  }

  async #answer(key: string | undefined, asked: readonly string[], answers: Promise<{ readonly [key: string]: object }>) {
    const isOpen = () => asked.some((name) => this.#asked.get(name)?.open === true);
    try {
      const responses = await answers;
      while (!isOpen()) {
        if (this.#over.signal.aborted) return;
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
      const answered = Object.keys(responses);
      for (const name of answered) this.#sent.add(name);
      if (answered.length > 0) await this.#send({ ...responses });
      // The others may be answered the next time.
      for (const name of asked) if (!this.#sent.has(name)) this.#asked.delete(name);
      for (const name of answered) this.#options.onAnswered(name);
    } catch (error) {
      if (isOpen()) this.#options.onFailed(key, error);
      // A handler that heeded its signal has not answered: the question is a new one, should it come again.
      else for (const name of asked) this.#asked.delete(name);
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Sends answers until the server has them: an answer that a person gave is not lost with a connection. */
  async #send(responses: JsonObject): Promise<void> {
    const { signal } = this.#over;
    for (let failures = 0; ; failures++) {
      try {
        return await this.#options.send(responses, signal);
      } catch (error) {
        if (!(error instanceof RequestFailedError) || signal.aborted) throw error;
        if (error.retry === "never") {
          // The server may have taken an earlier one whose response was lost, and know the question no more.
          if (failures > 0 && !(await this.#options.isOpen(Object.keys(responses), signal))) return;
          throw error;
        }
        await pauseFor(this.#options.clock, Math.max(backoffMs(failures), error.retryAfterMs ?? 0), signal);
      }
    }
  }
}
