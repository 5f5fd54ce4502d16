// The life of a followed task, walked along the paths that its machine has: first the machine by itself, then as an
// actor with a clock of its own, whose looks and listening the test answers.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SnapshotFrom } from "xstate";
import { createActor, fromCallback, fromPromise } from "xstate";
import { getAdjacencyMap, getShortestPaths, getSimplePaths } from "xstate/graph";
import type { AdjacencyValue } from "xstate/graph";
import type { FollowEnd, FollowEvent, FollowInput } from "../../machines/follow.ts";
import type { FollowMode } from "../../src/task/follow.ts";
import { followMachine, openQuestions } from "../../machines/follow.ts";
import type { DetailedTask, InputRequest, InputRequests } from "../../src/task/task.ts";
import { isTerminal } from "../../src/task/task.ts";
import { FakeClock, microtasks } from "../support/clock.ts";
import { seeded } from "../support/random.ts";

type Snapshot = SnapshotFrom<typeof followMachine>;

const [MIN, DEFAULT, MAX] = [100, 1_000, 20_000] as const;
const MODES: readonly FollowMode[] = ["auto", "listen", "poll"];

const form: InputRequest = { method: "elicitation/create", params: { message: "Name?" } };
/** Nobody answers it. */
const roots: InputRequest = { method: "roots/list" };

/** A task that was last changed at a second of the minute. */
function task<Rest extends { status: DetailedTask["status"]; pollIntervalMs?: number }>(second: number, rest: Rest) {
  const lastUpdatedAt = new Date(second * 1_000).toISOString();
  return { taskId: "t", createdAt: new Date(0).toISOString(), lastUpdatedAt, ttlMs: null, ...rest };
}

const asking = (second: number, inputRequests: InputRequests) =>
  task(second, { status: "input_required" as const, inputRequests });

const known = task(2, { status: "working", pollIntervalMs: 2_000 });
/** States of the task, in an order that is not that of their times: late ones, hints out of bounds, and every end. */
const states: DetailedTask[] = [
  task(1, { status: "working", pollIntervalMs: 1e9 }),
  known,
  task(4, { status: "working", pollIntervalMs: 1 }),
  asking(3, { a: form }),
  asking(5, { a: form, b: form }),
  asking(3, { x: roots }),
  task(0, { status: "completed", result: { content: [] } }),
  task(7, { status: "failed", error: { code: -1, message: "broke" } }),
  task(7, { status: "cancelled" }),
];

/** Why a look failed: for good, perhaps, in passing, with a wish, and with nothing that says so. */
const errors: unknown[] = [
  { name: "unknown", retry: "never" },
  { name: "odd", retry: "few" },
  { name: "away", retry: "always" },
  { name: "busy", retry: "always", retryAfterMs: 45_000 },
  "just a word",
  { name: "unreached", retry: "always", answered: false },
];
/** Why nothing is heard any more: the last with a wish. */
const silences: unknown[] = [{ name: "gone" }, { name: "full", retry: "always", retryAfterMs: 60_000 }];

const aFollow = (given: Partial<FollowInput> & { mode: FollowMode }): FollowInput => ({
  taskId: "t",
  task: undefined,
  pollIntervalMs: DEFAULT,
  minPollIntervalMs: MIN,
  maxPollIntervalMs: MAX,
  silenceMs: MAX,
  answered: [],
  answers: (question) => question.method === "elicitation/create",
  ...given,
});

type Place =
  | "polling"
  | "pausing"
  | "subscribing"
  | "acknowledged"
  | "checking"
  | "retrying"
  | "quiet"
  | FollowEnd["type"];

const ENDS = ["settled", "parked", "lost", "left"] as const satisfies Place[];
const LISTENS: ReadonlySet<Place> = new Set<Place>(["subscribing", "acknowledged", "checking", "retrying", "quiet"]);
const LOOKS: ReadonlySet<Place> = new Set<Place>(["polling", "checking"]);
/** The places that time leads out of, and by which delay. */
const TIMERS: Partial<Record<Place, string>> = {
  pausing: "pause",
  subscribing: "acknowledgement",
  acknowledged: "firstState",
  retrying: "pause",
  quiet: "silence",
};
/** The milliseconds that the machine waits in a place that is none between two looks, from when it comes there. */
const WAITS: Partial<Record<Place, number>> = { subscribing: 5_000, acknowledged: 200, quiet: MAX };

