// Options: a bad one is refused where it is given, in words that say what to write; a good one is taken.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { createHost, createRegistry, createTasks, memory } from "../../src/mod.ts";
import type { HostOptions, TaskPolicy, TasksOptions } from "../../src/mod.ts";

/** Values that are wrong on purpose: what JavaScript lets through. */
type Wrong = never;

const wrong = (value: unknown) => value as Wrong;

const named = { name: "a", version: "1" };
const NUMBERS = [-1, Number.NaN, "100", null, true, {}, [], 10n];

/** Every option that `createHost` and `createTasks` share: its bad values, what the error says, and good values. */
const shared: { [option: string]: { bad: readonly unknown[]; says: RegExp; good: readonly unknown[] } } = {
  ttlMs: {
    bad: [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "1000", {}, 10n],
    says: /^ttlMs takes a whole number of milliseconds above 0, or null for ever\.$/,
    good: [1, 3_600_000, null, Number.MAX_SAFE_INTEGER],
  },
  pollIntervalMs: {
    bad: [
      0,
      -1,
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      "100",
      null,
      {},
      { min: 1 },
      { max: 1 },
      { min: 2, max: 1 },
      { min: 0, max: 1 },
      { min: 1, max: Number.POSITIVE_INFINITY },
      [1, 2],
    ],
    says: /^pollIntervalMs takes a whole number of milliseconds above 0, or \{ min, max \} of such\.$/,
    good: [1, { min: 1, max: 1 }, { min: 100, max: 5_000 }],
  },
  inlineWithinMs: {
    bad: NUMBERS,
    says: /^inlineWithinMs takes milliseconds: a number of 0 or more, or Infinity\.$/,
    good: [0, 0.5, 100, Number.POSITIVE_INFINITY],
  },
  ...Object.fromEntries(
    ["retainMs", "tombstoneMs", "roundTtlMs", "keepAliveMs"].map((option) => [
      option,
      {
        bad: [...NUMBERS, Number.POSITIVE_INFINITY],
        says: new RegExp(`^${option} takes milliseconds: a number of 0 or more\\.$`),
        good: [0, 1, 10_000.5],
      },
    ]),
  ),
  principal: { bad: ["me", null, {}, 7], says: /^principal takes a function\.$/, good: [() => "me"] },
  onError: { bad: ["log", null, {}, 7], says: /^onError takes a function\.$/, good: [() => {}] },
  registry: {
    bad: [null, "mine", {}, { list() {}, watch() {} }],
    says: /^registry takes what createRegistry\(\) gives\.$/,
    good: [createRegistry()],
  },
  limits: {
    bad: [{ task: 1 }, { constructor: 1 }, { tasks: 0 }, { rounds: -1 }, { tasks: 1.5 }, { tasks: "9" }],
    says: /^limits\.\w+ (is unknown\. The limits are tasks, .*\.|takes a whole number above 0, or Infinity\.)$/,
    good: [{}, { tasks: 1, running: Number.POSITIVE_INFINITY }],
  },
};

for (const [what, create] of Object.entries({
  createHost: (options: TasksOptions) => createHost({ ...named, ...options }),
  createTasks: (options: TasksOptions) => createTasks(options),
})) {
  describe(`${what}'s options`, () => {
    for (const [option, { bad, says, good }] of Object.entries(shared)) {
      it(`${option} is checked`, async () => {
        for (const value of bad) {
          assert.throws(
            () => create(wrong({ [option]: value })),
            (error: Error) => {
              assert.ok(error instanceof TypeError || error instanceof RangeError, `${String(value)}: ${error.name}`);
              assert.match(error.message, says, String(value));
              return true;
            },
            String(value),
          );
        }
        for (const value of good) await create(wrong({ [option]: value })).close();
      });
    }

    it("may all be left out, or be undefined", async () => {
      await create({}).close();
      const options = ["store", "clock", ...Object.keys(shared)];
      await create(wrong(Object.fromEntries(options.map((option) => [option, undefined])))).close();
    });

    it("refuse what is no store, and what is no clock", () => {
      for (const store of [null, {}, "sqlite", { get: () => {} }]) {
        assert.throws(() => create(wrong({ store })), /^TypeError: store takes a TaskStore, for example memory\(\)/);
      }
      for (const clock of [null, {}, Date, { now: 7 }]) {
        assert.throws(() => create(wrong({ clock })), /^TypeError: clock takes a Clock/);
      }
    });
  });
}

