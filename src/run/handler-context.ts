import type { InputRequest, JsonObject } from "../task/task.ts";
import type { External, Root, SamplingResult, Schema, TaskContext } from "./context.ts";
import { EXTERNAL } from "./outcome.ts";
import { form, page, raw, rootsList, sampling } from "./questions.ts";
import type { Run } from "./run.ts";

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

  async elicit<Output>(message: string, schema: Schema<Output>): Promise<Output> {
    return this.#run.ask("elicit", form(message, schema, this.#run.env.toRequestedSchema));
  }

  async elicitUrl(message: string, url: string | URL): Promise<void> {
    return this.#run.ask("url", page(message, url));
  }

  async sample(params: JsonObject): Promise<SamplingResult> {
    return this.#run.ask("sample", sampling(params));
  }

  async roots(): Promise<Root[]> {
    return this.#run.ask("roots", rootsList());
  }

  async ask<Name extends string>(questions: Record<Name, InputRequest>): Promise<Record<Name, JsonObject>> {
    const names = Object.keys(questions) as Name[];
    const answers = await Promise.all(names.map((name) => this.#run.ask(name, raw(questions[name]))));
    return Object.fromEntries(names.map((name, at) => [name, answers[at]])) as Record<Name, JsonObject>;
  }

  async step<Output>(_name: string, work: () => Output | Promise<Output>): Promise<Output> {
    this.signal.throwIfAborted();
    return work();
  }

  async sleep(_name: string, ms: number): Promise<void> {
    return this.#run.sleep(ms);
  }

  extend(ms: number): void {
    this.#run.extend(ms);
  }

  async begin(): Promise<void> {
    return this.#run.beginIfTasks();
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