/** The places that each mode has. */
const PLACES: Record<FollowMode, readonly Place[]> = {
  poll: ["polling", "pausing", ...ENDS],
  listen: [...LISTENS, ...ENDS],
  auto: ["polling", "pausing", ...LISTENS, ...ENDS],
};

function placeOf({ value }: Pick<Snapshot, "value">): Place {
  if (typeof value === "string") return value;
  const { waiting } = value.following as { waiting: Place | { listening: Place } };
  return typeof waiting === "string" ? waiting : waiting.listening;
}

const nodeOf = (place: Place) => `follow.following.waiting.${LISTENS.has(place) ? "listening." : ""}${place}`;

/** What can happen, as the machine is told of it: by those who tell, by a look that ends, and by time. */
type Step = FollowEvent | { type: `xstate.${string}`; actorId?: string; output?: DetailedTask; error?: unknown };

const doneOf = (place: Place, output: DetailedTask): Step => {
  return { type: `xstate.done.actor.0.${nodeOf(place)}`, actorId: `0.${nodeOf(place)}`, output };
};
const failedOf = (place: Place, error: unknown): Step => {
  return { type: `xstate.error.actor.0.${nodeOf(place)}`, actorId: `0.${nodeOf(place)}`, error };
};
const timeOf = (place: Place): Step => ({ type: `xstate.after.${TIMERS[place]}.${nodeOf(place)}` });

const isDone = (step: Step) => step.type.startsWith("xstate.done.actor.");
const isFailed = (step: Step) => step.type.startsWith("xstate.error.actor.");
const isTime = (step: Step) => step.type.startsWith("xstate.after.");

/** The state of the task that a step brings. */
function broughtBy(step: Step): DetailedTask | undefined {
  if ("task" in step) return step.task;
  return "output" in step ? step.output : undefined;
}

/** How long a server wants to be left alone, by the error of a step. */
const wishOf = (step: Step) => (step as { error?: { retryAfterMs?: number } }).error?.retryAfterMs ?? 0;

/** The least that is waited after a look that failed: what the server asks for, if it was there to ask. */
const leastOf = (step: Step, task: DetailedTask | undefined) =>
  (step as { error?: { answered?: boolean } }).error?.answered === false ? MIN : hinted(task);

/** What the error of a step is called. */
const nameOf = (step: Step) => (step as { error?: { name?: string } }).error?.name;

interface Happening {
  /** The questions that may be answered. */
  readonly keys: readonly string[];
  readonly states: readonly DetailedTask[];
  readonly errors: readonly unknown[];
  /** After how many failures in a row no look fails any more: their number has no end. */
  readonly failures: number;
}

const everything: Happening = { states, errors, keys: ["a"], failures: 3 };

/** Whatever can happen in a state, and much that should not matter there. */
function stepsIn(snapshot: Snapshot, happening: Happening): Step[] {
  const { context } = snapshot;
  const place = placeOf(snapshot);
  return [
    { type: "follow.acknowledged" },
    ...silences.map((error): Step => ({ type: "follow.unheard", error })),
    { type: "follow.leave" },
    ...happening.keys
      .filter((key) => !context.answered.includes(key))
      .map((key): Step => ({ type: "follow.answered", key })),
    ...happening.states.map((state): Step => ({ type: "follow.status", task: state })),
    ...(LOOKS.has(place) ? happening.states.map((state) => doneOf(place, state)) : []),
    ...(LOOKS.has(place) && context.failures < happening.failures
      ? happening.errors.map((error) => failedOf(place, error))
      : []),
    ...(TIMERS[place] === undefined ? [] : [timeOf(place)]),
  ];
}

const modelOf = (input: FollowInput, happening: Happening) => ({
  input,
  // The graph takes what its actors and timers tell for events like any other, which their types leave out.
  events: (snapshot: Snapshot) => stepsIn(snapshot, happening) as FollowEvent[],
  serializeState,
});

