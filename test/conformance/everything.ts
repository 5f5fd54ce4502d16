// Everything the conformance suite's scenarios outside Tasks ask of a server, as plain SDK registrations. Errand stands
// in front of them and must not change one answer.

import type { McpServer, ServerNotifier, ServerOptions } from "@modelcontextprotocol/server";
import { registerPrompts } from "./prompts.ts";
import { registerResources } from "./resources.ts";
import { registerRoundTools, roundState } from "./rounds.ts";
import { registerTools } from "./tools.ts";

/** What the fixtures need from whoever serves them. */
export interface EverythingContext {
  /** Announces list changes to open `subscriptions/listen` streams. */
  readonly notify: ServerNotifier;
}

/** The SDK options the fixtures rely on. */
export const everythingOptions = {
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
    logging: {},
  },
  cacheHints: {
    "tools/list": { ttlMs: 300_000, cacheScope: "public" },
    "prompts/list": { ttlMs: 300_000, cacheScope: "public" },
    "resources/list": { ttlMs: 300_000, cacheScope: "public" },
    "resources/templates/list": { ttlMs: 300_000, cacheScope: "public" },
  },
  requestState: { verify: (state, ctx) => roundState.verify(state, ctx) },
} satisfies ServerOptions;

/** Registers every fixture on a new server. */
export function registerEverything(server: McpServer, ctx: EverythingContext): void {
  registerTools(server, ctx.notify);
  registerRoundTools(server);
  registerResources(server);
  registerPrompts(server);
}
