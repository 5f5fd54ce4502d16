/** How much each measurement does. */
export interface Sizes {
  /** Requests at once, how long each round is, and how many rounds each server has. */
  readonly get: { readonly connections: number; readonly ms: number; readonly rounds: number };
  /** Live tasks, and how many of them are made by whole HTTP requests in the run that does so. */
  readonly heap: { readonly tasks: number; readonly requests: number };
  /** Numbers of live tasks; how many operations a round has, and how many rounds there are at each number. */
  readonly flat: { readonly live: readonly number[]; readonly operations: number; readonly rounds: number };
  readonly call: { readonly calls: number; readonly rounds: number };
  /** Tasks with one listener each, listeners on one task, and how many such tasks there are. */
  readonly listen: { readonly tasks: number; readonly listeners: number; readonly rounds: number };
  /**
   * Tasks that are followed, the milliseconds that their server wants between two polls, how long they are idle, and how
   * long they take to end.
   */
  readonly follow: {
    readonly tasks: number;
    readonly pollMs: number;
    readonly idleMs: number;
    readonly endingMs: number;
  };
}

/** `tiny` only shows that everything runs: its figures mean nothing. */
export const sizes: Record<"full" | "quick" | "tiny", Sizes> = {
  full: {
    get: { connections: 16, ms: 1_500, rounds: 7 },
    heap: { tasks: 100_000, requests: 20_000 },
    flat: { live: [100, 1_000, 10_000, 100_000], operations: 100, rounds: 60 },
    call: { calls: 400, rounds: 15 },
    listen: { tasks: 400, listeners: 1_000, rounds: 7 },
    follow: { tasks: 10_000, pollMs: 10_000, idleMs: 5_000, endingMs: 5_000 },
  },
  quick: {
    get: { connections: 16, ms: 400, rounds: 3 },
    heap: { tasks: 20_000, requests: 4_000 },
    flat: { live: [100, 10_000], operations: 100, rounds: 20 },
    call: { calls: 100, rounds: 7 },
    listen: { tasks: 100, listeners: 1_000, rounds: 3 },
    follow: { tasks: 1_000, pollMs: 2_000, idleMs: 2_000, endingMs: 2_000 },
  },
  tiny: {
    get: { connections: 2, ms: 40, rounds: 1 },
    heap: { tasks: 200, requests: 20 },
    flat: { live: [20, 40], operations: 10, rounds: 2 },
    call: { calls: 5, rounds: 2 },
    listen: { tasks: 3, listeners: 5, rounds: 1 },
    follow: { tasks: 20, pollMs: 100, idleMs: 200, endingMs: 50 },
  },
};
