import { openQuestions } from "../../machines/follow.ts";
import type { FollowContext, FollowEnd } from "../../machines/follow.ts";
import type { Follower, Followers } from "../registry/followers.ts";
import type { Clock } from "../task/clock.ts";
import { ErrandError } from "../task/errors.ts";
import type { DetailedTask, Task, ToolResult } from "../task/task.ts";
import { isTerminal } from "../task/task.ts";
import { callUntilAnswered } from "./call.ts";
import type { CallParams, Connection } from "./connection.ts";
import type { WaitState } from "./errors.ts";
import { InputHandlerError, TaskFailedError, WaitTimeoutError } from "./errors.ts";
import { Events } from "./events.ts";
import { toRequestFailure } from "./failures.ts";
import type { Answerer } from "./input.ts";
import { answererOf } from "./input.ts";
import type { ResolvedWait } from "./options.ts";
import type { Outcome } from "./outcome.ts";
import { errorOf, resultOf } from "./outcome.ts";
import { Questions } from "./questions.ts";
import { checkServer, isUrl, writeReference } from "./reference.ts";
import { unless } from "./within.ts";

/** A change of what is waited for: a state of the task, or the result of a call that was answered inline. */
export type StatusEvent =
  | DetailedTask
  | { taskId?: undefined; status: "completed"; statusMessage?: undefined; result: ToolResult };

/** Called with every state of the task, its end included, in order; the next waits until it is done. */
export type OnTaskStatus = (task: DetailedTask) => void | Promise<void>;

/** Options of `result` and `outcome`. */
export interface ResultOptions {
  /** Hears of every state of the task; of a call that is answered inline, nothing. What it throws ends `result`. */
  onTaskStatus?: OnTaskStatus | undefined;
}

/** What is waited for: a call to make, or a task that is there. */
export type Subject =
  | { readonly call: CallParams }
  | {
      readonly taskId: string;
      readonly task: DetailedTask | undefined;
      readonly tool: string | undefined;
      readonly server: string | undefined;
      readonly answered: readonly string[];
    };

export interface PendingRequestOptions {
  readonly connection: Connection;
  readonly followers: Followers;
  readonly clock: Clock;
  readonly wait: ResolvedWait;
  /** Hears of every state of the task. */
  readonly onTask: (task: DetailedTask) => void;
  readonly onEnd: () => void;
}

/**
 * A call that is under way, or a task that is followed: what `beginCallTool`, `follow` and `resume` give, at once. It
 * goes on by itself until it ends, whether its result is asked for or not. Iterating over it gives the newest state and
 * from there each change once, the last of them terminal, and throws what `result` does where the wait ends before the
 * task. Of more than 1 000 states that wait for a slow reader, it misses the oldest.
 */
export class PendingRequest implements AsyncIterable<StatusEvent> {
  /**
   * The task that the call became; `undefined` when it was answered inline. Rejects as `result` does when the wait ended
   * before either, or when the call asks something before it is a task.
   */
  readonly created: Promise<Task | undefined>;
  readonly #options: PendingRequestOptions;
  readonly #subject: Subject;
  readonly #events = new Events<StatusEvent>();
  readonly #created = Promise.withResolvers<Task | undefined>();
  readonly #ended = Promise.withResolvers<Outcome>();
  /** Fires when the wait is over, and gives up whatever is under way for it. */
  readonly #over = new AbortController();
  readonly #timer: unknown;
  /** When the wait is over at the latest. */
  readonly #until: number;
  #taskId: string | undefined;
  #follower: Follower | undefined;
  #known: FollowContext | undefined;
  #answerer: Answerer | undefined;
  #questions: Questions | undefined;
  #told = "";

