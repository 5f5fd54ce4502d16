import type { RegistryOptions, TaskSeed } from "../../src/registry/registry.ts";
import { Registry } from "../../src/registry/registry.ts";
import { FakeClock } from "./clock.ts";
import { WitnessStore } from "./stores.ts";
import { ASKS_ALL } from "./task.ts";

/** How long tasks of `aSeed` live, how long ended ones stay readable, and how long they are remembered after that. */
export const TTL_MS = 10_000;
export const RETAIN_MS = 2_000;
export const TOMBSTONE_MS = 5_000;

/** A registry on a clock that stands still, and what it told `onError`. */
export function openRegistry<Store extends RegistryOptions["store"] = WitnessStore>(
  given: Partial<Omit<RegistryOptions, "store" | "clock">> & { store?: Store; clock?: FakeClock } = {},
): { registry: Registry; store: Store; clock: FakeClock; errors: unknown[] } {
  const { store = new WitnessStore() as RegistryOptions["store"] as Store, clock = new FakeClock(), ...options } = given;
  const errors: unknown[] = [];
  const registry = new Registry({
    store,
    clock,
    quota: { tasks: 1_000, tasksPerPrincipal: 1_000 },
    retainMs: RETAIN_MS,
    tombstoneMs: TOMBSTONE_MS,
    onError: (error) => errors.push(error),
    ...options,
  });
  return { registry, store, clock, errors };
}

/** What a task is made of that lives `TTL_MS`, but for what is given. */
export function aSeed(given: Partial<TaskSeed> & { taskId: string }): TaskSeed {
  return {
    principal: undefined,
    tool: "work",
    arguments: {},
    askable: ASKS_ALL,
    statusMessage: undefined,
    ttlMs: TTL_MS,
    pollIntervalMs: 100,
    ...given,
  };
}