/** What tells states apart: all but the order of the answers. */
function serializeState({ value, context }: Snapshot): string {
  return JSON.stringify([value, { ...context, answered: context.answered.toSorted() }]);
}

interface Edge {
  readonly before: Snapshot;
  readonly step: Step;
  readonly after: Snapshot;
}

/** All states, and all that leads from one to the next. */
function explore(input: FollowInput): { vertices: Snapshot[]; edges: Edge[] } {
  const adjacency = getAdjacencyMap(followMachine, modelOf(input, everything)) as unknown as Record<
    string,
    AdjacencyValue<Snapshot, Step>
  >;
  const values = Object.values(adjacency);
  return {
    vertices: values.map(({ state }) => state),
    edges: values.flatMap(({ state: before, transitions }) =>
      Object.values(transitions).map(({ event: step, state: after }) => ({ before, step, after })),
    ),
  };
}

const isOver = ({ status }: Snapshot) => status !== "active";
const timeOfChange = (state: DetailedTask) => Date.parse(state.lastUpdatedAt);

/** The questions of a state that nobody answered, said in the test's own words. */
function unanswered(state: DetailedTask | undefined, answered: readonly string[]): string[] {
  const keys = state?.status === "input_required" ? Object.keys(state.inputRequests) : [];
  return keys.filter((key) => !answered.includes(key));
}

/** The pause that a task's server asks for, between the bounds. */
const hinted = (state: DetailedTask | undefined) => Math.max(MIN, Math.min(MAX, state?.pollIntervalMs ?? DEFAULT));

/** Checks what leads from one state to the next, and says which it was that failed. */
function each(edges: readonly Edge[], check: (edge: Edge) => void): void {
  for (const edge of edges) {
    try {
      check(edge);
    } catch (error) {
      throw new Error(told(edge), { cause: error });
    }
  }
}

const told = ({ before, step, after }: Edge) => `${placeOf(before)} — ${JSON.stringify(step)} → ${placeOf(after)}`;

