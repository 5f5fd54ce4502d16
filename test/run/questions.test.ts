// Questions to the client, asked in a task. Those of a plain call are in rounds.test.ts.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { TaskContext } from "../../src/run/context.ts";
import type { Handler } from "../../src/run/call.ts";
import { askableBy } from "../../src/run/questions.ts";
import { AbortedError, DeclinedError, InvalidAnswerError, MissingCapabilityError } from "../../src/task/errors.ts";
import type { InputRequest, JsonObject } from "../../src/task/task.ts";
import { turn } from "../support/clock.ts";
import type { Running } from "../support/running.ts";
import { gate, startRunner, taskOf } from "../support/running.ts";
import { StoreFailure, WitnessStore } from "../support/stores.ts";
import { ASKS_ALL, ASKS_NOTHING } from "../support/task.ts";

const ROOTS: InputRequest = { method: "roots/list" };
const NEVER: Promise<never> = new Promise(() => {});

/** A task whose handler does this, as soon as it is one. */
async function start(run: Running, work: (task: TaskContext) => unknown): Promise<string> {
  const handler: Handler = (_input, task) => work(task);
  return taskOf(await run.call(handler, "required")).taskId;
}

const accept = (content: JsonObject) => ({ action: "accept", content });
const keysOf = async (run: Running, taskId: string) => Object.keys((await run.get(taskId)).inputRequests);
const update = (run: Running, taskId: string, responses: JsonObject) => run.runner.update(taskId, undefined, responses);

describe("a question in a task", () => {
  it("parks the task until it is answered", async () => {
    const run = startRunner();
    const taskId = await start(run, async (task) => {
      const { name } = await task.elicit("Your name?", z.object({ name: z.string() }));
      return `Hello, ${name}!`;
    });
    await turn();
    const parked = await run.get(taskId);
    assert.equal(parked.status, "input_required");
    assert.deepEqual(parked.inputRequests, {
      "elicit-1": {
        method: "elicitation/create",
        params: {
          mode: "form",
          message: "Your name?",
          requestedSchema: {
            $schema: "https://json-schema.org/draft/2020-12/schema",
            type: "object",
            properties: { name: { type: "string" } },
            required: ["name"],
          },
        },
      },
    });
    await update(run, taskId, { "elicit-1": accept({ name: "Zoë" }) });
    await turn();
    const ended = await run.get(taskId);
    assert.deepEqual([ended.status, ended.result?.content[0]?.["text"]], ["completed", "Hello, Zoë!"]);
    run.isEmpty();
  });

  it("makes a task of an optional call at once, which is answered with the question open", async () => {
    const run = startRunner();
    const task = taskOf(await run.call((_input, task) => task.roots()));
    assert.deepEqual([task.status, task.inputRequests], ["input_required", { "roots-1": ROOTS }]);
    assert.equal(run.clock.pending, 1);
  });

  it("may be of every kind", async () => {
    const run = startRunner();
    const given: unknown[] = [];
    const taskId = await start(run, async (task) => {
      given.push(
        await Promise.all([
          task.elicit("Which?", z.object({ n: z.number(), on: z.boolean().default(true) })),
          task.elicitUrl("Sign in", new URL("https://example.com/in")),
          task.sample({ messages: [], maxTokens: 5 }),
          task.roots(),
          task.ask({ one: ROOTS, two: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } } }),
        ]),
      );
    });
    await turn();
    const { inputRequests } = await run.get(taskId);
    assert.deepEqual(
      Object.entries(inputRequests).map(([key, { method }]) => [key, method]),
      [
        ["elicit-1", "elicitation/create"],
        ["url-2", "elicitation/create"],
        ["sample-3", "sampling/createMessage"],
        ["roots-4", "roots/list"],
        ["one-5", "roots/list"],
        ["two-6", "sampling/createMessage"],
      ],
    );
    assert.deepEqual(inputRequests["url-2"]?.params, { mode: "url", message: "Sign in", url: "https://example.com/in" });
    const sampled = { role: "assistant", content: { type: "text", text: "hi" }, model: "m", extra: 1 };
    await update(run, taskId, {
      "elicit-1": accept({ n: 5, more: "tolerated" }),
      "url-2": { action: "accept" },
      "sample-3": sampled,
      "roots-4": { roots: [{ uri: "file:///home", name: "home" }] },
      "one-5": { roots: [] },
      "two-6": sampled,
    });
    await turn();
    assert.deepEqual(given, [
      [
        { n: 5, on: true },
        undefined,
        sampled,
        [{ uri: "file:///home", name: "home" }],
        { one: { roots: [] }, two: sampled },
      ],
    ]);
    assert.equal((await run.get(taskId)).status, "completed");
  });

  it("may be answered in parts, each of which goes on at once", async () => {
    const run = startRunner();
    const order: string[] = [];
    const taskId = await start(run, async (task) => {
      const asked = ["a", "b", "c"].map(async (name) => {
        await task.ask({ [name]: ROOTS });
        order.push(name);
      });
      await Promise.all(asked);
    });
    await turn();
    await update(run, taskId, { "b-2": { roots: [] } });
    await turn();
    assert.deepEqual([order, await keysOf(run, taskId)], [["b"], ["a-1", "c-3"]]);
    assert.equal((await run.get(taskId)).status, "input_required");
    await update(run, taskId, { "c-3": { roots: [] }, "a-1": { roots: [] } });
    await turn();
    assert.deepEqual(order.toSorted(), ["a", "b", "c"]);
    assert.equal((await run.get(taskId)).status, "completed");
  });

  it("never has a key that another had", async () => {
    const run = startRunner();
    const seen = new Set<string>();
    const taskId = await start(run, async (task) => {
      for (let at = 0; at < 5; at += 1) await task.roots();
    });
    for (let at = 0; at < 5; at += 1) {
      await turn();
      const [key, ...others] = await keysOf(run, taskId);
      assert.ok(key !== undefined && others.length === 0 && !seen.has(key));
      seen.add(key);
      // The answers of before come again, and change nothing.
      await update(run, taskId, Object.fromEntries([...seen].map((one) => [one, { roots: [] }])));
    }
    await turn();
    assert.equal((await run.get(taskId)).status, "completed");
  });

  it("is asked for nobody when none is asked", async () => {
    const run = startRunner();
    const taskId = await start(run, async (task) => JSON.stringify(await task.ask({})));
    await turn();
    assert.equal((await run.get(taskId)).result?.content[0]?.["text"], "{}");
  });

  it("is stored before it can be answered, and answered before the handler goes on", async () => {
    const store = new WitnessStore({ delay: () => turn(2) });
    const run = startRunner({ store });
    let went = false;
    const taskId = await start(run, async (task) => {
      await task.roots();
      went = true;
      assert.ok(store.history.get(task.taskId)?.some((state) => "inputResponses" in state && state.inputResponses["roots-1"]));
      await NEVER;
    });
    while ((await keysOf(run, taskId)).length === 0) await turn();
    const answering = update(run, taskId, { "roots-1": { roots: [] } });
    await turn();
    assert.equal(went, false);
    await answering;
    await turn();
    assert.equal(went, true);
    assert.equal((await run.get(taskId)).status, "working");
  });

  it("stays open while the store fails to take the answer, and is answered when it does again", async () => {
    let fails = false;
    const store = new WitnessStore({ failure: (_call, name) => (fails && name === "put" ? "before" : undefined) });
    const run = startRunner({ store });
    const taskId = await start(run, (task) => task.roots().then(() => "went on"));
    await turn();
    fails = true;
    await assert.rejects(update(run, taskId, { "roots-1": { roots: [] } }), StoreFailure);
    assert.equal((await run.get(taskId)).status, "input_required");
    fails = false;
    await run.clock.advance(1_000);
    assert.equal((await run.get(taskId)).status, "completed");
  });
});

