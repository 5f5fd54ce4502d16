/** How a task is waited for: by listening where the server can, by listening alone, or by polling alone. */
export type FollowMode = "auto" | "listen" | "poll";

/** What a failed look at a task says of looking again. */
export interface LookError {
  /** `never`: the server means it. `few`: it may be a mishap of what lies between. `always`: it will pass. */
  readonly retry: "never" | "few" | "always";
  /** Whether the server answered, and is not to be asked sooner for it. Default `true`. */
  readonly answered?: boolean;
  /** How long the server wants to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}
