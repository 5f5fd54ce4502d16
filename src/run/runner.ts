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
import type { Call, Handler } from "./call.ts";
import type { RunEnvironment } from "./run.ts";
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

const NO_ARGUMENTS: JsonObject = Object.freeze({});

/** Runs the tools of a host, and answers for the tasks that come of it. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #env: RunEnvironment;
  /** The runs whose handlers work, sleep or wait. */
  readonly #runs = new Map<string, Run>();
  /** The runs whose work is done by others. */
  readonly #elsewhere = new Map<string, Run>();
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
      onExpired: (run) => run.withdraw(new AbortedError("The questions were not answered in time")),
    });
    this.#env = {
      registry: options.registry,
      clock: options.clock,
      slots: this.#slots,
      toRequestedSchema: options.toRequestedSchema,
      onError: options.onError,
      onGone: (run) => {
        this.#elsewhere.delete(run.taskId);
        this.#forget(run);
      },
      onElsewhere: (run) => {
        this.#elsewhere.set(run.taskId, run);
        this.#forget(run);
      },
    };
  }

  /** How much is held, for tests and for figures. */
  get sizes(): { runs: number; elsewhere: number; rounds: number; taken: number; waiting: number } {
    const { size: runs } = this.#runs;
    return { runs, elsewhere: this.#elsewhere.size, rounds: this.#rounds.size, ...this.#slots.sizes };
  }

  /**
   * Calls a tool with input that is valid. Throws `MissingCapabilityError`, `TooLargeError`, `QuotaExceededError` or
   * `HostClosedError`; whatever the handler does is in the answer.
   */
  async call(tool: Tool, input: unknown, given: Call): Promise<Answer> {
    if (this.#closed) throw new HostClosedError();
    const json = JSON.stringify(given.arguments);
    checkBytes("The arguments", json, this.#options.argumentBytes, "argumentBytes");
    // A handler may do to its input what it likes; the record and the rounds keep what came.
    const call: Call = { ...given, arguments: json === "{}" ? NO_ARGUMENTS : (JSON.parse(json) as JsonObject) };
    const { policy } = tool;
    const resolved = resolvePolicy(
      typeof policy === "function" ? await policy(input, call) : policy,
      this.#options.defaults,
      `The task policy of the tool "${tool.name}"`,
    );
    if (resolved.mode === "required" && !call.tasks) throw missingTasksExtension();
    if (this.#closed) throw new HostClosedError();
    const { resultBytes } = this.#options;
    const run = new Run(this.#env, call, resolved, { tool: tool.name, outputSchema: tool.outputSchema, resultBytes });
    this.#runs.set(run.taskId, run);
    if (call.tasks && resolved.mode !== "forbidden" && resolved.inlineWithinMs === 0) {
      try {
        await run.begin();
      } catch (error) {
        run.withdraw(new AbortedError("The task could not be made"));
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
    const run = await this.#rounds.take(requestState, { ...call, tool: tool.name }, (waiting) =>
      waiting.answer(responses),
    );
    return this.#turn(run, tool, call);
  }

  /** Answers a task's questions; resolves once the answers are stored. */
  async update(taskId: string, principal: string | undefined, responses: JsonObject): Promise<void> {
    await this.#options.registry.get(taskId, principal);
    checkBytes("The answers", JSON.stringify(responses), this.#options.answerBytes, "answerBytes");
    const run = this.#runOf(taskId);
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
      run: () => this.#runOf(taskId),
      rulesOf: (name) => ({
        tool: name,
        outputSchema: toolOf(name)?.outputSchema,
        resultBytes: this.#options.resultBytes,
      }),
      toRequestedSchema: this.#options.toRequestedSchema,
      onError: this.#options.onError,
    });
  }

  /**
   * Takes no new work, waits up to `graceMs` milliseconds for what runs, and aborts the rest. Resolves once nothing of
   * it is left but what handlers do who do not look at their signal.
   */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    const { clock, registry } = this.#options;
    if (graceMs > 0) {
      let timer: unknown;
      const graceIsOver = new Promise<void>((resolve) => (timer = clock.setTimeout(resolve, graceMs)));
      await Promise.race([this.#idle(), graceIsOver]);
      clock.clearTimeout(timer);
    }
    this.#rounds.close();
    const reason = new AbortedError(SHUT_DOWN.message);
    await Promise.allSettled(
      [...this.#runs.values()].map(async (run) => {
        try {
          if (run.isTask) await registry.change(run.taskId, { type: "task.fail", error: SHUT_DOWN });
        } finally {
          run.abort(reason);
        }
      }),
    );
    // Tasks whose work is done elsewhere go on without this process.
    for (const run of this.#elsewhere.values()) run.abort(reason);
    // Ends that are being stored, and tasks that are being made.
    await this.#idle();
  }

  #runOf(taskId: string): Run | undefined {
    return this.#runs.get(taskId) ?? this.#elsewhere.get(taskId);
  }

  #forget(run: Run): void {
    this.#runs.delete(run.taskId);
    if (this.#runs.size === 0) this.#onIdle?.();
  }

  /** Resolves when no handler works any more. */
  async #idle(): Promise<void> {
    if (this.#runs.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
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
          const requestState = this.#rounds.wait(run, { ...call, tool: tool.name });
          return { kind: "input_required", inputRequests: turn.inputRequests, requestState };
        } catch (error) {
          run.withdraw(new AbortedError("The questions could not be asked"));
          throw error;
        }
    }
  }
}

function answerOf(outcome: Outcome): Answer {
  // An external outcome without a task waits in the run, so none comes here.
  return outcome.kind === "external" ? { kind: "error", error: SHUT_DOWN } : outcome;
}