for (const mode of MODES) {
  describe(`the follow machine (${mode})`, () => {
    const { vertices, edges } = explore(aFollow({ mode }));
    const living = edges.filter(({ before }) => !isOver(before));

    it("reaches every state that its mode has, and no other", () => {
      assert.deepEqual(new Set(vertices.map(placeOf)), new Set(PLACES[mode]));
      assert.ok(vertices.length > 100, `only ${vertices.length} states`);
      assert.deepEqual(vertices.filter(({ status }) => status === "error"), []);
    });

    it("ends where the task, its question, an error or its caller says so, and only there", () => {
      each(living, (edge) => {
        const { before, step, after } = edge;
        const { context } = after;
        const ends = context.task !== undefined && isTerminal(context.task);
        const inVain = unanswered(context.task, context.answered).some((key) => key === "x");
        const expected: FollowEnd | undefined =
          step.type === "follow.leave"
            ? { type: "left" }
            : ends
              ? { type: "settled" }
              : inVain
                ? { type: "parked" }
                : undefined;
        if (placeOf(after) === "lost") {
          const error = "error" in step ? step.error : assert.fail();
          assert.deepEqual(after.output, { type: "lost", error });
          assert.ok(isFailed(step) || (step.type === "follow.unheard" && mode === "listen"));
          assert.equal(before.context, after.context);
        } else {
          assert.deepEqual(after.output, expected);
        }
        assert.equal(isOver(after), after.output !== undefined);
        assert.equal(isOver(after), (ENDS as readonly Place[]).includes(placeOf(after)));
        if (after.output !== undefined) assert.equal(after.output.type, placeOf(after));
      });
    });

    it("gives up at once what the server means, what may be a mishap the third time, and never what will pass", () => {
      each(living.filter(({ step }) => isFailed(step)), (edge) => {
        const name = nameOf(edge.step);
        const isLost = name === "unknown" || (name === "odd" && edge.before.context.doubts === 2);
        assert.equal(placeOf(edge.after) === "lost", isLost);
      });
    });

    it("changes nothing after its end", () => {
      each(edges.filter(({ before }) => isOver(before)), (edge) => {
        assert.equal(edge.after.value, edge.before.value);
        assert.equal(edge.after.context, edge.before.context);
        assert.deepEqual(edge.after.output, edge.before.output);
      });
    });

    it("believes a state that is no older, an end, and a question without an answer, and nothing else", () => {
      each(living, (edge) => {
        const { before, step, after } = edge;
        const brought = broughtBy(step);
        const was = before.context.task;
        if (brought === undefined) {
          assert.equal(after.context.task, was);
          return;
        }
        const isOlder = was !== undefined && timeOfChange(brought) < timeOfChange(was);
        const isBelieved = isTerminal(brought) || unanswered(brought, before.context.answered).length > 0;
        assert.equal(after.context.task, isOlder && !isBelieved ? was : brought);
      });
    });

    it("forgets its failures with a look that succeeds, and counts those that fail", () => {
      each(living, (edge) => {
        const { before, step, after } = edge;
        const { failures, doubts } = before.context;
        const counted = [after.context.failures, after.context.doubts];
        if (isDone(step)) {
          assert.deepEqual(counted, [0, 0]);
        } else if (isFailed(step) && !isOver(after)) {
          assert.deepEqual(counted, [failures + 1, doubts + (nameOf(step) === "odd" ? 1 : 0)]);
        } else {
          assert.deepEqual(counted, [failures, doubts]);
        }
      });
    });

    it("pauses as the server asks, between its bounds, and after failures longer and longer", () => {
      each(living, (edge) => {
        const { before, step, after } = edge;
        const { task, delayMs, failures } = after.context;
        if (isOver(after)) return;
        if (isDone(step)) {
          assert.equal(delayMs, hinted(task));
        } else if (isFailed(step)) {
          assert.equal(delayMs, Math.max(leastOf(step, task), 500 * 2 ** (failures - 1), wishOf(step)));
        } else if (step.type === "follow.unheard" && placeOf(after) === "pausing" && placeOf(before) !== "pausing") {
          const pause = before.context.failures > 0 ? before.context.delayMs : hinted(task);
          assert.equal(delayMs, Math.max(pause, wishOf(step)));
        } else {
          assert.equal(delayMs, before.context.delayMs);
        }
      });
      for (const { context } of vertices) {
        assert.ok(context.delayMs >= MIN, String(context.delayMs));
        const isWished = silences.some((error) => wishOf({ type: "follow.unheard", error }) === context.delayMs);
        if (context.failures === 0 && !isWished) assert.ok(context.delayMs <= MAX, String(context.delayMs));
      }
    });

    it("has questions open in asking.open, and only there", () => {
      for (const { value, context } of vertices) {
        const open = unanswered(context.task, context.answered);
        assert.deepEqual(openQuestions(context).map(([key]) => key), open);
        if (typeof value === "string") continue;
        assert.equal(value.following.asking, open.length > 0 ? "open" : "nothing", JSON.stringify(context));
      }
    });

    it("notes each answer", () => {
      each(living, (edge) => {
        const answered = edge.step.type === "follow.answered" ? [edge.step.key] : [];
        assert.deepEqual(edge.after.context.answered, [...edge.before.context.answered, ...answered]);
      });
    });

    it("looks where it says so, listens while it does, and does neither after its end", () => {
      for (const snapshot of vertices) {
        const place = placeOf(snapshot);
        const children = Object.values(snapshot.children).filter((child) => child !== undefined);
        const logics = children.map(({ src }) => src as string).toSorted();
        const looks = LOOKS.has(place) ? ["look"] : [];
        assert.deepEqual(logics, [...(LISTENS.has(place) ? ["listen"] : []), ...looks], place);
      }
    });

    it("moves only to where it should", () => {
      each(living.filter(({ after }) => !isOver(after)), (edge) => {
        const { before, step, after } = edge;
        assert.equal(placeOf(after), nextPlace(before, step));
      });
    });
  });
}

