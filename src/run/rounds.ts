import type { Clock } from "../task/clock.ts";
import { InvalidRequestStateError, QuotaExceededError } from "../task/errors.ts";
import { createId } from "../task/ids.ts";
import type { JsonObject } from "../task/task.ts";
import type { Run } from "./run.ts";

/** A plain call whose run waits for the next round. */
interface Round {
  readonly run: Run;
  readonly tool: string;
  readonly tasks: boolean;
  /** The arguments, in one spelling: a round is bound to its call. */
  readonly arguments: string;
  readonly timer: unknown;
}

/** What a round is bound to. */
export interface RoundCall {
  readonly principal: string | undefined;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** Whether the client knows tasks: what it did not declare, it must not be answered with. */
  readonly tasks: boolean;
}

export interface RoundsOptions {
  readonly clock: Clock;
  /** How many runs may wait at once. */
  readonly limit: number;
  /** How long one waits, in milliseconds. */
  readonly ttlMs: number;
  readonly onExpired: (run: Run) => void;
}

/**
 * The runs of plain calls between their rounds (MCP, "Multi Round-Trip Requests"). `requestState` is a random key into
 * this table: it holds nothing that could be forged, works once, and for the same caller and call only.
 */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #waiting = new Map<string, Round>();
  #closed = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Puts a run aside and gives the `requestState` that brings it back. Throws `QuotaExceededError`. */
  wait(run: Run, call: Omit<RoundCall, "principal">): string {
    if (this.#waiting.size >= this.#options.limit) {
      throw new QuotaExceededError("The server waits for as many answers as it may.");
    }
    const requestState = createId();
    this.#add(requestState, { run, tool: call.tool, tasks: call.tasks, arguments: canonical(call.arguments) });
    return requestState;
  }

  /**
   * Hands the run of a `requestState` to `answer`, and gives it when that resolves; when it rejects, the run waits on
   * under the same key. Throws `InvalidRequestStateError` unless caller, tool, arguments and the client's knowing tasks
   * are those of the call.
   */
  async take(
    requestState: unknown,
    call: RoundCall,
    answer: (run: Run) => Promise<void>,
  ): Promise<Run> {
    const round = typeof requestState === "string" ? this.#waiting.get(requestState) : undefined;
    if (
      typeof requestState !== "string" ||
      round === undefined ||
      round.run.principal !== call.principal ||
      round.tasks !== call.tasks ||
      round.tool !== call.tool ||
      round.arguments !== canonical(call.arguments)
    ) {
      throw new InvalidRequestStateError();
    }
    this.#waiting.delete(requestState);
    this.#options.clock.clearTimeout(round.timer);
    try {
      await answer(round.run);
    } catch (error) {
      this.#add(requestState, round);
      throw error;
    }
    return round.run;
  }

  /** Forgets all of them, those too that are just being answered. */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#waiting.values()) this.#options.clock.clearTimeout(timer);
    this.#waiting.clear();
  }

  #add(requestState: string, round: Omit<Round, "timer">): void {
    if (this.#closed) return;
    const timer = this.#options.clock.setTimeout(() => {
      this.#waiting.delete(requestState);
      this.#options.onExpired(round.run);
    }, this.#options.ttlMs);
    this.#waiting.set(requestState, { ...round, timer });
  }
}

/** JSON with the keys of every object in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
