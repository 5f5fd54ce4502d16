import type { Registry } from "../registry/registry.ts";
import { checkedAnswers } from "../task/answers.ts";
import type { Clock } from "../task/clock.ts";
import { AbortedError } from "../task/errors.ts";
import { createId } from "../task/ids.ts";
import type { Askable, InputRequest, InputRequests, JsonObject, TaskRecord } from "../task/task.ts";
import { isTerminal } from "../task/task.ts";
import type { Call, Handler, Waiting } from "./call.ts";
import { HandlerContext } from "./handler-context.ts";
import type { Outcome, ResultRules } from "./outcome.ts";
import { isUnexpected, outcomeOf, outcomeOfError } from "./outcome.ts";
import type { ResolvedPolicy } from "./policy.ts";
import type { Question, ToRequestedSchema } from "./questions.ts";
import { checkAskable } from "./questions.ts";
import type { Slots } from "./slots.ts";

/** What every run of a host shares. */
export interface RunEnvironment {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly slots: Slots;
  readonly toRequestedSchema: ToRequestedSchema;
  readonly onError: (error: unknown, about: { taskId?: string; tool?: string }) => void;
  /** Called when nothing of a run is left to wait for. */
  readonly onGone: (run: Run) => void;
  /** Called when a run's handler is done, and its task waits for others to end it. */
  readonly onElsewhere: (run: Run) => void;
}

/** Why a waiting caller is answered. */
export type Turn =
  | { readonly kind: "task"; readonly record: TaskRecord }
  | { readonly kind: "questions"; readonly inputRequests: InputRequests }
  | { readonly kind: "ended"; readonly outcome: Outcome };

interface OpenQuestion {
  readonly question: Question<unknown>;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: unknown) => void;
}

/** Progress in words, for a task's `statusMessage`. */
export function progressMessage(done: number, total?: number, message?: string): string {
  const share = total === undefined ? `${done}` : `${done}/${total}`;
  return message === undefined ? share : `${message} (${share})`;
}

const QUEUED = "Waiting for a free slot";

/**
 * One execution of a tool's handler. It starts as a call and may become a task; the handler cannot tell the
 * difference.
 */
export class Run {
  readonly taskId = createId();
  readonly #env: RunEnvironment;
  readonly principal: string | undefined;
  readonly #arguments: JsonObject;
  readonly #askable: Askable;
  /** Whether this call may become a task at all. */
  readonly #canBegin: boolean;
  readonly #policy: ResolvedPolicy;
  readonly #rules: ResultRules;
  /** Made when somebody looks at the signal: most runs of a hundred thousand never do. */
  #controller: AbortController | undefined;
  #aborted: AbortedError | undefined;
  #outcome: Outcome | undefined;
  #begun: Promise<TaskRecord> | undefined;
  #isTask = false;
  #statusMessage: string | undefined;
  #open: Map<string, OpenQuestion> | undefined;
  #keys = 0;
  #hasSlot = false;
  #hasReturned = false;
  #takingSlot: Promise<void> | undefined;
  #onTurn: (() => void) | undefined;
  /** The request that waits. It goes when it is answered: a task must not hold on to what served its request. */
  #waiting: Waiting | undefined;

  constructor(env: RunEnvironment, call: Call, policy: ResolvedPolicy, rules: ResultRules) {
    this.#env = env;
    this.principal = call.principal;
    this.#arguments = call.arguments;
    this.#askable = call.askable;
    this.#canBegin = call.tasks && policy.mode !== "forbidden";
    this.#policy = policy;
    this.#rules = rules;
  }

  get tool(): string {
    return this.#rules.tool;
  }

  get isTask(): boolean {
    return this.#isTask;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  get env(): RunEnvironment {
    return this.#env;
  }

