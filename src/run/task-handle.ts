import type { Registry } from "../registry/registry.ts";
import { AbortedError, TaskNotFoundError } from "../task/errors.ts";
import { createId } from "../task/ids.ts";
import type { InputRequest, JsonObject, TaskRecord } from "../task/task.ts";
import { isTerminal } from "../task/task.ts";
import type { Schema } from "./context.ts";
import type { Outcome, ResultRules } from "./outcome.ts";
import { outcomeOf, outcomeOfError } from "./outcome.ts";
import type { Question, ToRequestedSchema } from "./questions.ts";
import { checkAskable, form, raw } from "./questions.ts";
import type { Run } from "./run.ts";
import { progressMessage } from "./run.ts";

interface HandleOptions {
  readonly registry: Registry;
  readonly run: () => Run | undefined;
  readonly rulesOf: (tool: string) => ResultRules;
  readonly toRequestedSchema: ToRequestedSchema;
}

/**
 * A task in the hands of whoever does its work: for tasks whose handler returned `task.external()`. Every method
 * rejects with `TaskNotFoundError` when there is no such task. What comes after the task's end changes nothing.
 */
export class TaskHandle {
  readonly taskId: string;
  readonly #options: HandleOptions;

  constructor(taskId: string, options: HandleOptions) {
    this.taskId = taskId;
    this.#options = options;
  }

  /** Completes the task with what a handler may return. */
  async complete(value?: unknown): Promise<void> {
    await this.#end((rules) => outcomeOf(value, rules));
  }

  /** Fails the task with the JSON-RPC error of a `ProtocolError`; of any other error the client learns nothing. */
  async fail(error: unknown): Promise<void> {
    await this.#end(async () => outcomeOfError(error));
  }

  /** Tells in words what goes on. */
  async status(message: string): Promise<void> {
    await this.#record();
    await this.#options.registry.change(this.taskId, { type: "task.status", message });
  }

  /** Tells how far the work is. */
  async progress(done: number, total?: number, message?: string): Promise<void> {
    await this.status(progressMessage(done, total, message));
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
    await this.#record();
    await this.#options.registry.extend(this.taskId, ms);
  }

  async #record(): Promise<TaskRecord> {
    const record = await this.#options.registry.find(this.taskId);
    if (record === undefined) throw new TaskNotFoundError();
    return record;
  }

  async #end(outcomeBy: (rules: ResultRules) => Promise<Outcome>): Promise<void> {
    const { registry, run, rulesOf } = this.#options;
    const plain = run();
    if (plain !== undefined && !plain.isTask) {
      await plain.finish(await settled(outcomeBy, rulesOf(plain.tool)));
      return;
    }
    const outcome = await settled(outcomeBy, rulesOf((await this.#record()).tool));
    if (outcome.kind === "result") {
      await registry.change(this.taskId, { type: "task.complete", result: outcome.result });
    } else if (outcome.kind === "error") {
      await registry.change(this.taskId, { type: "task.fail", error: outcome.error });
    }
  }

  async #ask<Output>(name: string, question: Question<Output>): Promise<Output> {
    const { registry } = this.#options;
    checkAskable(question.request, (await this.#record()).askable);
    const key = `${name}-${createId().slice(0, 12)}`;
    const answer = new Promise<JsonObject>((resolve, reject) => {
      const unwatch = registry.watch(this.taskId, (record) => {
        const given = record.inputResponses[key];
        if (given === undefined && !isTerminal(record)) return;
        unwatch();
        if (given === undefined) reject(new AbortedError(record.statusMessage ?? `The task is ${record.status}`));
        else resolve(given);
      });
    });
    const asked = await registry.change(this.taskId, {
      type: "task.ask",
      inputRequests: { [key]: question.request },
    });
    if (!asked) throw new AbortedError("The task has ended");
    return question.read(await answer);
  }
}

async function settled(outcomeBy: (rules: ResultRules) => Promise<Outcome>, rules: ResultRules): Promise<Outcome> {
  try {
    return await outcomeBy(rules);
  } catch (error) {
    return outcomeOfError(error);
  }
}