describe("an ill-formed answer", () => {
  it("refuses the whole update, and leaves every question open", async () => {
    const run = startRunner();
    const taskId = await start(run, async (task) => {
      await Promise.all([task.roots(), task.elicit("Sure?", z.object({ yes: z.boolean() }))]);
    });
    await turn();
    const before = await run.get(taskId);
    const responses = { "roots-1": { roots: [] }, "elicit-2": accept({ yes: "perhaps" }) };
    await assert.rejects(update(run, taskId, responses), (error) => {
      assert.ok(error instanceof InvalidAnswerError);
      assert.match(error.message, /The answer to "elicit-2" was refused: yes: /);
      return true;
    });
    assert.equal(await run.get(taskId), before);
    await update(run, taskId, { ...responses, "elicit-2": accept({ yes: true }) });
    await turn();
    assert.equal((await run.get(taskId)).status, "completed");
  });

  it("is what the asker's own schema refuses, whatever the JSON Schema says", async () => {
    const run = startRunner();
    const even = z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") });
    const late = z.object({ s: z.string().refine(async (s) => s.length > 2, "too short") });
    const taskId = await start(run, async (task) => {
      const [{ n }, { s }] = await Promise.all([task.elicit("Even?", even), task.elicit("Long?", late)]);
      return `${n} ${s}`;
    });
    await turn();
    const good = { "elicit-1": accept({ n: 4 }), "elicit-2": accept({ s: "long" }) };
    await assert.rejects(update(run, taskId, { ...good, "elicit-1": accept({ n: 3 }) }), /"elicit-1" was refused: n: must be even/);
    await assert.rejects(update(run, taskId, { ...good, "elicit-2": accept({ s: "s" }) }), /"elicit-2" was refused: s: too short/);
    assert.deepEqual(await keysOf(run, taskId), ["elicit-1", "elicit-2"]);
    await update(run, taskId, good);
    await turn();
    assert.equal((await run.get(taskId)).result?.content[0]?.["text"], "4 long");
  });

  it("may be declined instead, which no schema refuses", async () => {
    const run = startRunner();
    const never = z.object({ n: z.number().refine(() => false, "never") });
    const taskId = await start(run, (task) => task.elicit("Impossible?", never));
    await turn();
    await assert.rejects(update(run, taskId, { "elicit-1": accept({ n: 3 }) }), InvalidAnswerError);
    await update(run, taskId, { "elicit-1": { action: "cancel" } });
    await turn();
    assert.equal((await run.get(taskId)).result?.isError, true);
  });

  it("may be so long, in bytes", async () => {
    const run = startRunner({ answerBytes: 60 });
    const taskId = await start(run, (task) => task.elicit("Text?", z.object({ s: z.string() })));
    await turn();
    await assert.rejects(
      update(run, taskId, { "elicit-1": accept({ s: "é".repeat(30) }) }),
      /The answers: \d+ bytes, where 60 .*limits\.answerBytes/,
    );
    await update(run, taskId, { "elicit-1": accept({ s: "" }) });
  });
});