/** Where a step leads that ends nothing. */
function nextPlace(before: Snapshot, step: Step): Place {
  const { mode, failures } = before.context;
  const place = placeOf(before);
  if (isDone(step)) return place === "polling" ? "pausing" : "quiet";
  if (isFailed(step)) return place === "polling" ? "pausing" : "retrying";
  if (isTime(step)) {
    if (place === "pausing") return "polling";
    if (place === "acknowledged" || place === "retrying") return "checking";
    // To listen is to do nothing but listen.
    if (mode === "listen") return place;
    return place === "subscribing" ? "polling" : "checking";
  }
  if (step.type === "follow.acknowledged") return place === "subscribing" ? "acknowledged" : place;
  if (step.type === "follow.status") return place === "acknowledged" ? "quiet" : place;
  if (step.type === "follow.unheard" && LISTENS.has(place)) {
    // At once, but to a server that fails, or wants to be left alone.
    return failures > 0 || wishOf(step) > 0 ? "pausing" : "polling";
  }
  return place;
}

describe("the follow machine, where something is told before it starts", () => {
  for (const [mode, place] of [
    ["auto", "subscribing"],
    ["listen", "subscribing"],
    ["poll", "pausing"],
  ] as const) {
    it(`does not look at once at a task that it knows (${mode})`, () => {
      const world = new World(aFollow({ mode, task: known }));
      assert.equal(placeOf(world.snapshot), place);
      assert.equal(world.clock.untilNext, mode === "poll" ? known.pollIntervalMs : WAITS[place]);
      world.check();
      world.stop();
    });
  }

  for (const mode of MODES) {
    it(`does nothing for a task that is over, or asks in vain (${mode})`, () => {
      for (const [state, end] of [
        [states[6], "settled"],
        [states[7], "settled"],
        [states[8], "settled"],
        [states[5], "parked"],
        [asking(6, { a: form, x: roots }), "parked"],
      ] as const) {
        const world = new World(aFollow({ mode, task: state }));
        assert.deepEqual(world.end, { type: end });
        assert.deepEqual([world.begun, world.ends], [0, 1]);
        world.check();
      }
    });
  }

  it("asks nothing that was answered before", () => {
    const world = new World(aFollow({ mode: "poll", task: asking(6, { a: form, x: roots }), answered: ["a", "x"] }));
    assert.equal(world.end, undefined);
    assert.deepEqual(world.snapshot.value, { following: { waiting: "pausing", asking: "nothing" } });
    world.stop();
  });
});

/** An actor of the machine in a world that does what it is told, and notes what should not happen. */
class World {
  readonly clock = new FakeClock();
  /** What should not have happened. */
  readonly faults: string[] = [];
  /** Looks and subscriptions that began. */
  begun = 0;
  ends = 0;
  #look: { answer: PromiseWithResolvers<DetailedTask>; signal: AbortSignal } | undefined;
  #listening = 0;
  readonly #actor;

  constructor(input: FollowInput) {
    const machine = followMachine.provide({
      actors: {
        look: fromPromise<DetailedTask, string>(({ input: taskId, signal }) => {
          this.#begin("look", taskId);
          if (this.look !== undefined) this.faults.push("two looks at once");
          this.#look = { answer: Promise.withResolvers<DetailedTask>(), signal };
          return this.#look.answer.promise;
        }),
        listen: fromCallback<FollowEvent, string>(({ input: taskId }) => {
          this.#begin("subscription", taskId);
          this.#listening += 1;
          if (this.#listening > 1) this.faults.push("listens twice");
          return () => (this.#listening -= 1);
        }),
      },
    });
    this.#actor = createActor(machine, { input, clock: this.clock });
    this.#actor.subscribe({
      complete: () => (this.ends += 1),
      error: (error) => this.faults.push(`failed: ${String(error)}`),
    });
    this.#actor.start();
  }

  get snapshot(): Snapshot {
    return this.#actor.getSnapshot();
  }

  get end(): FollowEnd | undefined {
    return this.snapshot.output;
  }

  /** The look that is under way. */
  get look(): PromiseWithResolvers<DetailedTask> | undefined {
    return this.#look?.signal.aborted === false ? this.#look.answer : undefined;
  }

  get listens(): boolean {
    return this.#listening > 0;
  }

