import type { Clock } from "../task/clock.ts";

/** How long an answer that is due may take to go out, in milliseconds. */
const LONG_MS = 1_000;

/** The calls that were taken and are not answered yet: a host that closes lets their answers out first. */
export class Unanswered {
  readonly #clock: Clock;
  #calls = 0;
  #onNone: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a call, until the returned function is called. */
  begin(): () => void {
    this.#calls += 1;
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.#calls -= 1;
      if (this.#calls === 0) this.#onNone?.();
    };
  }

  /** Resolves once every call is answered, or when that takes longer than an answer may. */
  async none(): Promise<void> {
    if (this.#calls === 0) return;
    let timer: unknown;
    await new Promise<void>((resolve) => {
      this.#onNone = resolve;
      timer = this.#clock.setTimeout(resolve, LONG_MS);
    });
    this.#clock.clearTimeout(timer);
  }
}
