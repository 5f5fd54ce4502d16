import type { Actor } from "xstate";
import { createActor, fromCallback, fromPromise } from "xstate";
import type { FollowContext, FollowEnd, FollowEvent, FollowInput } from "../../machines/follow.ts";
import { followMachine } from "../../machines/follow.ts";
import type { Clock } from "../task/clock.ts";
import type { DetailedTask } from "../task/task.ts";

/** Where followed tasks are looked at and listened to. */
export interface FollowSource {
  /** The task as it is now. Rejects with what `LookError` describes. */
  look(taskId: string, signal: AbortSignal): Promise<DetailedTask>;
  /** Listens to a task and tells what comes, until the returned function is called. */
  listen(taskId: string, tell: (event: FollowEvent) => void): () => void;
}

/** Makes the actors of the tasks that are followed on one connection. */
export class Followers {
  readonly #machine: typeof followMachine;
  readonly #clock: Clock;

  constructor(source: FollowSource, clock: Clock) {
    this.#clock = clock;
    this.#machine = followMachine.provide({
      actors: {
        look: fromPromise<DetailedTask, string>(({ input, signal }) => source.look(input, signal)),
        listen: fromCallback<FollowEvent, string>(({ input, sendBack }) => source.listen(input, sendBack)),
      },
    });
  }

  /** Follows a task. `onChange` hears of every state of the follower that differs from the last, the first included. */
  follow(input: FollowInput, onChange: (context: FollowContext) => void): Follower {
    return new Follower(createActor(this.#machine, { input, clock: this.#clock }), onChange);
  }
}

/** One followed task. */
export class Follower {
  readonly #actor: Actor<typeof followMachine>;
  /** How following ended. */
  readonly ended: Promise<FollowEnd>;

  constructor(actor: Actor<typeof followMachine>, onChange: (context: FollowContext) => void) {
    this.#actor = actor;
    const { promise, resolve } = Promise.withResolvers<FollowEnd>();
    this.ended = promise;
    let context: FollowContext | undefined;
    actor.subscribe({
      next: (snapshot) => {
        if (snapshot.context !== context) onChange((context = snapshot.context));
        if (snapshot.output !== undefined) resolve(snapshot.output);
      },
      error: (error) => resolve({ type: "lost", error }),
    });
    actor.start();
  }

  /** Notes that the question of a key is answered. */
  answered(key: string): void {
    this.#send({ type: "follow.answered", key });
  }

  /** Takes note of a state of the task that was read elsewhere. */
  take(task: DetailedTask): void {
    this.#send({ type: "follow.status", task });
  }

  /** Leaves the task as it is. */
  leave(): void {
    this.#send({ type: "follow.leave" });
  }

  /** An actor that has ended hears of nothing more. */
  #send(event: FollowEvent): void {
    if (this.#actor.getSnapshot().status === "active") this.#actor.send(event);
  }
}
