// Whatever a server does, and whenever: a wait ends in time, tells one end, asks nothing twice and leaves nothing behind.
import * as fc from "fast-check";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Outcome, StatusEvent } from "../../src/client/mod.ts";
import { createTaskClient } from "../../src/client/mod.ts";
import { FakeClock, turn } from "../support/clock.ts";
import { begins, drops, fails, gives, hangs, lies, slow, usual } from "../support/difficult-behaviours.ts";
import type { Behaviour } from "../support/difficult-server.ts";
import { DifficultServer, askedFor } from "../support/difficult-server.ts";
import { collect, form, named, watch } from "../support/following.ts";
import { runs } from "../support/soak.ts";
import { patiently, until } from "../support/until.ts";

/** What a method may meet, by name, so that a counterexample can be read. */
const always: { [name: string]: Behaviour } = {
  usual,
  hangs,
  drops,
  "fails -32603": fails(-32603),
  "fails -32000": fails(-32000),
  "fails oddly": fails("E", null),
  "gives nothing": gives(null),
  "gives an empty result": gives({}),
  "answers in 700 ms": slow(700),
  "answers another": (exchange) => exchange.respond({ jsonrpc: "2.0", id: 5, result: {} }),
};
const behaviours: { readonly [method: string]: { [name: string]: Behaviour } } = {
  "server/discover": { usual, drops, hangs },
  "tools/call": {
    ...always,
    "begins with a tiny interval": begins({ pollIntervalMs: 0.01 }),
    "begins with a huge interval": begins({ pollIntervalMs: 1e15 }),
    "begins at its end": begins({ status: "completed" }),
    "asks first": gives({ resultType: "input_required", inputRequests: { before: form() }, requestState: "s" }),
    "asks nothing first": gives({ resultType: "input_required", requestState: "s" }),
    "answers inline": gives({ resultType: "complete", content: [] }),
  },
  "tasks/get": {
    ...always,
    "lies of its status": lies({ status: "pondering" }),
    "lies of its time": lies({ lastUpdatedAt: "2020-01-01T00:00:00Z" }),
    "lies of its interval": lies({ pollIntervalMs: -1 }),
    "lies of its id": lies({ taskId: "other" }),
    "lies of a question": lies({ status: "input_required", inputRequests: { lie: form() } }),
    "lies of no questions": lies({ status: "input_required", inputRequests: null }),
    "lies of an end without a result": lies({ status: "completed", result: undefined }),
    "does not know it": fails(-32602, "Task not found"),
  },
  "tasks/update": { ...always, "takes it and shows it still": (exchange, server) => {
    if (!server.tasks.has(exchange.taskId)) return server.usual(exchange);
    server.take(exchange, false);
    exchange.result({ resultType: "complete" });
  } },
  "tasks/cancel": { ...always, "takes note alone": gives({ resultType: "complete" }) },
  "subscriptions/listen": {
    ...always,
    "does not know it": fails(-32601),
    "acknowledges nothing": (exchange, server) => server.acknowledge(exchange, []),
    "acknowledges later": slow(700),
    "acknowledges and ends": (exchange, server) => {
      server.usual(exchange);
      exchange.result({ resultType: "complete" });
    },
    "tells the state at once, twice": (exchange, server) => {
      server.usual(exchange);
      for (const taskId of [...askedFor(exchange), ...askedFor(exchange)]) {
        if (server.tasks.has(taskId)) server.notify(exchange, server.task(taskId));
      }
    },
  },
};

/** What may happen to the task, or to the server, meanwhile. */
const happenings: { readonly [name: string]: (server: DifficultServer, taskId: string) => void } = {
  completes: (server, taskId) => void server.complete(taskId),
  fails: (server, taskId) => void server.change(taskId, { status: "failed", error: { code: -1, message: "no" } }),
  "is cancelled": (server, taskId) => void server.change(taskId, { status: "cancelled" }),
  "says something": (server, taskId) => void server.change(taskId, { statusMessage: `at ${server.clock.now()}` }),
  "asks a": (server, taskId) => void server.ask(taskId, { a: form() }),
  "asks b and c": (server, taskId) => void server.ask(taskId, { b: form(), c: { method: "roots/list" } }),
  "asks what nobody answers": (server, taskId) => void server.ask(taskId, { odd: { method: "telepathy/read" } }),
  "asks no more": (server, taskId) => void server.change(taskId, { status: "working", inputRequests: undefined }),
  "tells it again": (server, taskId) => server.tell(taskId),
  "tells what was": (server, taskId) =>
    server.tell(taskId, { ...server.task(taskId), status: "working", lastUpdatedAt: "2020-01-01T00:00:00Z" }),
  "tells nonsense": (server, taskId) => server.tell(taskId, { taskId, status: 5 }),
  "forgets the task": (server, taskId) => void server.tasks.delete(taskId),
  "ends its streams": (server) => server.endListening((exchange) => exchange.result({ resultType: "complete" })),
  "breaks the connection": (server) => server.endListening((exchange) => exchange.cut()),
};

const handlers = {
  "at once": () => named("Ann"),
  "after a while": (clock: FakeClock) =>
    new Promise<ReturnType<typeof named>>((resolve) => clock.setTimeout(() => resolve(named("Ann")), 900)),
  never: () => new Promise<never>(() => {}),
  badly: () => Promise.reject(new Error("no screen")),
  "with a misfit": () => ({ action: "accept" as const, content: {} }),
} as const;

