/** Everything that Errand makes public. To load one role alone, import `errand/server` or `errand/client`. */
export * from "./client/mod.ts";
export * from "./server/mod.ts";