describe("a question that is declined", () => {
  for (const action of ["decline", "cancel"] as const) {
    it(`(${action}) rejects, and uncaught is a result that says so`, async () => {
      const run = startRunner();
      const caught: unknown[] = [];
      const taskId = await start(run, async (task) => {
        await task.elicitUrl("Open it?", "https://example.com").catch((error: unknown) => caught.push(error));
        await task.elicit("Sure?", z.object({ yes: z.boolean() }));
      });
      await turn();
      await update(run, taskId, { "url-1": { action } });
      await turn();
      await update(run, taskId, { "elicit-2": { action, content: "ignored" } });
      await turn();
      assert.ok(caught[0] instanceof DeclinedError && caught[0].action === action);
      const { status, result } = await run.get(taskId);
      const word = action === "decline" ? "declined" : "dismissed";
      assert.equal(status, "completed");
      assert.deepEqual(result, {
        content: [{ type: "text", text: `The question was ${word}: Sure?` }],
        isError: true,
      });
      assert.deepEqual(run.errors, []);
      run.isEmpty();
    });
  }
});

describe("what a client did not declare that it can be asked", () => {
  const kinds: [string, keyof typeof ASKS_ALL, (task: TaskContext) => Promise<unknown>, object][] = [
    ["a form", "form", (task) => task.elicit("?", z.object({ a: z.string() })), { elicitation: { form: {} } }],
    ["a page", "url", (task) => task.elicitUrl("?", "https://example.com"), { elicitation: { url: {} } }],
    ["its model", "sampling", (task) => task.sample({ messages: [] }), { sampling: {} }],
    ["its model with tools", "samplingTools", (task) => task.sample({ tools: [] }), { sampling: { tools: {} } }],
    ["its roots", "roots", (task) => task.roots(), { roots: {} }],
    ["a raw form", "form", (task) => task.ask({ q: { method: "elicitation/create", params: {} } }), { elicitation: { form: {} } }],
  ];
  for (const [what, kind, ask, requiredCapabilities] of kinds) {
    it(`is not asked: ${what}`, async () => {
      for (const askable of [ASKS_NOTHING, { ...ASKS_ALL, [kind]: false }]) {
        const run = startRunner();
        const caught: unknown[] = [];
        const taskId = taskOf(
          await run.call((_input, task) => ask(task).catch((error: unknown) => caught.push(error)), "required", { askable }),
        ).taskId;
        await turn();
        const [error] = caught;
        assert.ok(error instanceof MissingCapabilityError);
        assert.equal(error.rpcCode, -32_021);
        if (askable !== ASKS_NOTHING) assert.deepEqual(error.data, { requiredCapabilities });
        assert.ok(run.store.history.get(taskId)?.every((state) => state.status !== "input_required"));
      }
    });
  }

  it("keeps the slot with the handler that goes on without it", async () => {
    const run = startRunner({ running: 1 });
    const work = gate();
    await run.call(
      async (_input, task) => {
        await task.roots().catch(() => {});
        await work.promise;
      },
      "required",
      { askable: ASKS_NOTHING },
    );
    await turn();
    assert.equal(run.runner.sizes.taken, 1);
    work.open();
    await turn();
  });

  it("asks all of several questions or none", async () => {
    const run = startRunner();
    const askable = { ...ASKS_ALL, sampling: false };
    const { taskId } = taskOf(
      await run.call(
        async (_input, task) => {
          const asked = task.ask({ one: ROOTS, two: { method: "sampling/createMessage" }, three: ROOTS });
          await assert.rejects(asked, MissingCapabilityError);
          return "went on";
        },
        "required",
        { askable },
      ),
    );
    await turn();
    assert.deepEqual(
      run.store.history.get(taskId)?.map(({ status }) => status),
      ["working", "completed"],
    );
  });

  it("is refused by name where there is no such question", async () => {
    const run = startRunner();
    const caught: unknown[] = [];
    await start(run, async (task) => {
      const odd = { method: "tools/call" } as unknown as InputRequest;
      await task.ask({ odd }).catch((error: unknown) => caught.push(error));
      const nested = z.object({ a: z.object({ b: z.string() }) });
      await task.elicit("Nested?", nested).catch((error: unknown) => caught.push(error));
    });
    await turn();
    assert.match(String(caught[0]), /A question's method is .* not "tools\/call"/);
    assert.ok(caught[1] instanceof Error);
    assert.equal(run.runner.sizes.taken, 0);
  });

  it("is read from the request's capabilities", () => {
    const cases: [JsonObject, Partial<typeof ASKS_ALL>][] = [
      [{}, {}],
      [{ elicitation: {} }, { form: true }],
      [{ elicitation: { form: {} } }, { form: true }],
      [{ elicitation: { url: {} } }, { url: true }],
      [{ elicitation: { form: {}, url: {} } }, { form: true, url: true }],
      [{ elicitation: true }, {}],
      [{ sampling: {} }, { sampling: true }],
      [{ sampling: { tools: {} } }, { sampling: true, samplingTools: true }],
      [{ roots: {} }, { roots: true }],
      [{ roots: { listChanged: true }, extensions: {} }, { roots: true }],
    ];
    for (const [capabilities, expected] of cases) {
      assert.deepEqual(askableBy(capabilities), { ...ASKS_NOTHING, ...expected }, JSON.stringify(capabilities));
    }
    assert.equal(askableBy({ roots: {} }), askableBy({ roots: { listChanged: true } }));
  });
});

describe("a question that is never answered", () => {
  it("rejects when the task is cancelled, expires, or the host closes", async () => {
    const ends: [string, (run: Running, taskId: string) => Promise<void>][] = [
      ["The task was cancelled by request.", (run, taskId) => run.runner.cancel(taskId, undefined)],
      ["Task has expired", (run) => run.clock.advance(100_000)],
      ["The server shut down before the work was done", (run) => run.runner.close(0)],
    ];
    for (const [message, end] of ends) {
      const run = startRunner();
      const caught: unknown[] = [];
      const taskId = await start(run, (task) =>
        Promise.all([task.roots(), task.ask({ a: ROOTS })]).catch((error: unknown) => caught.push(error)),
      );
      await turn();
      await end(run, taskId);
      await turn();
      const [error] = caught;
      assert.ok(error instanceof AbortedError);
      assert.equal(error.message, message);
      run.isEmpty();
    }
  });

  it("ends no process when its handler does not wait for it", async () => {
    const run = startRunner();
    const work = gate();
    const ids = [
      await start(run, async (task) => {
        void task.roots();
        void task.elicit("?", z.object({ a: z.string() }));
        void task.elicitUrl("?", "https://example.com");
        void task.sample({});
        void task.ask({ a: ROOTS });
        void task.sleep("long", 1_000_000);
        await work.promise;
      }),
      taskOf(
        await run.call(
          async (_input, task) => {
            void task.roots();
            void task.sleep("wrong", -1);
            await work.promise;
          },
          "required",
          { askable: ASKS_NOTHING },
        ),
      ).taskId,
    ];
    await turn();
    await update(run, ids[0] ?? "", { "url-3": { action: "decline" } });
    for (const taskId of ids) await run.runner.cancel(taskId, undefined);
    await turn();
    run.isEmpty();
    assert.equal(run.clock.pending, 1);
  });

  it("is not asked any more when the handler is done", async () => {
    const run = startRunner();
    let late: Promise<unknown> = Promise.resolve();
    const done = gate();
    const taskId = await start(run, (task) => {
      late = done.promise.then(() => task.roots());
      return "done";
    });
    await turn();
    done.open();
    await assert.rejects(late, AbortedError);
    assert.equal((await run.get(taskId)).status, "completed");
  });

  it("is not waited for by a handler that ends without it", async () => {
    const run = startRunner();
    let asked: Promise<unknown> = Promise.resolve();
    const taskId = await start(run, async (task) => {
      asked = task.roots();
      await task.sleep("at most", 50);
      return "without it";
    });
    await run.clock.advance(50);
    assert.equal((await run.get(taskId)).result?.content[0]?.["text"], "without it");
    await update(run, taskId, { "roots-1": { roots: [] } });
    await assert.rejects(asked, /The work was done before the question was answered/);
    run.isEmpty();
  });
});
