import type { InputRequest, JsonObject } from "../task/task.ts";
import type { External, Root, SamplingResult, Schema, TaskContext } from "./context.ts";
import { EXTERNAL } from "./outcome.ts";
import { checkDuration } from "./policy.ts";
import { form, page, raw, rootsList, sampling } from "./questions.ts";
import type { Run } from "./run.ts";

/**
 * A promise that may reject without anybody listening. A handler that does not wait for its question when the client
 * cancels or declines is careless; the process must not die of it.
 */
function settling<Output>(work: () => Promise<Output>): Promise<Output> {
  const promise = work();
  promise.catch(() => {});
  return promise;
}

/** The face of a run that its handler sees. */
export class HandlerContext implements TaskContext {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  get taskId(): string {
    return this.#run.taskId;
  }

  get isTask(): boolean {
    return this.#run.isTask;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get principal(): string | undefined {
    return this.#run.principal;
  }

  status(message: string): void {
    this.#run.status(message);
  }

  progress(done: number, total?: number, message?: string): void {
    this.#run.progress(done, total, message);
  }

  elicit<Output>(message: string, schema: Schema<Output>): Promise<Output> {
    return settling(async () => this.#run.ask("elicit", form(message, schema, this.#run.env.toRequestedSchema)));
  }

  elicitUrl(message: string, url: string | URL): Promise<void> {
    return settling(async () => this.#run.ask("url", page(message, url)));
  }

  sample(params: JsonObject): Promise<SamplingResult> {
    return settling(async () => this.#run.ask("sample", sampling(params)));
  }

  roots(): Promise<Root[]> {
    return settling(async () => this.#run.ask("roots", rootsList()));
  }

  ask<Name extends string>(questions: Record<Name, InputRequest>): Promise<Record<Name, JsonObject>> {
    return settling(async () => {
      const names = Object.keys(questions) as Name[];
      // All or none: a question that nobody waits for would stay open.
      for (const name of names) this.#run.checkAskable(questions[name]);
      const answers = await Promise.all(names.map((name) => this.#run.ask(name, raw(questions[name]))));
      return Object.fromEntries(names.map((name, at) => [name, answers[at]])) as Record<Name, JsonObject>;
    });
  }

  async step<Output>(_name: string, work: () => Output | Promise<Output>): Promise<Output> {
    this.signal.throwIfAborted();
    return work();
  }

  sleep(name: string, ms: number): Promise<void> {
    return settling(async () => {
      checkDuration(ms, `task.sleep("${name}", ms)`, { infinity: true });
      await this.#run.sleep(ms);
    });
  }

  extend(ms: number): void {
    checkDuration(ms, "task.extend(ms)");
    this.#run.extend(ms);
  }

  begin(): Promise<void> {
    return settling(async () => this.#run.beginIfTasks());
  }

  external(): External {
    return EXTERNAL;
  }
}

// A handler may take its context apart: `async (input, { signal, progress }) => …`.
for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(HandlerContext.prototype))) {
  if (name === "constructor" || typeof value !== "function") continue;
  Object.defineProperty(HandlerContext.prototype, name, {
    get(this: HandlerContext) {
      return (value as (...args: unknown[]) => unknown).bind(this);
    },
  });
}
