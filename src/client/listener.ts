import type { FollowEvent } from "../../machines/follow.ts";
import type { Clock } from "../task/clock.ts";
import { RpcCode } from "../task/errors.ts";
import type { JsonObject } from "../task/task.ts";
import { isJsonObject } from "../task/task.ts";
import { fromDetailedTask } from "../wire/2026-07-28.client.ts";
import type { RequestOptions } from "./channel.ts";
import { RequestFailedError } from "./errors.ts";

/** How many tasks one stream is about at most, until a server bounds it further. */
const TASKS_PER_STREAM = 1_000;
/** A stream of so many tasks or fewer is never left beside a new one. */
const SMALL = 64;
/** How long tasks are gathered for the next stream. */
const GATHER_MS = 10;

type Tell = (event: FollowEvent) => void;

/** One that is listened to, by everyone who follows it here. */
interface Heard {
  readonly tells: Set<Tell>;
  /** The stream that is acknowledged for it. */
  stream: Stream | undefined;
}

/** One `subscriptions/listen`. */
interface Stream {
  /** What it was opened for. */
  readonly taskIds: readonly string[];
  /** What is heard on it and wanted still. */
  readonly heard: Set<string>;
  readonly over: AbortController;
}

export interface ListenerOptions {
  readonly clock: Clock;
  /** Sends a `subscriptions/listen` for tasks. Resolves when the server ends it in order. */
  readonly request: (taskIds: string[], options: RequestOptions) => Promise<JsonObject>;
}