  /** @internal */
  constructor(subject: Subject, options: PendingRequestOptions) {
    this.#subject = subject;
    this.#options = options;
    this.created = this.#created.promise;
    this.created.catch(() => {}); // Whoever asks for it hears of it.
    const { clock, wait } = options;
    const { timeoutMs, signal } = wait;
    if (!("call" in subject)) this.#taskId = subject.taskId;
    this.#until = clock.now() + timeoutMs;
    if (timeoutMs !== Number.POSITIVE_INFINITY) {
      this.#timer = clock.setTimeout(() => {
        const state = this.#state();
        this.#end({ status: "timed_out", error: new WaitTimeoutError(this.#taskId, timeoutMs, state, this.#known?.failure), ...state });
      }, timeoutMs);
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    // Not before the caller has it in hand.
    queueMicrotask(() => {
      if (signal?.aborted === true) this.#onAbort();
      if (!this.#isOver) this.#run().catch((error: unknown) => this.#fail(error));
    });
  }

  /** The id of the task, once there is one. */
  get taskId(): string | undefined {
    return this.#taskId;
  }

  /** The newest state of the task that was read. */
  get task(): DetailedTask | undefined {
    return this.#known?.task ?? ("call" in this.#subject ? undefined : this.#subject.task);
  }

  /** The name of the tool, where it is known. */
  get tool(): string | undefined {
    return "call" in this.#subject ? this.#subject.call.name : this.#subject.tool;
  }