  /** Has something happen, as it would to an actor: a look is answered, time goes by, somebody tells. */
  async take(step: Step): Promise<void> {
    if (isTime(step)) {
      const { untilNext } = this.clock;
      assert.ok(untilNext !== undefined, `no timer for ${step.type}`);
      const place = placeOf(this.snapshot);
      if (untilNext > 1) await this.clock.advance(untilNext - 1);
      assert.equal(placeOf(this.snapshot), place, "nothing happens before its time");
      return this.clock.advance(Math.min(untilNext, 1));
    }
    if (isDone(step) || isFailed(step)) {
      const { look } = this;
      assert.ok(look !== undefined, `no look for ${step.type}`);
      this.#look = undefined;
      const state = broughtBy(step);
      if (state !== undefined) look.resolve(state);
      else look.reject((step as { error: unknown }).error);
      return microtasks(4);
    }
    this.#actor.send(step as FollowEvent);
    return undefined;
  }

  /** What must hold at any time. */
  check(): void {
    const place = placeOf(this.snapshot);
    assert.deepEqual(this.faults, []);
    assert.equal(this.look !== undefined, LOOKS.has(place), place);
    assert.equal(this.listens, LISTENS.has(place), place);
    assert.equal(this.ends, this.end === undefined ? 0 : 1, place);
    assert.ok(this.clock.pending <= 1, `${this.clock.pending} timers in ${place}`);
    if (this.end !== undefined) assert.equal(this.clock.pending, 0, "no timer is left");
  }

  /** Ends it. */
  stop(): void {
    this.#actor.stop();
    assert.equal(this.clock.pending, 0);
    assert.equal(this.look, undefined);
    assert.ok(!this.listens);
  }

  #begin(what: string, taskId: string): void {
    this.begun += 1;
    if (taskId !== "t") this.faults.push(`a ${what} for ${taskId}`);
    if (this.ends > 0) this.faults.push(`a ${what} after the end`);
  }
}

/** Walks an actor through steps, and checks at each what must hold at any time, and how long it waits. */
async function walk(world: World, steps: Iterable<Step>): Promise<void> {
  let pauseMs = hinted(world.snapshot.context.task);
  for (const step of steps) {
    const place = placeOf(world.snapshot);
    if (!isTime(step)) await world.clock.advance(Math.floor((world.clock.untilNext ?? 0) / 2));
    const { untilNext } = world.clock;
    await world.take(step);
    world.check();
    const next = placeOf(world.snapshot);
    const { task, failures } = world.snapshot.context;
    const backoffMs = Math.min(500 * 2 ** (failures - 1), 30_000);
    if (isDone(step)) pauseMs = hinted(task);
    else if (isFailed(step)) pauseMs = Math.max(leastOf(step, task), backoffMs, wishOf(step));
    else if (failures === 0) pauseMs = Math.max(hinted(task), wishOf(step));
    else pauseMs = Math.max(pauseMs, wishOf(step));
    if (world.end !== undefined) continue;
    const waits = next === "pausing" || next === "retrying" ? pauseMs : WAITS[next];
    // What else happens puts nothing off.
    if (!isTime(step)) assert.equal(world.clock.untilNext, next === place ? untilNext : waits, next);
    else if (next !== place) assert.equal(world.clock.untilNext, waits, next);
  }
}

const some = (...indices: number[]) => states.filter((_, index) => indices.includes(index));

/** So little that every path of it can be walked. */
const least: Happening = { states: some(6), errors: errors.slice(3, 4), keys: [], failures: 1 };
/** So little that every state can be reached by a walk of its own, and left by every step. */
const little: Happening = { states: some(1, 3, 6), errors: [errors[1], errors[3]], keys: ["a"], failures: 1 };

const stepsOf = (steps: readonly { event: { type: string } }[]) =>
  steps.map(({ event }) => event as Step).filter(({ type }) => (type as string) !== "xstate.init");