describe("createHost's own options", () => {
  const cases: { [option: string]: { bad: readonly unknown[]; says: RegExp } } = {
    name: { bad: [undefined, "", 7, null], says: /^createHost takes a name and a version: createHost\(\{ name:/ },
    version: { bad: [undefined, "", 1], says: /^createHost takes a name and a version/ },
    setup: { bad: [7, {}, "x", null], says: /^setup takes a function\.$/ },
    auth: { bad: [7, {}, "x", null], says: /^auth takes a function\.$/ },
    path: { bad: ["mcp", "", 7, null], says: /^path takes a path such as "\/mcp"\.$/ },
    allowedHosts: {
      bad: ["localhost", [7], ["https://a.example"], ["a.example:80"], ["a.example/x"], {}, null, 7],
      says: /^allowedHosts takes host names without scheme or port/,
    },
    allowedOrigins: {
      bad: ["a.example", ["https://a.example"], ["a.example:80"], {}],
      says: /^allowedOrigins takes host names without scheme or port/,
    },
  };
  for (const [option, { bad, says }] of Object.entries(cases)) {
    it(`${option} is checked`, () => {
      for (const value of bad) {
        assert.throws(
          () => createHost(wrong({ ...named, [option]: value })),
          (error: Error) => {
            assert.ok(error instanceof TypeError || error instanceof RangeError, `${String(value)}: ${error.name}`);
            assert.match(error.message, says, String(value));
            return true;
          },
          String(value),
        );
      }
    });
  }

  it("are taken when they are good", async () => {
    const good: Partial<HostOptions>[] = [
      { allowedHosts: ["a.example", "[::1]", "127.0.0.1"] },
      { allowedHosts: "any", allowedOrigins: [] },
      { path: "/a/b", title: "A", websiteUrl: "https://example.com", instructions: "Use it well." },
      { setup: () => {}, store: memory({ tombstones: 0 }) },
    ];
    for (const options of good) await createHost({ ...named, ...options }).close();
  });
});

describe("memory's options", () => {
  it("are checked", () => {
    for (const tombstones of [-1, 1.5, Number.NaN, "10"]) {
      assert.throws(
        () => memory({ tombstones: wrong(tombstones) }),
        /^RangeError: memory\(\{ tombstones \}\) takes a whole number of 0 or more\.$/,
      );
    }
  });
});

/** Policies that are wrong, and what the error says of them. */
const policies: { [what: string]: [unknown, RegExp] } = {
  "an unknown mode": ["sometimes", /the mode is "forbidden", "optional" or "required"\.$/],
  "an unknown mode in options": [{ mode: "never" }, /the mode is "forbidden", "optional" or "required"\.$/],
  "an inlineWithinMs that is none": [{ inlineWithinMs: -1 }, /inlineWithinMs takes milliseconds/],
  "a ttlMs that is none": [{ ttlMs: 0 }, /ttlMs takes a whole number/],
  "a poll hint that is none": [{ pollIntervalMs: { min: 2, max: 1 } }, /pollIntervalMs takes a whole number/],
  "an extendOnProgress that is none": [{ extendOnProgress: "yes" }, /extendOnProgress takes true or false\.$/],
  "an option that there is not": [{ ttl: 1_000 }, /ttl is unknown\. The options are mode, inlineWithinMs, ttlMs, /],
  "a boolean": [true, /the policy is a mode, or options such as \{ mode: "optional" \}\.$/],
  "null": [null, /the policy is a mode, or options such as \{ mode: "optional" \}\.$/],
};

describe("a tool's definition", () => {
  const host = createHost(named);
  // One that is taken after all must not hide the next.
  const another = () => createHost(named);
  const work = () => "done";
  const schema = z.object({ a: z.number() });

  for (const [what, [task, says]] of Object.entries(policies)) {
    it(`is refused with ${what} for its policy`, () => {
      assert.throws(
        () => another().tool("bad", { task: task as TaskPolicy }, work),
        (error: Error) => {
          assert.ok(error instanceof TypeError || error instanceof RangeError, error.name);
          assert.match(error.message, /^host\.tool\("bad"\)/);
          assert.match(error.message, says);
          return true;
        },
      );
    });
  }

  const definitions: { [what: string]: [Parameters<typeof host.tool>, RegExp] } = {
    "no name": [[wrong(undefined), {}, work], /takes a name/],
    "an empty name": [["", {}, work], /takes a name/],
    "no work": [["bad", {}, wrong(undefined)], /takes a function, or XState actor logic/],
    "an object for its work": [["bad", {}, wrong({})], /takes a function, or XState actor logic/],
    "its work in the place of its description": [["bad", wrong(work), wrong(undefined)], /takes a function, or XState/],
    "no description": [["bad", wrong(undefined), work], /^host\.tool\("bad"\) takes what the tool is/],
    "JSON Schema for its input": [
      ["bad", wrong({ inputSchema: { type: "object" } }), work],
      /inputSchema takes a Standard Schema, for example z\.object/,
    ],
    "a raw shape for its input": [
      ["bad", wrong({ inputSchema: { a: z.number() } }), work],
      /inputSchema takes a Standard Schema/,
    ],
    "null for its output": [["bad", wrong({ outputSchema: null }), work], /outputSchema takes a Standard Schema/],
    "an input that is no object": [
      ["bad", wrong({ inputSchema: z.string() }), work],
      /inputSchema takes an object schema that JSON Schema can express\.$/,
    ],
    "an input that JSON cannot hold": [
      ["bad", { inputSchema: z.object({ at: z.date() }) }, work],
      /inputSchema takes an object schema that JSON Schema can express\.$/,
    ],
    "an output that JSON cannot hold": [
      ["bad", wrong({ outputSchema: z.object({ at: z.date() }) }), work],
      /outputSchema takes a schema that JSON Schema can express\.$/,
    ],
  };
  for (const [what, [given, says]] of Object.entries(definitions)) {
    it(`is refused with ${what}`, () => {
      assert.throws(
        () => another().tool(...given),
        (error: Error) => {
          assert.ok(error instanceof TypeError || error instanceof RangeError, `${error.name}: ${error.message}`);
          assert.match(error.message, says);
          return true;
        },
      );
    });
  }

  it("is refused a second time, and leaves the first", () => {
    host.tool("twice", { inputSchema: schema }, ({ a }) => `${a}`);
    const again = () => host.tool("twice", {}, work);
    assert.throws(again, /^TypeError: host\.tool\("twice"\): there is a tool of this name/);
  });

  it("may be chained", () => {
    assert.equal(host.tool("one", {}, work).tool("two", { task: "forbidden" }, work), host);
  });
});

describe("tasks.adopt", () => {
  const tasks = createTasks();
  for (const [what, [task, says]] of Object.entries(policies)) {
    it(`refuses ${what} for a policy`, () => {
      const server = new McpServer(named);
      assert.throws(
        () => tasks.adopt(server, { report: task as TaskPolicy }),
        (error: Error) => {
          assert.ok(error instanceof TypeError || error instanceof RangeError, error.name);
          assert.match(error.message, /^tasks\.adopt: the policy of "report"/);
          assert.match(error.message, says);
          return true;
        },
      );
    });
  }
});