  /** Whether nothing can come of this run any more. Work that goes on elsewhere has not ended with its handler. */
  get #isOver(): boolean {
    return this.#aborted !== undefined || (this.#outcome !== undefined && this.#outcome.kind !== "external");
  }

  /** Runs the handler to its end. Never rejects. */
  async execute(handler: Handler, input: unknown): Promise<void> {
    if (this.#isOver) return;
    if (!this.#env.slots.tryTake()) {
      this.status(QUEUED);
      if (!(await this.#env.slots.take(this.signal))) return;
      if (this.#isOver) {
        // The run ended just when its turn had come.
        this.#env.slots.free();
        return;
      }
      this.status(undefined);
    }
    this.#hasSlot = true;
    let outcome: Outcome;
    try {
      outcome = await outcomeOf(await handler(input, new HandlerContext(this)), this.#rules);
    } catch (error) {
      if (this.#aborted === undefined && isUnexpected(error)) this.#report(error);
      outcome = outcomeOfError(error);
    }
    this.#hasReturned = true;
    this.#freeSlot();
    await this.finish(outcome);
  }

  /** Ends the run. The first end wins. */
  async finish(outcome: Outcome): Promise<void> {
    if (this.#outcome !== undefined || this.#aborted !== undefined) return;
    if (outcome.kind === "external" && !this.#canBegin) return; // A plain call waits for whoever completes it.
    this.#outcome = outcome;
    this.#onTurn?.();
    if (outcome.kind === "external") return this.#goElsewhere();
    if (this.#open !== undefined) {
      this.#rejectOpen(new AbortedError("The work was done before the question was answered"));
    }
    if (this.#begun !== undefined) await this.#settle(outcome);
    if (this.#hasReturned) this.#leave();
    else this.abort(new AbortedError("The call was ended from outside its handler"));
  }

  /** Leaves the work to others, who may still want the signal and the answers to their questions. */
  async #goElsewhere(): Promise<void> {
    try {
      await this.begin();
    } catch {
      // Whoever called has been told.
      this.#leave();
      return;
    }
    if (this.#aborted === undefined) this.#env.onElsewhere(this);
  }

  /** Makes the call a task, and resolves once it is stored. */
  begin(): Promise<TaskRecord> {
    this.#begun ??= this.#create();
    return this.#begun;
  }

  /** Resolves once it is certain whether the call is a task: at once, unless it is just becoming one. */
  async becoming(): Promise<void> {
    await this.#begun?.catch(() => {});
  }

  /** `begin`, where the client declared the extension. */
  async beginIfTasks(): Promise<void> {
    if (!this.#canBegin) return;
    await this.begin();
    this.#onTurn?.();
  }

  /**
   * Waits until there is something to answer the caller with: the run's end, questions, or a task, which it becomes
   * at the latest after `inlineWithinMs`. When the caller goes away first, the run is aborted.
   */
  async turn(waiting: Waiting): Promise<Turn> {
    this.#waiting = waiting;
    const { signal } = waiting;
    const { clock } = this.#env;
    const { inlineWithinMs } = this.#policy;
    const onAbort = () => this.withdraw(new AbortedError("The request was cancelled"));
    let late = this.#canBegin && inlineWithinMs === 0;
    const timer =
      this.#canBegin && !late && inlineWithinMs !== Number.POSITIVE_INFINITY
        ? clock.setTimeout(() => {
            late = true;
            this.#onTurn?.();
          }, inlineWithinMs)
        : undefined;
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        if (this.#begun !== undefined) return { kind: "task", record: await this.#begun };
        if (this.#outcome !== undefined) return { kind: "ended", outcome: this.#outcome };
        if (this.#aborted !== undefined) throw this.#aborted;
        const asks = this.#open !== undefined && this.#open.size > 0;
        if (late || (asks && this.#canBegin && inlineWithinMs !== Number.POSITIVE_INFINITY)) {
          return { kind: "task", record: await this.begin() };
        }
        if (asks) return { kind: "questions", inputRequests: this.openRequests };
        await new Promise<void>((resolve) => {
          this.#onTurn = resolve;
        });
      }
    } catch (error) {
      // No task could be made of it: nobody would ever hear of this run again.
      this.withdraw(new AbortedError("The call could not become a task"));
      throw error;
    } finally {
      this.#onTurn = undefined;
      this.#waiting = undefined;
      clock.clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /**
   * Stops the run: its signal fires, its questions and slot are let go, whatever the handler does. It is too late for
   * that when the handler has returned, unless its work goes on elsewhere.
   */
  abort(reason: AbortedError): void {
    if (this.#aborted !== undefined || (this.#isOver && this.#hasReturned)) return;
    this.#aborted = reason;
    this.#rejectOpen(reason);
    this.#controller?.abort(reason);
    this.#freeSlot();
    this.#onTurn?.();
    // A task that is just being made ends before its run is let go.
    if (this.#begun !== undefined && !this.#isTask) void this.becoming().then(() => this.#leave());
    else this.#leave();
  }

  /** Stops the run, and cancels the task that it is, of which nobody will ever hear: the requestor has gone. */
  withdraw(reason: AbortedError): void {
    this.abort(reason);
    if (this.#isTask) this.#change({ type: "task.cancel", message: reason.message });
  }

  status(message: string | undefined): void {
    if (this.#isOver) return;
    this.#statusMessage = message;
    if (this.#isTask) this.#change({ type: "task.status", message });
    if (this.progressTtlMs !== undefined) this.extend(this.progressTtlMs);
  }

  /** How long the task lives on from each word of progress, where its policy says that progress extends its life. */
  get progressTtlMs(): number | undefined {
    return this.#policy.extendOnProgress ? (this.#policy.ttlMs ?? undefined) : undefined;
  }

  progress(done: number, total?: number, message?: string): void {
    if (!this.#isTask) this.#waiting?.notifyProgress?.(done, total, message);
    this.status(progressMessage(done, total, message));
  }

  extend(ms: number): void {
    if (!this.#isTask || this.#isOver) return;
    void this.#env.registry.extend(this.taskId, ms).catch((error: unknown) => this.#report(error));
  }

  /** Throws `MissingCapabilityError` when the client cannot be asked such a question. */
  checkAskable(request: InputRequest): void {
    checkAskable(request, this.#askable);
  }

  /** Asks a question and waits for its answer, without a slot. */
  async ask<Output>(name: string, question: Question<Output>): Promise<Output> {
    const answer = this.#put(name, question);
    this.#freeSlot();
    const given = await answer;
    await this.#retakeSlot();
    return question.read(given);
  }

  /** Asks a question for work that is done elsewhere, and has no slot. Resolves to the answer as it came. */
  async askElsewhere(name: string, question: Question<unknown>): Promise<JsonObject> {
    return this.#put(name, question);
  }

  #put(name: string, question: Question<unknown>): Promise<JsonObject> {
    if (this.#aborted !== undefined) throw this.#aborted;
    if (this.#isOver) throw new AbortedError("The work was done before the question was asked");
    this.checkAskable(question.request);
    this.#keys += 1;
    const key = `${name}-${this.#keys}`;
    const answer = new Promise<JsonObject>((resolve, reject) => {
      this.#open ??= new Map();
      this.#open.set(key, { question, resolve, reject });
    });
    if (this.#isTask) this.#change({ type: "task.ask", inputRequests: { [key]: question.request } });
    else this.#onTurn?.();
    return answer;
  }

  /** Waits without a slot. */
  async sleep(ms: number): Promise<void> {
    const { clock } = this.#env;
    const { signal } = this;
    if (this.#aborted !== undefined) throw this.#aborted;
    this.#freeSlot();
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        clock.clearTimeout(timer);
        reject(signal.reason as AbortedError);
      };
      const timer = clock.setTimeout(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      signal.addEventListener("abort", onAbort, { once: true });
    });
    await this.#retakeSlot();
  }

  /** The questions that are open now. */
  get openRequests(): InputRequests {
    const requests: Record<string, InputRequest> = {};
    for (const [key, { question }] of this.#open ?? []) requests[key] = question.request;
    return requests;
  }

  /** What the asker of an open question finds wrong with an answer. */
  async refine(key: string, answer: JsonObject): Promise<string | undefined> {
    return this.#open?.get(key)?.question.refine?.(answer);
  }

  /** Answers a plain call's questions. Throws `InvalidAnswerError`, and then nothing is answered. */
  async answer(responses: JsonObject): Promise<void> {
    const answers = await checkedAnswers(this.openRequests, responses, (key, answer) => this.refine(key, answer));
    if (this.#begun === undefined) return this.#deliver(answers);
    // It became a task while the requestor was away, and its questions are the task's now.
    await this.#begun;
    await this.#env.registry.change(this.taskId, { type: "task.answer", inputResponses: answers });
  }

  #deliver(answers: { readonly [key: string]: JsonObject }): void {
    for (const [key, answer] of Object.entries(answers)) {
      const open = this.#open?.get(key);
      if (open === undefined) continue;
      this.#open?.delete(key);
      open.resolve(answer);
    }
  }

  #rejectOpen(reason: AbortedError): void {
    const open = this.#open;
    this.#open = undefined;
    for (const { reject } of open?.values() ?? []) reject(reason);
  }

  async #create(): Promise<TaskRecord> {
    const { registry } = this.#env;
    const record = await registry.create(
      {
        taskId: this.taskId,
        principal: this.principal,
        tool: this.#rules.tool,
        arguments: this.#arguments,
        askable: this.#askable,
        statusMessage: this.#statusMessage,
        ttlMs: this.#policy.ttlMs,
        pollIntervalMs: this.#policy.pollIntervalMs,
      },
      (changed) => this.#onRecord(changed),
    );
    this.#isTask = true;
    if (this.#aborted !== undefined) {
      // The requestor left while the task was being made: nobody knows of it.
      await registry.change(this.taskId, { type: "task.cancel", message: this.#aborted.message });
      throw this.#aborted;
    }
    const inputRequests = this.openRequests;
    await Promise.all([
      this.#statusMessage !== record.statusMessage &&
        registry.change(this.taskId, { type: "task.status", message: this.#statusMessage }),
      Object.keys(inputRequests).length > 0 && registry.change(this.taskId, { type: "task.ask", inputRequests }),
    ]);
    return (await registry.find(this.taskId)) ?? record;
  }

  #onRecord(record: TaskRecord): void {
    // Nearly always it is the run's own end that is told.
    if (this.#isOver && this.#hasReturned) return;
    if (isTerminal(record)) this.abort(new AbortedError(record.statusMessage ?? `The task is ${record.status}`));
    else if (this.#open !== undefined && this.#open.size > 0) this.#deliver(record.inputResponses);
  }

  /** Ends the task as the run ended. */
  async #settle(outcome: Outcome): Promise<void> {
    try {
      await this.#begun;
      if (outcome.kind === "result") {
        await this.#env.registry.change(this.taskId, { type: "task.complete", result: outcome.result });
      } else if (outcome.kind === "error") {
        await this.#env.registry.change(this.taskId, { type: "task.fail", error: outcome.error });
      }
    } catch {
      // A task that was never made has told its caller; a store that fails tells `onError`, and is tried again.
    }
  }

  #change(change: Parameters<Registry["change"]>[1]): void {
    // A store that fails has told `onError`.
    void this.#env.registry.change(this.taskId, change).catch(() => {});
  }

  #leave(): void {
    this.#env.onGone(this);
  }

  #report(error: unknown): void {
    this.#env.onError(error, { taskId: this.taskId, tool: this.#rules.tool });
  }

  #freeSlot(): void {
    if (!this.#hasSlot) return;
    this.#hasSlot = false;
    this.#env.slots.free();
  }

  async #retakeSlot(): Promise<void> {
    if (this.#hasSlot || this.#hasReturned) return;
    this.#takingSlot ??= this.#env.slots.take(this.signal).then((taken) => {
      this.#hasSlot = taken;
      this.#takingSlot = undefined;
      if (taken && (this.#hasReturned || this.#aborted !== undefined)) this.#freeSlot();
    });
    await this.#takingSlot;
    if (this.#aborted !== undefined) throw this.#aborted;
  }
}
