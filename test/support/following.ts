// What the tests of the client share: a client, the difficult server it meets, and a clock that stands still.
import assert from "node:assert/strict";
import type {
  CallParams,
  ClientTarget,
  Outcome,
  PendingRequest,
  StatusEvent,
  TaskClient,
  TaskClientOptions,
  WaitOptions,
} from "../../src/client/mod.ts";
import { createTaskClient } from "../../src/client/mod.ts";
import { FakeClock, turn } from "./clock.ts";
import type { DifficultOptions } from "./difficult-server.ts";
import { DifficultServer } from "./difficult-server.ts";
import { patiently, until } from "./until.ts";

/** How a client gets to the difficult server. */
export const doors = {
  "in process": async (server: DifficultServer): Promise<ClientTarget> => server,
  "over HTTP": async (server: DifficultServer): Promise<ClientTarget> => (await server.http()).url,
  "over stdio": async (server: DifficultServer): Promise<ClientTarget> => {
    const { command, args } = await server.stdio();
    return { command, args };
  },
} as const;

export type Door = keyof typeof doors;
export const doorNames = Object.keys(doors) as Door[];

/** A client and its server. */
export interface Meeting {
  readonly server: DifficultServer;
  readonly client: TaskClient;
  readonly clock: FakeClock;
  readonly target: ClientTarget;
  /** Calls `work` and gives the pending request once it is a task. */
  readonly begin: (options?: WaitOptions, params?: CallParams) => Promise<{ pending: PendingRequest; taskId: string }>;
  /** Lets milliseconds go by, in process. */
  readonly pass: (ms: number) => Promise<void>;
}

export interface MeetingOptions {
  readonly server?: Omit<DifficultOptions, "clock">;
  readonly client?: TaskClientOptions;
  /** Default in process, where everything but timers happens within a turn of the event loop. */
  readonly door?: Door;
}

/** A test with a client and a server of its own, which leave nothing behind. */
export function withDifficult(options: MeetingOptions, test: (meeting: Meeting) => Promise<void>): () => Promise<void> {
  return async () => {
    const clock = new FakeClock();
    const server = new DifficultServer({ clock, ...options.server });
    const target = await doors[options.door ?? "in process"](server);
    const client = createTaskClient(target, { clock, ...options.client });
    try {
      await patiently(async () => {
        await test({
          server,
          client,
          clock,
          target,
          pass: (ms) => clock.advance(ms),
          begin: async (waiting, params = { name: "work" }) => {
            const pending = client.beginCallTool(params, waiting);
            const task = await pending.created;
            assert.ok(task !== undefined, "the call became a task");
            await turn();
            return { pending, taskId: task.taskId };
          },
        });
        await client.close();
        await until(() => server.open === 0, "the client to leave nothing open at the server");
      });
    } finally {
      await client.close();
      await server.close();
    }
    assert.equal(clock.pending, 0, "no timer is left");
    assert.deepEqual(server.complaints, [], "the client did nothing that it may not");
  };
}

/** The events of a pending request, as they come. */
export interface Collected {
  readonly events: StatusEvent[];
  /** Why the iteration threw, if it did. */
  error: unknown;
  readonly over: Promise<void>;
}

export function collect(pending: AsyncIterable<StatusEvent>): Collected {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const collected: Collected = { events: [], error: undefined, over };
  void (async () => {
    try {
      for await (const event of pending) collected.events.push(event);
    } catch (error) {
      collected.error = error;
    }
    resolve();
  })();
  return collected;
}

export function statuses(events: readonly { readonly status: string }[]): string[] {
  return events.map(({ status }) => status);
}

/** The text of a completed outcome. */
export function textOf(outcome: Outcome): string {
  assert.equal(outcome.status, "completed", describe(outcome));
  return String(outcome.result.content[0]?.["text"]);
}

/** An outcome, narrowed to the status that it must have. */
export function expectOutcome<Status extends Outcome["status"]>(
  outcome: Outcome,
  status: Status,
): Extract<Outcome, { status: Status }> {
  assert.equal(outcome.status, status, describe(outcome));
  return outcome as Extract<Outcome, { status: Status }>;
}

function describe(outcome: Outcome): string {
  if ("error" in outcome) return `${outcome.status}: ${outcome.error.stack}`;
  return JSON.stringify(outcome);
}

/** A form that asks for a name. */
export function form(message = "Your name?"): { method: string; params: object } {
  return {
    method: "elicitation/create",
    params: {
      mode: "form",
      message,
      requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    },
  };
}

/** An answer to it. */
export function named(name: string): { action: "accept"; content: { name: string } } {
  return { action: "accept", content: { name } };
}

/**
 * Lets time go by until a condition holds, but no more of it than to the next timer, and only where that comes within
 * `pauseMs`: pauses go by, and the limits of requests and waits, which are longer, do not. Rejects when the condition
 * does not come true, saying what was waited for.
 */
export async function passUntil(
  clock: FakeClock,
  condition: () => boolean,
  what: string,
  pauseMs = 1_000,
): Promise<void> {
  const givenUpAt = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > givenUpAt) throw new Error(`Waited in vain for ${what}.`);
    const { untilNext } = clock;
    if (untilNext !== undefined && untilNext <= pauseMs) await clock.advance(untilNext);
    else await turn();
  }
}

/**
 * Resolves once the next look waits for its pause. Lets the limit of a request go by, which is 4 s here, where nothing
 * is heard for a while and the mishap may be one that nobody hears of.
 */
export async function pauseAgain(clock: FakeClock, mayHang = true): Promise<void> {
  const pauses = () => clock.untilNext !== undefined && clock.untilNext > 1 && clock.untilNext <= 1_000;
  if (mayHang) {
    for (let turns = 0; !pauses() && turns < 100; turns += 1) await turn();
    if (!pauses()) await clock.advance(4_000);
  }
  await until(pauses, "the next look's pause");
}

/** Whether a promise is settled, in the end. */
export function watch(promise: Promise<unknown>): () => boolean {
  let over = false;
  void promise.catch(() => {}).then(() => (over = true));
  return () => over;
}

/** Lets pauses go by until a wait is over. */
export async function untilOver(clock: FakeClock, wait: Promise<unknown>): Promise<void> {
  await passUntil(clock, watch(wait), "the end of a wait");
}
