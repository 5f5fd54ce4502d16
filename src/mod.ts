/** Everything that Errand makes public. To load one role alone, import `errand/server`. */
export * from "./server/mod.ts";