  /**
   * The result of the call, however long it takes. Rejects with the error that `Outcome` has in its place. It may be
   * asked for again and again.
   */
  async result(options: ResultOptions = {}): Promise<ToolResult> {
    await this.#tell(options.onTaskStatus);
    return resultOf(await this.#ended.promise);
  }

  /** How the call ended, or the wait for it. Rejects only with what `onTaskStatus` throws. */
  async outcome(options: ResultOptions = {}): Promise<Outcome> {
    await this.#tell(options.onTaskStatus);
    return this.#ended.promise;
  }

  [Symbol.asyncIterator](): AsyncGenerator<StatusEvent, void, undefined> {
    return this.#events[Symbol.asyncIterator]();
  }

  /**
   * What `resume` takes, here or in another process, to go on waiting: the server, the task, and which questions were
   * answered, but no credentials. Throws `TypeError` where there is no task (yet).
   */
  reference(): string {
    const reference = this.#reference();
    if (reference === undefined) throw new TypeError("There is no task to refer to (yet): await pending.created first.");
    return reference;
  }

  /**
   * Leaves the wait, whose outcome is then `detached`; the task keeps running. A call that is no task yet is given up, and
   * the task that it may still become is cancelled.
   */
  detach(): void {
    this.#end({ status: "detached", ...this.#state() });
  }

  /**
   * Cancels the task (`tasks/cancel`), and resolves once the server has taken note; the outcome says how it ended. A call
   * that is no task yet is given up, and the task that it may still become is cancelled. Rejects with
   * `RequestFailedError`.
   */
  async cancel(): Promise<void> {
    const { connection } = this.#options;
    const taskId = this.#taskId;
    if (taskId === undefined) return this.#end({ status: "cancelled", task: undefined });
    // The wait may be over, and the task go on.
    if (this.task !== undefined && isTerminal(this.task)) return;
    // That it was cancelled may be told before the server has said that it took note.
    const ended = this.#isOver ? [] : [this.#ended.promise];
    const noted = connection.cancel(taskId);
    noted.catch(() => {});
    await Promise.race([noted, ...ended]);
    if (this.#isOver) return;
    // The next look may be minutes away.
    const task = await connection.look(taskId, this.#over.signal).catch(() => undefined);
    if (task !== undefined) this.#follower?.take(task);
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  readonly #onAbort = (): void => {
    this.#end({ status: "aborted", reason: this.#options.wait.signal?.reason, ...this.#state() });
  };

  async #run(): Promise<void> {
    const { connection, clock, wait } = this.#options;
    const { signal } = this.#over;
    const answerer = await answererOf(wait.input, connection, signal);
    if (!("call" in this.#subject)) return this.#resume(answerer, this.#subject);
    const answer = await callUntilAnswered(this.#subject.call, {
      connection,
      clock,
      answerer,
      signal,
      onProgress: wait.onProgress,
    });
    if (this.#isOver) return;
    switch (answer.type) {
      case "result":
        this.#created.resolve(undefined);
        this.#events.push({ status: "completed", result: answer.result });
        return this.#end({ status: "completed", result: answer.result, task: undefined });
      case "input_required": {
        const { inputRequests, requestState } = answer;
        return this.#end({ status: "input_required", inputRequests, requestState, ...this.#state() });
      }
      case "task": {
        const { task } = answer;
        this.#created.resolve(task);
        // Anything else than `working` brings more than a seed has.
        return this.#follow(task.taskId, task.status === "working" ? { ...task, status: task.status } : undefined, answerer);
      }
    }
  }

  async #resume(answerer: Answerer, { taskId, task, server }: Exclude<Subject, { call: CallParams }>): Promise<void> {
    const { connection } = this.#options;
    if (server !== undefined && !isUrl(server)) {
      await connection.client(this.#over.signal);
      checkServer(server, connection.server);
    }
    if (!this.#isOver) this.#follow(taskId, task?.status === "working" ? task : undefined, answerer);
  }

  #follow(taskId: string, task: DetailedTask | undefined, answerer: Answerer): void {
    const { followers, wait } = this.#options;
    const { mode, pollIntervalMs, minPollIntervalMs, maxPollIntervalMs } = wait;
    // Once at least within a wait: an end that nobody told is not to be missed.
    const silenceMs = Math.min(maxPollIntervalMs, wait.timeoutMs / 2);
    this.#taskId = taskId;
    this.#answerer = answerer;
    const answered = "call" in this.#subject ? [] : this.#subject.answered;
    const answers = answerer.answers.bind(answerer);
    this.#follower = followers.follow(
      { taskId, task, mode, pollIntervalMs, minPollIntervalMs, maxPollIntervalMs, silenceMs, answered, answers },
      (context) => this.#onChange(context),
    );
    // Whoever was told the first state may have left.
    if (this.#isOver) this.#follower.leave();
    void this.#follower.ended.then((end) => this.#onFollowed(end));
  }

  #onChange(context: FollowContext): void {
    if (this.#isOver) return;
    const isNew = context.task !== this.#known?.task;
    this.#known = context;
    const { task } = context;
    if (task === undefined) return;
    if (isNew) {
      const visible = visiblePart(task);
      if (visible !== this.#told) {
        this.#told = visible;
        if (!("call" in this.#subject)) this.#created.resolve(task);
        this.#events.push(task);
        this.#options.onTask(task);
      }
    }
    const open = openQuestions(context);
    // One that nobody answers ends the wait: then no handler runs at all.
    if (open.some(([, question]) => !context.answers(question))) return;
    // Few tasks ask anything.
    if (open.length > 0) this.#questions ??= this.#startAsking(context.taskId);
    this.#questions?.update(task, open);
  }

  #startAsking(taskId: string): Questions | undefined {
    const { connection, clock } = this.#options;
    if (this.#answerer === undefined) return undefined;
    return new Questions({
      answerer: this.#answerer,
      clock,
      send: (responses, signal) => connection.update(taskId, responses, signal),
      isOpen: async (keys, signal) => {
        const { answered } = this.#known ?? { answered: [] };
        const open = openQuestions({ task: await connection.look(taskId, signal), answered });
        return open.some(([key]) => keys.includes(key));
      },
      onAnswered: (key) => this.#follower?.answered(key),
      onFailed: (key, error) => void this.#onInputFailed(key, error),
    });
  }

  #onFollowed(end: FollowEnd): void {
    const { task } = this;
    if (end.type === "lost") return this.#fail(end.error);
    if (end.type === "left" || task === undefined) return;
    switch (task.status) {
      case "completed":
        return this.#end({ status: "completed", result: task.result, task });
      case "failed":
        return this.#end({ status: "failed", error: new TaskFailedError(task, task.error), task });
      case "cancelled":
        return this.#end({ status: "cancelled", task });
      case "input_required": {
        const inputRequests = Object.fromEntries(this.#known === undefined ? [] : openQuestions(this.#known));
        return this.#end({ status: "input_required", inputRequests, requestState: undefined, ...this.#state() });
      }
      case "working": // It neither ended nor asks.
    }
  }

  async #onInputFailed(key: string | undefined, cause: unknown): Promise<void> {
    const { connection, wait } = this.#options;
    let cancelled = false;
    // This is how the wait ends, whatever the others answer, and whatever is told of a task that is cancelled for it.
    this.#questions?.close(cause);
    this.#follower?.leave();
    if (wait.cancelOnInputError && this.#taskId !== undefined) {
      cancelled = await unless(this.#over.signal, () => connection.cancel(this.#taskId ?? "")).then(
        () => true,
        () => false,
      );
    }
    this.#fail(new InputHandlerError(key, cause, cancelled, this.#state()));
  }

  #fail(error: unknown): void {
    const known = error instanceof ErrandError ? error : toRequestFailure(error);
    this.#end({ status: "failed", error: known, task: this.task });
  }

  #end(outcome: Outcome): void {
    if (this.#isOver) return;
    const { clock, wait, onEnd } = this.#options;
    clock.clearTimeout(this.#timer);
    wait.signal?.removeEventListener("abort", this.#onAbort);
    const error = outcome.status === "completed" ? undefined : errorOf(outcome);
    this.#over.abort(error ?? new Error("The wait is over"));
    this.#questions?.close(this.#over.signal.reason);
    this.#follower?.leave();
    this.#created.reject(error);
    this.#events.end(isTaskEnd(outcome) ? {} : { error });
    this.#ended.resolve(outcome);
    onEnd();
  }

  #state(): WaitState {
    return { task: this.task, reference: this.#reference() };
  }

  #reference(): string | undefined {
    const taskId = this.#taskId;
    if (taskId === undefined) return undefined;
    const begun = "call" in this.#subject ? undefined : this.#subject;
    return writeReference({
      server: this.#options.connection.server ?? begun?.server,
      taskId,
      tool: this.tool,
      answered: this.#known?.answered ?? begun?.answered ?? [],
    });
  }

  /** Tells every state to a listener, which is waited for no longer than the wait itself may take. */
  async #tell(onTaskStatus: OnTaskStatus | undefined): Promise<void> {
    if (onTaskStatus === undefined) return;
    const telling = this.#tellAll(onTaskStatus);
    const ended = this.#ended.promise.then(isTaskEnd);
    const hasTaskEnded = await Promise.race([telling, ended]);
    if (hasTaskEnded !== true) return;
    const { clock } = this.#options;
    const limit = Promise.withResolvers<void>();
    const timer = clock.setTimeout(limit.resolve, this.#until - clock.now());
    await Promise.race([telling, limit.promise]).finally(() => clock.clearTimeout(timer));
  }

  async #tellAll(onTaskStatus: OnTaskStatus): Promise<void> {
    const events = this[Symbol.asyncIterator]();
    try {
      for (;;) {
        // That the wait ended otherwise than the task is what `outcome` says.
        const next = await events.next().catch(() => undefined);
        if (next === undefined || next.done === true) return;
        if (next.value.taskId !== undefined) await onTaskStatus(next.value);
      }
    } finally {
      await events.return();
    }
  }
}

/** Whether an outcome is the end of what was waited for, and not of the wait alone. */
function isTaskEnd(outcome: Outcome): boolean {
  switch (outcome.status) {
    case "completed":
      return true;
    case "failed":
      return outcome.error instanceof TaskFailedError;
    case "cancelled":
      return outcome.task !== undefined;
    default:
      return false;
  }
}

/** What of a task a person would see change. */
function visiblePart(task: DetailedTask): string {
  const { status, statusMessage, ttlMs } = task;
  const questions = task.status === "input_required" ? Object.keys(task.inputRequests) : [];
  return JSON.stringify([status, statusMessage, ttlMs, questions]);
}
