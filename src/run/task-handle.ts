import type { Registry } from "../registry/registry.ts";
import { AbortedError, TaskNotFoundError } from "../task/errors.ts";
import { createId } from "../task/ids.ts";
import type { InputRequest, JsonObject, TaskRecord } from "../task/task.ts";
import { isTerminal } from "../task/task.ts";
import type { Schema } from "./context.ts";
import type { Outcome, ResultRules } from "./outcome.ts";
import { isUnexpected, outcomeOf, outcomeOfError } from "./outcome.ts";
import { checkDuration } from "./policy.ts";
import type { Question, ToRequestedSchema } from "./questions.ts";
import { checkAskable, form, raw } from "./questions.ts";
import type { Run, RunEnvironment } from "./run.ts";
import { progressMessage } from "./run.ts";

interface HandleOptions {
  readonly registry: Registry;
  readonly run: () => Run | undefined;
  readonly rulesOf: (tool: string) => ResultRules;
  readonly toRequestedSchema: ToRequestedSchema;
  readonly onError: RunEnvironment["onError"];
}

/**
 * A task in the hands of whoever does its work: for tasks whose handler returned `task.external()`. A plain call of
 * this process that waits for its end is served just so. Every method rejects with `TaskNotFoundError` when there is no
 * such task. What comes after the task's end changes nothing.
 */
export class TaskHandle {
  readonly taskId: string;
  readonly #options: HandleOptions;

  constructor(taskId: string, options: HandleOptions) {
    this.taskId = taskId;
    this.#options = options;
  }

  /**
   * Completes the task with what a handler may return. What no client can be told, a value that is no JSON for example,
   * fails the task and reaches `onError`.
   */
  async complete(value?: unknown): Promise<void> {
    await this.#end(async (rules) => {
      try {
        return await outcomeOf(value, rules);
      } catch (error) {
        if (isUnexpected(error)) this.#options.onError(error, { taskId: this.taskId, tool: rules.tool });
        return outcomeOfError(error);
      }
    });
  }

  /** Fails the task with the JSON-RPC error of a `ProtocolError`; of any other error the client learns nothing. */
  async fail(error: unknown): Promise<void> {
    await this.#end(async () => outcomeOfError(error));
  }

  /** Tells in words what goes on. */
  async status(message: string): Promise<void> {
    const plain = await this.#plain();
    if (plain !== undefined) plain.status(message);
    else await this.#status(message);
  }

  /** Tells how far the work is. */
  async progress(done: number, total?: number, message?: string): Promise<void> {
    const plain = await this.#plain();
    if (plain !== undefined) plain.progress(done, total, message);
    else await this.#status(progressMessage(done, total, message));
  }

  /** Asks a person for the fields of a flat object schema. Rejects like `TaskContext.elicit`, and when the task ends. */
  async elicit<Output>(message: string, schema: Schema<Output>): Promise<Output> {
    return this.#ask("elicit", form(message, schema, this.#options.toRequestedSchema));
  }

  /** Asks any question. Rejects like `TaskContext.ask`, and when the task ends. */
  async ask(request: InputRequest): Promise<JsonObject> {
    return this.#ask("ask", raw(request));
  }

  /** Moves the end of the task's time to live to `ms` milliseconds from now. Never earlier. */
  async extend(ms: number): Promise<void> {
    checkDuration(ms, "extend(ms)");
    if ((await this.#plain()) !== undefined) return;
    await this.#record();
    await this.#options.registry.extend(this.taskId, ms);
  }

  /** The call, if it is a plain one. */
  async #plain(): Promise<Run | undefined> {
    const run = this.#options.run();
    await run?.becoming();
    return run?.isTask === false ? run : undefined;
  }

  async #record(): Promise<TaskRecord> {
    const record = await this.#options.registry.find(this.taskId);
    if (record === undefined) throw new TaskNotFoundError();
    return record;
  }

  async #status(message: string): Promise<void> {
    await this.#record();
    await this.#options.registry.change(this.taskId, { type: "task.status", message });
    const ttlMs = this.#options.run()?.progressTtlMs;
    if (ttlMs !== undefined) await this.#options.registry.extend(this.taskId, ttlMs);
  }

  async #end(outcomeBy: (rules: ResultRules) => Promise<Outcome>): Promise<void> {
    const { registry, rulesOf } = this.#options;
    const plain = await this.#plain();
    const outcome = await outcomeBy(rulesOf(plain?.tool ?? (await this.#record()).tool));
    // Should it have become a task meanwhile, the run ends that.
    if (plain !== undefined) await plain.finish(outcome);
    else if (outcome.kind === "result") {
      await registry.change(this.taskId, { type: "task.complete", result: outcome.result });
    } else if (outcome.kind === "error") {
      await registry.change(this.taskId, { type: "task.fail", error: outcome.error });
    }
  }

  async #ask<Output>(name: string, question: Question<Output>): Promise<Output> {
    const run = this.#options.run();
    if (run !== undefined) return question.read(await run.askElsewhere(name, question));
    const { registry } = this.#options;
    checkAskable(question.request, (await this.#record()).askable);
    const key = `${name}-${createId().slice(0, 12)}`;
    let unwatch = () => {};
    const answer = new Promise<JsonObject>((resolve, reject) => {
      unwatch = registry.watch(this.taskId, (record) => {
        const given = record.inputResponses[key];
        if (given !== undefined) resolve(given);
        else if (isTerminal(record)) reject(new AbortedError(record.statusMessage ?? `The task is ${record.status}`));
      });
    });
    // It may come before the question is known to be stored.
    answer.catch(() => {});
    try {
      const asked = await registry.change(this.taskId, {
        type: "task.ask",
        inputRequests: { [key]: question.request },
      });
      if (!asked) throw new AbortedError("The task has ended");
      return await question.read(await answer);
    } finally {
      unwatch();
    }
  }
}
