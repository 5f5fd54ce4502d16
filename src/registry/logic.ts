import type { AnyActorLogic } from "xstate";
import { createActor } from "xstate";
import type { Clock } from "../task/clock.ts";

/** XState actor logic as a tool's handler: a machine, `fromPromise`, `fromCallback`, `fromObservable`, … */
export type TaskLogic = AnyActorLogic;

/** Whether a value is actor logic. */
export function isLogic(value: unknown): value is TaskLogic {
  return (
    typeof value === "object" &&
    value !== null &&
    "transition" in value &&
    typeof value.transition === "function" &&
    "getInitialSnapshot" in value
  );
}

export interface LogicObserver {
  /** An event that the logic emitted. Gives whether it told where the logic stands. */
  onEmitted(event: { type: string; [key: string]: unknown }): boolean;
  /** A machine entered another state, for example `shipping.packing`, and told nothing better on its way there. */
  onState(state: string): void;
  onDone(output: unknown): void;
  onError(error: unknown): void;
}

export interface RunningLogic {
  send(event: { type: string; [key: string]: unknown }): void;
  stop(): void;
}

/** Starts actor logic as an actor of its own. Nothing that it or the observer throws gets out of here. */
export function startLogic(logic: TaskLogic, input: unknown, clock: Clock, observer: LogicObserver): RunningLogic {
  const guarded =
    <Args extends unknown[]>(callback: (...args: Args) => void) =>
    (...args: Args): void => {
      try {
        callback(...args);
      } catch (error) {
        observer.onError(error);
      }
    };
  const actor = createActor(logic, {
    input,
    clock: {
      setTimeout: (callback, ms) => clock.setTimeout(callback, ms),
      clearTimeout: (timer: unknown) => clock.clearTimeout(timer),
    },
  });
  let state: string | undefined;
  let told = false;
  actor.subscribe({
    next: guarded((snapshot: { value?: unknown; status: string }) => {
      if (snapshot.value === undefined || snapshot.status !== "active") return;
      const before = state;
      state = stateName(snapshot.value);
      // What was emitted in this step has come already: a state's name is not to take its place.
      if (state !== before && !told) observer.onState(state);
      told = false;
    }),
    complete: guarded(() => {
      const snapshot = actor.getSnapshot() as { status: string; output?: unknown };
      if (snapshot.status === "done") observer.onDone(snapshot.output);
    }),
    error: (error) => observer.onError(error),
  });
  actor.on(
    "*",
    guarded((event: { type: string }) => {
      if (observer.onEmitted(event)) told = true;
    }),
  );
  actor.start();
  return actor;
}

/** A state value in one line: `a`, `a.b`, and parallel regions side by side as `a.b, c.d`. */
function stateName(value: unknown): string {
  if (typeof value === "string") return value;
  return Object.entries(value as Record<string, unknown>)
    .map(([region, inner]) => `${region}.${stateName(inner)}`)
    .join(", ");
}