describe("a follower", () => {
  for (const mode of MODES) {
    const input = aFollow({ mode });

    it(`does on every path what the machine does, and ends once (${mode})`, async () => {
      const paths = getSimplePaths(followMachine, modelOf(input, least));
      assert.ok(paths.length > 10, `only ${paths.length} paths`);
      for (const { steps, state } of paths) {
        const world = new World(input);
        await walk(world, stepsOf(steps));
        assert.deepEqual(world.snapshot.value, state.value);
        assert.deepEqual(world.snapshot.context, state.context);
        assert.deepEqual(world.end, state.output);
        world.stop();
      }
    });

    it(`takes every step in every state as the machine does (${mode})`, async () => {
      const paths = getShortestPaths(followMachine, modelOf(input, little));
      const adjacency = getAdjacencyMap(followMachine, modelOf(input, little));
      for (const { steps, state } of paths) {
        const { transitions = {} } = adjacency[serializeState(state) as keyof typeof adjacency] ?? {};
        for (const { event, state: next } of Object.values<{ event: FollowEvent; state: Snapshot }>(transitions)) {
          // An actor that has ended takes nothing, and a look that has ended cannot end again.
          if (isOver(state) && !event.type.startsWith("follow.")) continue;
          const world = new World(input);
          await walk(world, [...stepsOf(steps), event]);
          assert.deepEqual(world.snapshot.value, next.value);
          assert.deepEqual(world.snapshot.context, next.context);
          assert.deepEqual(world.end, next.output);
          world.stop();
        }
      }
    });

    it(`keeps to all that however long it goes on (${mode})`, async () => {
      for (let seed = 1; seed <= 200; seed += 1) {
        const random = seeded(seed);
        const world = new World(input);
        await walk(world, wander(world, random));
        const { begun } = world;
        await world.clock.advance(86_400_000);
        // Nor can a look end, or time come, that is no more.
        const late = stepsIn(world.snapshot, everything).filter(({ type }) => type.startsWith("follow."));
        for (const step of late) await world.take(step);
        assert.equal(world.begun, begun, "nothing is begun after the end");
        world.check();
        world.stop();
      }
    });
  }
});

describe("a follower of a server that fails", () => {
  const away = { retry: "always" };
  const odd = { retry: "few" };

  /** The pauses after looks that fail, one for each. */
  async function pausesAfter(world: World, failures: readonly unknown[]): Promise<(number | undefined)[]> {
    const pauses: (number | undefined)[] = [];
    for (const error of failures) {
      await world.take(failedOf("polling", error));
      world.check();
      pauses.push(world.clock.untilNext);
      if (world.end === undefined) await world.take(timeOf("pausing"));
    }
    return pauses;
  }

  it("leaves it alone for longer and longer, up to half a minute, or as long as it says", async () => {
    const world = new World(aFollow({ mode: "poll" }));
    const busy = { retry: "always", retryAfterMs: 90_000 };
    assert.deepEqual(
      await pausesAfter(world, [...Array.from({ length: 9 }, () => away), busy, away]),
      [1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 90_000, 30_000],
    );
    await world.take(doneOf("polling", known));
    assert.equal(world.clock.untilNext, known.pollIntervalMs);
    world.stop();
  });

  it("doubts the task at the third look that may be no mishap, and not before, whatever fails between", async () => {
    const world = new World(aFollow({ mode: "poll" }));
    await pausesAfter(world, [away, away, away, odd, away, odd]);
    assert.equal(world.end, undefined);
    await world.take(doneOf("polling", known));
    await world.take(timeOf("pausing"));
    await pausesAfter(world, [odd, away, odd]);
    assert.equal(world.end, undefined);
    await pausesAfter(world, [odd]);
    assert.deepEqual(world.end, { type: "lost", error: odd });
  });
});

/** Whether a step may be the last. */
function bringsEnd({ snapshot }: World, step: Step): boolean {
  const brought = broughtBy(step);
  if (step.type === "follow.leave" || nameOf(step) === "unknown" || nameOf(step) === "odd") return true;
  if (step.type === "follow.unheard") return snapshot.context.mode === "listen";
  return brought !== undefined && (isTerminal(brought) || unanswered(brought, []).includes("x"));
}

/** Steps at random until the end, which most of those that would bring it put off. */
function* wander(world: World, random: () => number): Generator<Step> {
  for (let left = 60; world.end === undefined; left -= 1) {
    if (left <= 0) yield { type: "follow.leave" };
    const steps = stepsIn(world.snapshot, { ...everything, failures: 12 }).filter(
      (step) =>
        (!isTime(step) || world.clock.pending > 0) &&
        (left <= 10 || !bringsEnd(world, step) || random() < 0.01),
    );
    const step = steps[Math.floor(random() * steps.length)];
    if (step !== undefined) yield step;
  }
}
