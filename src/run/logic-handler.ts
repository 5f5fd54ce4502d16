import type { TaskLogic } from "../registry/logic.ts";
import { startLogic } from "../registry/logic.ts";
import type { Clock } from "../task/clock.ts";
import { DeclinedError } from "../task/errors.ts";
import type { InputRequest } from "../task/task.ts";
import type { Schema, TaskContext } from "./context.ts";
import type { Handler } from "./call.ts";

/**
 * What actor logic may emit (`emit`) to speak for its task. Questions carry a `name`; their answers come to the logic
 * as `TaskAnswerEvent`s with the same name.
 */
export type TaskEmitted =
  | { type: "task.status"; message: string }
  | { type: "task.progress"; done: number; total?: number; message?: string }
  | { type: "task.elicit"; name: string; message: string; schema: Schema }
  | { type: "task.ask"; name: string; request: InputRequest }
  | { type: "task.complete"; result: unknown }
  | { type: "task.fail"; error: unknown };

/** What actor logic receives when a question was answered, declined or dismissed. */
export type TaskAnswerEvent =
  | { type: "task.answer"; name: string; action: "accept"; content: unknown }
  | { type: "task.answer"; name: string; action: "decline" | "cancel"; content?: undefined };

/**
 * Runs actor logic as a tool's handler: its input is the tool's input, its output the result, its state the task's
 * `statusMessage` unless it emits a better one on its way there, and its emitted events the rest. It is stopped when
 * the task ends, whatever ends it.
 */
export function logicHandler(logic: TaskLogic, clock: Clock): Handler {
  return (input, task) =>
    new Promise((resolvePromise, rejectPromise) => {
      const ending = (settle: (value: unknown) => void) => (value: unknown) => {
        settle(value);
        // Not within its own step: it may end with its very first.
        void Promise.resolve().then(() => actor.stop());
      };
      const resolve = ending(resolvePromise);
      const reject = ending(rejectPromise);
      const actor = startLogic(logic, input, clock, {
        onState: (state) => task.status(state),
        onDone: resolve,
        onError: reject,
        onEmitted: (event) => speak(event as TaskEmitted, task, (answer) => actor.send(answer), { resolve, reject }),
      });
      const stop = () => actor.stop();
      if (task.signal.aborted) stop();
      else task.signal.addEventListener("abort", stop, { once: true });
    });
}

function speak(
  event: TaskEmitted,
  task: TaskContext,
  send: (answer: TaskAnswerEvent) => void,
  { resolve, reject }: { resolve: (value: unknown) => void; reject: (error: unknown) => void },
): boolean {
  switch (event.type) {
    case "task.status":
      task.status(event.message);
      return true;
    case "task.progress":
      task.progress(event.done, event.total, event.message);
      return true;
    case "task.elicit": {
      const { name } = event;
      task.elicit(event.message, event.schema).then(
        (content) => send({ type: "task.answer", name, action: "accept", content }),
        (error: unknown) => {
          if (error instanceof DeclinedError) send({ type: "task.answer", name, action: error.action });
          else reject(error);
        },
      );
      return false;
    }
    case "task.ask": {
      const { name, request } = event;
      task.ask({ [name]: request }).then(
        (answers) => send({ type: "task.answer", name, action: "accept", content: answers[name] }),
        reject,
      );
      return false;
    }
    case "task.complete":
      resolve(event.result);
      return false;
    case "task.fail":
      reject(event.error);
      return false;
    default:
      // Events of the logic's own, for observers of its own.
      return false;
  }
}