const scripts = fc.record(
  Object.fromEntries(
    Object.entries(behaviours).map(([method, ways]) => [
      method,
      fc.oneof(
        { weight: 2, arbitrary: fc.constant(["usual"]) },
        { weight: 1, arbitrary: fc.array(fc.constantFrom(...Object.keys(ways)), { minLength: 1, maxLength: 4 }) },
      ),
    ]),
  ),
);

const scenario = fc.record({
  scripts,
  happenings: fc.array(fc.tuple(fc.integer({ min: 0, max: 9_000 }), fc.constantFrom(...Object.keys(happenings))), { maxLength: 6 }),
  mode: fc.constantFrom("poll", "listen", "auto"),
  handler: fc.constantFrom(...(Object.keys(handlers) as (keyof typeof handlers)[])),
  cancelOnInputError: fc.boolean(),
  timeoutMs: fc.integer({ min: 1, max: 12_000 }),
  leaving: fc.option(fc.tuple(fc.integer({ min: 0, max: 9_000 }), fc.constantFrom("abort", "detach", "cancel", "close"))),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;

const START = Date.UTC(2026, 0, 1);
const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

async function play(given: Scenario): Promise<void> {
  const clock = new FakeClock(START);
  const server = new DifficultServer({ clock, pollIntervalMs: 500 });
  for (const [method, names] of Object.entries(given.scripts)) {
    server.on(method, ...(names as string[]).map((name) => behaviours[method]?.[name] ?? usual));
  }
  const client = createTaskClient(server, { clock, requestTimeoutMs: 2_000 });
  const over = new AbortController();
  const asked: string[] = [];
  const signals: AbortSignal[] = [];
  const { mode, handler, cancelOnInputError, timeoutMs, leaving } = given;
  const pending = client.beginCallTool(
    { name: "work" },
    {
      mode,
      timeoutMs,
      cancelOnInputError,
      signal: over.signal,
      input: {
        form: (_params, { key, signal }) => {
          asked.push(key);
          signals.push(signal);
          return handlers[handler](clock);
        },
        roots: (_params, { key, signal }) => {
          asked.push(key);
          signals.push(signal);
          return { roots: [] };
        },
      },
    },
  );
  const collected = collect(pending);
  const outcome = pending.outcome();
  const isOver = watch(outcome);

  const ends = {
    abort: () => over.abort(new Error("enough")),
    detach: () => pending.detach(),
    cancel: () => void pending.cancel().catch(() => {}),
    close: () => void client.close(),
  };
  const timeline: [number, () => void][] = given.happenings.map(([at, name]) => [
    at,
    () => {
      if (server.tasks.has("task-1")) happenings[name]?.(server, "task-1");
    },
  ]);
  if (leaving !== null) timeline.push([leaving[0], ends[leaving[1]]]);
  timeline.push([timeoutMs, () => {}], [12_000, () => {}]);
  let limit: boolean | undefined;
  for (const [at, happen] of timeline.toSorted(([one], [other]) => one - other)) {
    await clock.advance(START + at - clock.now());
    happen();
    await turn(2);
    if (at >= timeoutMs) limit ??= isOver();
  }
  assert.equal(limit, true, "the wait is over at its limit");
  check(await outcome, collected.events, collected.error);
  // Before there is a task, each round has its own keys.
  const keys = asked.filter((key) => key !== "before");
  assert.equal(new Set(keys).size, keys.length, `asked twice: ${keys.join()}`);
  assert.ok(signals.every((signal) => signal.aborted || handler !== "never"), "no prompt is left open");
  const looks = server.count("tasks/get");
  assert.ok(looks <= 12_000 / 100 + 5, `${looks} looks`);
  const isLate = pending.taskId === undefined;
  if (!isLate && leaving?.[1] !== "cancel" && !cancelOnInputError) assert.equal(server.count("tasks/cancel"), 0);

  await client.close();
  // What a call that was given up may still become is waited for a while.
  await clock.advance(10_000);
  await until(() => server.open === 0, "the client to leave nothing open at the server");
  assert.equal(clock.pending, 0, "no timer is left");
  assert.equal(client.registry.list().length, 0);
  assert.deepEqual(server.complaints, []);
}

/** What an outcome and the events before it must be to each other. */
function check(outcome: Outcome, events: readonly StatusEvent[], error: unknown): void {
  const terminal = events.filter(({ status }) => ENDS.has(status));
  assert.ok(terminal.length <= 1, `${terminal.length} ends were told`);
  if (terminal.length === 1) assert.equal(events.at(-1), terminal[0]);
  const isTaskEnd =
    outcome.status === "completed" ||
    (outcome.status === "cancelled" && outcome.task !== undefined) ||
    (outcome.status === "failed" && outcome.error.code === "TASK_FAILED");
  assert.equal(terminal.length, isTaskEnd ? 1 : 0);
  assert.equal(error === undefined, isTaskEnd, String(error));
  if (isTaskEnd) assert.equal(terminal[0]?.status, outcome.status);
}

describe("whatever a server does", () => {
  it("a wait ends in time, tells one end, asks nothing twice, and leaves nothing behind", async () => {
    await fc.assert(fc.asyncProperty(scenario, (given) => patiently(() => play(given))), runs(400, 20_260_728));
  });
});
