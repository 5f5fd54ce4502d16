import type { Registry } from "../registry/registry.ts";
import type { Runner } from "../run/runner.ts";
import type { Clock } from "../task/clock.ts";
import { ErrandError, TaskExpiredError, TaskNotFoundError } from "../task/errors.ts";
import type { DetailedTask, JsonObject } from "../task/task.ts";
import { toDetailedTask } from "../wire/2026-07-28.ts";

/** Answers the methods of the Tasks extension for a principal. It knows nothing of transports. */
export class Dispatcher {
  readonly #registry: Registry;
  readonly #runner: Runner;
  readonly #clock: Clock;

  constructor(registry: Registry, runner: Runner, clock: Clock) {
    this.#registry = registry;
    this.#runner = runner;
    this.#clock = clock;
  }

  /** `tasks/get`: the task as it is now. */
  get(taskId: string, principal: string | undefined): Promise<DetailedTask> {
    const task = this.#registry.get(taskId, principal).then((record) => toDetailedTask(record, this.#clock.now()));
    return saying("retrieve", task);
  }

  /** `tasks/update`: resolves once the answers are stored. */
  update(taskId: string, principal: string | undefined, inputResponses: JsonObject): Promise<void> {
    return saying("update", this.#runner.update(taskId, principal, inputResponses));
  }

  /** `tasks/cancel`: resolves once the end is stored, whatever the handler does. */
  cancel(taskId: string, principal: string | undefined): Promise<void> {
    return saying("cancel", this.#runner.cancel(taskId, principal));
  }
}

/** Says in the error which of the methods failed. */
async function saying<Result>(verb: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof TaskNotFoundError || error instanceof TaskExpiredError)) throw error;
    throw new ErrandError(error.code, error.rpcCode, `Failed to ${verb} task: ${error.message}`);
  }
}