/**
 * Listens to tasks for all who follow them on one connection (Tasks, "Task Status Notifications"). What a stream is
 * about cannot be changed, so a new task comes with a new stream, which takes the place of the last ones that are small
 * or no larger: a few streams in all, and a few for each task, however many tasks there are.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #heard = new Map<string, Heard>();
  #streams: Stream[] = [];
  #tasksPerStream = TASKS_PER_STREAM;
  #gathering: unknown;
  #opening: Stream | undefined;
  /** Why the server listens to nothing. */
  #refusal: RequestFailedError | undefined;
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Tells what is heard of a task, until the returned function is called. */
  add(taskId: string, tell: Tell): () => void {
    let heard = this.#heard.get(taskId);
    if (heard === undefined) this.#heard.set(taskId, (heard = { tells: new Set(), stream: undefined }));
    heard.tells.add(tell);
    if (this.#refusal !== undefined) {
      const error = this.#refusal;
      queueMicrotask(() => this.#end(taskId, error));
    } else if (heard.stream !== undefined) {
      queueMicrotask(() => tell({ type: "follow.acknowledged" }));
    } else {
      this.#gather();
    }
    return () => this.#remove(taskId, tell);
  }

  /** Ends all streams. */
  close(): void {
    this.#closed = true;
    this.#options.clock.clearTimeout(this.#gathering);
    this.#heard.clear();
    for (const { over } of this.#streams) over.abort();
    this.#opening?.over.abort();
    this.#streams = [];
  }

  #remove(taskId: string, tell: Tell): void {
    const heard = this.#heard.get(taskId);
    if (heard === undefined || !heard.tells.delete(tell) || heard.tells.size > 0) return;
    this.#forget(taskId, heard);
    const opening = this.#opening;
    // What is heard on another stream already does not need this one.
    const isWanted = (wanted: string) => this.#heard.has(wanted) && this.#heard.get(wanted)?.stream === undefined;
    if (opening !== undefined && !opening.taskIds.some(isWanted)) this.#drop(opening);
  }

  #forget(taskId: string, { stream }: Heard): void {
    this.#heard.delete(taskId);
    if (stream !== undefined) this.#leave(taskId, stream);
  }

  #leave(taskId: string, stream: Stream): void {
    if (stream.heard.delete(taskId) && stream.heard.size === 0) this.#drop(stream);
  }

  /** Opens the next stream in a moment, unless one is about to be. */
  #gather(): void {
    if (this.#closed || this.#opening !== undefined || this.#gathering !== undefined) return;
    this.#gathering = this.#options.clock.setTimeout(() => {
      this.#gathering = undefined;
      this.#open();
    }, GATHER_MS);
  }

  #open(): void {
    const added: string[] = [];
    for (const [taskId, { stream }] of this.#heard) {
      if (stream === undefined) added.push(taskId);
      if (added.length === this.#tasksPerStream) break;
    }
    if (added.length === 0) return;
    let taskIds = added;
    for (const { heard } of this.#streams.toReversed()) {
      const room = this.#tasksPerStream - taskIds.length;
      // Carried over to a stream at least twice as large each time, a task is so a few times, however many come.
      if (heard.size > Math.min(Math.max(taskIds.length, SMALL), room)) break;
      taskIds = [...heard, ...taskIds];
    }
    const stream: Stream = { taskIds, heard: new Set(), over: new AbortController() };
    this.#opening = stream;
    const opened = () => {
      if (this.#opening !== stream) return;
      this.#opening = undefined;
      this.#gather();
    };
    void this.#options
      .request(taskIds, {
        signal: stream.over.signal,
        onNotification: (method, params) => {
          if (method === "notifications/subscriptions/acknowledged") {
            if (this.#opening === stream) this.#onAcknowledged(stream, params);
            opened();
          } else if (method === "notifications/tasks") {
            this.#onTask(params);
          }
        },
      })
      .then(
        () => new RequestFailedError({ message: "The server ended the subscription" }),
        (error: unknown) => error,
      )
      .then((error) => this.#onOver(stream, error))
      .finally(opened);
  }

  #onAcknowledged(stream: Stream, params: JsonObject): void {
    const notifications = isJsonObject(params["notifications"]) ? params["notifications"] : {};
    const honoured = new Set<unknown>(Array.isArray(notifications["taskIds"]) ? notifications["taskIds"] : []);
    this.#streams.push(stream);
    for (const taskId of stream.taskIds) {
      const heard = this.#heard.get(taskId);
      if (heard === undefined) continue;
      if (!honoured.has(taskId)) {
        this.#end(taskId, new RequestFailedError({ message: "The server does not listen to this task" }));
        continue;
      }
      const before = heard.stream;
      heard.stream = stream;
      stream.heard.add(taskId);
      if (before !== undefined) this.#leave(taskId, before);
      else for (const tell of heard.tells) tell({ type: "follow.acknowledged" });
    }
    if (stream.heard.size === 0) this.#drop(stream);
  }

  #onOver(stream: Stream, error: unknown): void {
    const neverOpened = this.#opening === stream;
    const code = neverOpened && error instanceof RequestFailedError ? error.rpcCode : undefined;
    // A server that does not know the method, or not for tasks, will not know it the next time.
    if (error instanceof RequestFailedError && (code === RpcCode.methodNotFound || code === RpcCode.missingCapability)) {
      this.#refusal = error;
    }
    this.#drop(stream);
    if (code === RpcCode.invalidParams && stream.taskIds.length > 1) {
      // It may be that these were too many for one stream.
      this.#tasksPerStream = Math.floor(stream.taskIds.length / 2);
      return;
    }
    for (const taskId of neverOpened ? stream.taskIds : stream.heard) {
      if (this.#heard.get(taskId)?.stream === (neverOpened ? undefined : stream)) this.#end(taskId, error);
    }
  }

  #onTask(params: JsonObject): void {
    const { taskId } = params;
    const tells = typeof taskId === "string" ? this.#heard.get(taskId)?.tells : undefined;
    if (tells === undefined) return;
    try {
      const task = fromDetailedTask(params, taskId as string);
      for (const tell of tells) tell({ type: "follow.status", task });
    } catch (error) {
      // What cannot be read may have been its end.
      this.#end(taskId as string, error);
    }
  }

  /** Nothing more is heard of a task. */
  #end(taskId: string, error: unknown): void {
    const heard = this.#heard.get(taskId);
    if (heard === undefined) return;
    this.#forget(taskId, heard);
    for (const tell of heard.tells) tell({ type: "follow.unheard", error });
  }

  #drop(stream: Stream): void {
    this.#streams = this.#streams.filter((other) => other !== stream);
    stream.over.abort();
  }
}
