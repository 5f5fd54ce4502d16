import type { Registry } from "../registry/registry.ts";
import type { Clock } from "../task/clock.ts";
import { AbortedError, HostClosedError, missingTasksExtension } from "../task/errors.ts";
import type { InputRequests, JsonObject, JsonRpcError, TaskRecord, ToolResult } from "../task/task.ts";
import type { Schema } from "./context.ts";
import type { Outcome } from "./outcome.ts";
import { SHUT_DOWN, checkBytes } from "./outcome.ts";
import type { PolicyDefaults, TaskPolicy } from "./policy.ts";
import { resolvePolicy } from "./policy.ts";
import type { ToRequestedSchema } from "./questions.ts";
import { Rounds } from "./rounds.ts";
import type { Call, Handler, RunEnvironment } from "./run.ts";
import { Run } from "./run.ts";
import { Slots } from "./slots.ts";
import { TaskHandle } from "./task-handle.ts";

/** A tool, as far as running it goes. */
export interface Tool {
  readonly name: string;
  readonly policy: TaskPolicy;
  readonly outputSchema: Schema | undefined;
  readonly handler: Handler;
}

/** What a call is answered with. */
export type Answer =
  | { readonly kind: "result"; readonly result: ToolResult }
  | { readonly kind: "error"; readonly error: JsonRpcError }
  | { readonly kind: "task"; readonly record: TaskRecord }
  | { readonly kind: "input_required"; readonly inputRequests: InputRequests; readonly requestState: string };

export interface RunnerOptions {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly defaults: PolicyDefaults;
  /** How many handlers work at once. */
  readonly running: number;
  /** How many plain calls may wait for answers at once, and how long each, in milliseconds. */
  readonly rounds: number;
  readonly roundTtlMs: number;
  readonly argumentBytes: number;
  readonly resultBytes: number;
  readonly answerBytes: number;
  readonly toRequestedSchema: ToRequestedSchema;
  readonly onError: RunEnvironment["onError"];
}

/** Runs the tools of a host, and answers for the tasks that come of it. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #env: RunEnvironment;
  readonly #runs = new Map<string, Run>();
  readonly #rounds: Rounds;
  readonly #slots: Slots;
  #closed = false;
  #onIdle: (() => void) | undefined;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#slots = new Slots(options.running);
    this.#rounds = new Rounds({
      clock: options.clock,
      limit: options.rounds,
      ttlMs: options.roundTtlMs,
      onExpired: (run) => run.abort(new AbortedError("The questions were not answered in time")),
    });
    this.#env = {
      registry: options.registry,
      clock: options.clock,
      slots: this.#slots,
      toRequestedSchema: options.toRequestedSchema,
      onError: options.onError,
      onGone: (run) => {
        this.#runs.delete(run.taskId);
        if (this.#runs.size === 0) this.#onIdle?.();
      },
    };
  }

  /** How much is held, for tests and for figures. */
  get sizes(): { runs: number; rounds: number; taken: number; waiting: number } {
    return { runs: this.#runs.size, rounds: this.#rounds.size, ...this.#slots.sizes };
  }

  /**
   * Calls a tool with input that is valid. Throws `MissingCapabilityError`, `TooLargeError`, `QuotaExceededError` or
   * `HostClosedError`; whatever the handler does is in the answer.
   */
  async call(tool: Tool, input: unknown, call: Call): Promise<Answer> {
    if (this.#closed) throw new HostClosedError();
    checkBytes("The arguments", JSON.stringify(call.arguments), this.#options.argumentBytes, "argumentBytes");
    const { policy } = tool;
    const resolved = resolvePolicy(
      typeof policy === "function" ? await policy(input, call) : policy,
      this.#options.defaults,
      `The task policy of the tool "${tool.name}"`,
    );
    if (resolved.mode === "required" && !call.tasks) throw missingTasksExtension();
    const { resultBytes } = this.#options;
    const run = new Run(this.#env, call, resolved, { tool: tool.name, outputSchema: tool.outputSchema, resultBytes });
    this.#runs.set(run.taskId, run);
    if (call.tasks && resolved.mode !== "forbidden" && resolved.inlineWithinMs === 0) {
      try {
        await run.begin();
      } catch (error) {
        run.abort(new AbortedError("The task could not be made"));
        throw error;
      }
    }
    const answer = this.#turn(run, tool, call);
    void run.execute(tool.handler, input);
    return answer;
  }

  /** Goes on with a plain call that asked questions. Throws `InvalidRequestStateError` and `InvalidAnswerError`. */
  async resume(tool: Tool, requestState: unknown, responses: JsonObject, call: Call): Promise<Answer> {
    if (this.#closed) throw new HostClosedError();
    checkBytes("The answers", JSON.stringify(responses), this.#options.answerBytes, "answerBytes");
    const { principal, arguments: args } = call;
    const run = await this.#rounds.take(requestState, { principal, tool: tool.name, arguments: args }, (waiting) =>
      waiting.answer(responses),
    );
    return this.#turn(run, tool, call);
  }

  /** Answers a task's questions; resolves once the answers are stored. */
  async update(taskId: string, principal: string | undefined, responses: JsonObject): Promise<void> {
    await this.#options.registry.get(taskId, principal);
    checkBytes("The answers", JSON.stringify(responses), this.#options.answerBytes, "answerBytes");
    const run = this.#runs.get(taskId);
    await this.#options.registry.answer(taskId, responses, async (key, answer) => run?.refine(key, answer));
  }

  /** Cancels a task. One that has ended stays as it is. */
  async cancel(taskId: string, principal: string | undefined): Promise<void> {
    await this.#options.registry.get(taskId, principal);
    await this.#options.registry.change(taskId, {
      type: "task.cancel",
      message: "The task was cancelled by request.",
    });
  }

  /** A handle on a task for those that finish it from outside its handler. */
  task(taskId: string, toolOf: (name: string) => Tool | undefined): TaskHandle {
    return new TaskHandle(taskId, {
      registry: this.#options.registry,
      run: () => this.#runs.get(taskId),
      rulesOf: (name) => ({
        tool: name,
        outputSchema: toolOf(name)?.outputSchema,
        resultBytes: this.#options.resultBytes,
      }),
      toRequestedSchema: this.#options.toRequestedSchema,
    });
  }

  /** Takes no new work, waits up to `graceMs` milliseconds for what runs, and aborts the rest. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    const { clock, registry } = this.#options;
    if (this.#runs.size > 0 && graceMs > 0) {
      let timer: unknown;
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
        timer = clock.setTimeout(resolve, graceMs);
      });
      clock.clearTimeout(timer);
    }
    this.#rounds.clear();
    const left = [...this.#runs.values()];
    await Promise.allSettled(
      left.map(async (run) => {
        if (run.isTask) await registry.change(run.taskId, { type: "task.fail", error: SHUT_DOWN });
        run.abort(new AbortedError(SHUT_DOWN.message));
      }),
    );
  }

  async #turn(run: Run, tool: Tool, call: Call): Promise<Answer> {
    const turn = await run.turn(call);
    switch (turn.kind) {
      case "task":
        return turn;
      case "ended":
        return answerOf(turn.outcome);
      case "questions":
        try {
          const requestState = this.#rounds.wait(run, tool.name, call.arguments);
          return { kind: "input_required", inputRequests: turn.inputRequests, requestState };
        } catch (error) {
          run.abort(new AbortedError("The questions could not be asked"));
          throw error;
        }
    }
  }
}

function answerOf(outcome: Outcome): Answer {
  // An external outcome without a task waits in the run, so none comes here.
  return outcome.kind === "external" ? { kind: "error", error: SHUT_DOWN } : outcome;
}
