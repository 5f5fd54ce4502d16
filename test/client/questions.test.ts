// Questions: who answers them, how often, when the answers go out, and what becomes of them when the task ends.
import { Client } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { InputContext, InputHandlers } from "../../src/client/mod.ts";
import { InputHandlerError, InputRequiredError, createTaskClient } from "../../src/client/mod.ts";
import { turn } from "../support/clock.ts";
import { fails, gives, lies, usual } from "../support/difficult-behaviours.ts";
import type { Behaviour } from "../support/difficult-server.ts";
import type { Meeting } from "../support/following.ts";
import { doorNames, expectOutcome, form, named, textOf, untilOver, withDifficult } from "../support/following.ts";
import { gate, until } from "../support/until.ts";

const SECOND = 1_000;
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

const url = { method: "elicitation/create", params: { mode: "url", message: "Sign in", url: "https://example.test/in", elicitationId: "e1" } };
const sampling = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 10 },
};
const roots = { method: "roots/list" };
const sampled = { role: "assistant" as const, content: { type: "text" as const, text: "Hello" }, model: "m", stopReason: "endTurn" };
const rooted = { roots: [{ uri: "file:///tmp", name: "tmp" }] };

/** What the server got for an answer to each key. */
function answersTo({ answers }: Meeting["server"]): { [key: string]: unknown } {
  return Object.fromEntries(answers.map(({ key, response }) => [key, response]));
}

const all = {
  form: () => named("Ann"),
  url: () => ({ action: "accept" as const }),
  sampling: () => sampled,
  roots: () => rooted,
} satisfies InputHandlers;

describe("handlers", () => {
  for (const mode of ["poll", "auto", "listen"] as const) {
    it(
      `of each kind are handed the params, the task, the key and a signal (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const heard: [kind: string, params: unknown, context: InputContext][] = [];
        const hearing = (kind: keyof typeof all) => (params: object, context: InputContext) => {
          heard.push([kind, params, context]);
          return all[kind]();
        };
        const input = {
          form: hearing("form"),
          url: hearing("url"),
          sampling: hearing("sampling"),
          roots: hearing("roots"),
        } as InputHandlers;
        const { pending, taskId } = await begin({ mode, input });
        await pass(100);
        server.ask(taskId, { f: form(), u: url, s: sampling, r: roots, old: { ...form(), params: { ...form().params, mode: undefined } } });
        await pass(5 * SECOND);
        assert.deepEqual(
          heard.map(([kind, , { key }]) => [kind, key]),
          [["form", "f"], ["url", "u"], ["sampling", "s"], ["roots", "r"], ["form", "old"]],
        );
        const [first] = heard;
        assert.deepEqual(first?.[1], form().params);
        assert.equal(first?.[2].task?.taskId, taskId);
        assert.equal(first?.[2].task?.status, "input_required");
        assert.ok(first?.[2].signal instanceof AbortSignal);
        assert.deepEqual(answersTo(server), {
          f: named("Ann"),
          u: { action: "accept" },
          s: sampled,
          r: rooted,
          old: named("Ann"),
        });
        assert.equal(server.task(taskId)["status"], "working");
        server.complete(taskId);
        await pass(SECOND);
        assert.equal(textOf(await pending.outcome()), "done");
      }),
    );
  }

  for (const door of doorNames) {
    it(
      `answer a question ${door}`,
      withDifficult({ door }, async ({ server, clock, client }) => {
        server.on("tools/call", (exchange) => {
          exchange.result({ resultType: "task", ...server.make() });
          server.ask("task-1", { q: form() });
        });
        server.on("tasks/update", (exchange) => {
          server.usual(exchange);
          server.complete("task-1", "thanks");
        });
        const outcome = client.callAndWait({ name: "work" }, { input: all });
        await untilOver(clock, outcome);
        assert.equal(textOf(await outcome), "thanks");
        assert.deepEqual(answersTo(server), { q: named("Ann") });
        assert.deepEqual(server.afterEnd(), []);
      }),
    );
  }

  it(
    "of a kind that is missing keep all others from running, and the questions are given back",
    withDifficult({}, async ({ server, begin, pass, client }) => {
      let ran = 0;
      const { pending, taskId } = await begin({
        mode: "poll",
        input: { form: () => (ran++, named("Ann")), roots: () => (ran++, rooted) },
      });
      const questions = { f: form(), r: roots, s: sampling };
      server.ask(taskId, questions);
      await pass(SECOND);
      const outcome = expectOutcome(await pending.outcome(), "input_required");
      assert.deepEqual(outcome.inputRequests, questions);
      assert.equal(outcome.task?.taskId, taskId);
      assert.equal(ran, 0);
      assert.equal(server.count("tasks/update"), 0);
      await assert.rejects(pending.result(), (error) => {
        assert.ok(error instanceof InputRequiredError);
        assert.equal(error.code, "INPUT_REQUIRED");
        assert.deepEqual(error.inputRequests, questions);
        assert.ok(error.reference !== undefined);
        return true;
      });
      assert.equal(server.count("tasks/cancel"), 0);
      const again = client.follow(taskId, { mode: "poll", input: all });
      await pass(SECOND);
      server.complete(taskId);
      await pass(2 * SECOND);
      assert.equal(textOf(await again.outcome()), "done");
    }),
  );

  it(
    "are missing for a kind of question that nobody knows",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "poll", input: all });
      server.ask(taskId, { odd: { method: "telepathy/read", params: {} } });
      await pass(SECOND);
      expectOutcome(await pending.outcome(), "input_required");
    }),
  );

  it(
    "that none was given for any kind give the questions back",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "auto" });
      await pass(100);
      server.ask(taskId, { q: form() });
      await pass(0);
      expectOutcome(await pending.outcome(), "input_required");
    }),
  );

  it(
    "are declared with the call, and with nothing else that the client is",
    withDifficult({}, async ({ server, begin, client }) => {
      const declared = (at: number) => {
        const meta = server.requests("tools/call")[at]?.params["_meta"] as { [key: string]: { [key: string]: unknown } };
        return meta[CAPABILITIES];
      };
      const { pending } = await begin({ input: { form: all.form } });
      assert.deepEqual(declared(0), { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } });
      const other = await begin({ input: all });
      assert.deepEqual(Object.keys(declared(1) ?? {}).toSorted(), ["elicitation", "extensions", "roots", "sampling"]);
      const none = await begin({});
      assert.deepEqual(declared(2), { extensions: { "io.modelcontextprotocol/tasks": {} } });
      await client.listTools();
      for (const one of [pending, other.pending, none.pending]) one.detach();
    }),
  );
});

describe("a response", () => {
  const misfits: [name: string, question: object, input: object][] = [
    ["is no object", form(), { form: () => "yes" }],
    ["has no action", form(), { form: () => ({ content: { name: "Ann" } }) }],
    ["has an action that is none", form(), { form: () => ({ action: "perhaps" }) }],
    ["does not fit the schema", form(), { form: () => ({ action: "accept", content: { name: 7 } }) }],
    ["lacks what is required", form(), { form: () => ({ action: "accept", content: {} }) }],
    ["is nothing", form(), { form: () => undefined }],
    ["of a model is none", sampling, { sampling: () => ({ text: "hi" }) }],
    ["of roots is none", roots, { roots: () => [] }],
    ["of roots has one without a URI", roots, { roots: () => ({ roots: [{ name: "x" }] }) }],
    ["of a page has no action", url, { url: () => ({}) }],
  ];
  for (const [name, question, input] of misfits) {
    it(
      `that ${name} is not sent`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll", input });
        server.ask(taskId, { "the key": question });
        await pass(SECOND);
        const { error } = expectOutcome(await pending.outcome(), "failed");
        assert.ok(error instanceof InputHandlerError);
        assert.equal(error.code, "INPUT_FAILED");
        assert.equal(error.key, "the key");
        assert.equal(error.cancelled, false);
        assert.equal(error.task?.taskId, taskId);
        assert.match(error.message, /the key/);
        assert.equal(server.count("tasks/update"), 0);
        assert.equal(server.count("tasks/cancel"), 0);
      }),
    );
  }

  for (const action of ["decline", "cancel"] as const) {
    it(
      `that is "${action}" is one`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll", input: { form: () => ({ action }) } });
        server.ask(taskId, { q: form() });
        await pass(SECOND);
        assert.deepEqual(answersTo(server), { q: { action } });
        pending.detach();
      }),
    );
  }
});

describe("a question", () => {
  for (const mode of ["poll", "auto", "listen"] as const) {
    it(
      `is asked once, whatever polls and notifications say while it is open (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const answer = gate<ReturnType<typeof named>>();
        let asked = 0;
        const { pending, taskId } = await begin({ mode, input: { form: () => (asked++, answer.opened) } });
        await pass(100);
        server.ask(taskId, { q: form() });
        for (let nth = 0; nth < 5; nth += 1) {
          await pass(SECOND);
          server.change(taskId, { statusMessage: `still ${nth}` });
          server.tell(taskId);
        }
        await pass(SECOND);
        assert.equal(asked, 1);
        answer.open(named("Ann"));
        await pass(SECOND);
        assert.equal(server.count("tasks/update"), 1);
        server.complete(taskId);
        await pass(SECOND);
        assert.equal(textOf(await pending.outcome()), "done");
      }),
    );

    it(
      `is asked once by a server that acknowledges the answer and shows the question still (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        let asked = 0;
        server.on("tasks/update", (exchange, server) => {
          server.take(exchange, false);
          exchange.result({ resultType: "complete" });
        });
        const { pending, taskId } = await begin({ mode, input: { form: () => (asked++, named("Ann")) } });
        await pass(100);
        server.ask(taskId, { q: form() });
        await pass(SECOND);
        for (let nth = 0; nth < 5; nth += 1) {
          server.change(taskId, { statusMessage: `still ${nth}` });
          await pass(SECOND);
        }
        server.complete(taskId);
        await pass(SECOND);
        assert.equal(textOf(await pending.outcome()), "done");
        assert.equal(asked, 1);
        assert.equal(server.count("tasks/update"), 1);
      }),
    );

    it(
      `is asked once where it went and came again (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        let asked = 0;
        const answer = gate<ReturnType<typeof named>>();
        const { pending, taskId } = await begin({ mode, input: { form: () => (asked++, answer.opened) } });
        await pass(100);
        const questions = { q: form() };
        server.ask(taskId, questions);
        await pass(SECOND);
        assert.equal(asked, 1);
        const { inputRequests: _, ...rest } = server.task(taskId);
        server.tasks.set(taskId, rest);
        server.change(taskId, { status: "working" });
        await pass(SECOND);
        server.ask(taskId, questions);
        await pass(SECOND);
        answer.open(named("Ann"));
        await pass(SECOND);
        assert.equal(asked, 1);
        pending.detach();
      }),
    );
  }

  it(
    "that is answered is not asked by a stale snapshot, nor with the next question",
    withDifficult({}, async ({ server, begin, pass }) => {
      const asked: string[] = [];
      const { pending, taskId } = await begin({
        mode: "poll",
        input: { form: (_params, { key }) => (asked.push(key), named(key)) },
      });
      server.ask(taskId, { one: form() });
      const stale = server.snapshot(taskId);
      await pass(SECOND);
      server.on("tasks/get", gives(stale), lies({ status: "input_required", inputRequests: { one: form(), two: form() } }), usual);
      await pass(SECOND);
      assert.deepEqual(asked, ["one"]);
      server.ask(taskId, { two: form() });
      await pass(SECOND);
      assert.deepEqual(asked, ["one", "two"]);
      await pass(SECOND);
      assert.deepEqual(server.answers.map(({ key }) => key), ["one", "two"]);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "is asked beside others, while waiting goes on; each answer goes out when it is there",
    withDifficult({}, async ({ server, begin, pass }) => {
      const answers = { a: gate<ReturnType<typeof named>>(), b: gate<ReturnType<typeof named>>(), c: gate<ReturnType<typeof named>>() };
      const asked: string[] = [];
      const { pending, taskId } = await begin({
        mode: "poll",
        input: {
          form: (_params, { key }) => {
            asked.push(key);
            return answers[key as keyof typeof answers].opened;
          },
        },
      });
      server.ask(taskId, { a: form(), b: form() });
      await pass(SECOND);
      assert.deepEqual(asked, ["a", "b"]);
      await pass(2 * SECOND);
      assert.equal(server.count("tasks/get"), 3, "waiting goes on");
      server.ask(taskId, { c: form() });
      await pass(SECOND);
      assert.deepEqual(asked, ["a", "b", "c"]);
      answers.b.open(named("B"));
      await pass(0);
      assert.deepEqual(server.answers.map(({ key }) => key), ["b"]);
      answers.c.open(named("C"));
      await pass(0);
      assert.deepEqual(server.answers.map(({ key }) => key), ["b", "c"]);
      assert.equal(server.task(taskId)["status"], "input_required");
      answers.a.open(named("A"));
      await pass(0);
      assert.deepEqual(answersTo(server), { a: named("A"), b: named("B"), c: named("C") });
      assert.equal(server.task(taskId)["status"], "working");
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "is closed by the server: its prompt is aborted, and its answer is not sent",
    withDifficult({}, async ({ server, begin, pass }) => {
      const answer = gate<ReturnType<typeof named>>();
      const signals: { [key: string]: AbortSignal } = {};
      const { pending, taskId } = await begin({
        mode: "poll",
        input: {
          form: (_params, { key, signal }) => {
            signals[key] = signal;
            return answer.opened;
          },
        },
      });
      server.ask(taskId, { gone: form(), open: form() });
      await pass(SECOND);
      server.change(taskId, { inputRequests: { open: form() } });
      await pass(SECOND);
      assert.deepEqual([signals["gone"]?.aborted, signals["open"]?.aborted], [true, false]);
      answer.open(named("Ann"));
      await pass(SECOND);
      assert.deepEqual(server.answers.map(({ key }) => key), ["open"]);
      pending.detach();
    }),
  );

  const ends: { [name: string]: (meeting: Meeting, pending: { detach(): void }, taskId: string) => void } = {
    "completes": ({ server }, _, taskId) => void server.complete(taskId),
    "fails": ({ server }, _, taskId) => void server.change(taskId, { status: "failed", error: { code: -1, message: "no" } }),
    "is cancelled": ({ server }, _, taskId) => void server.change(taskId, { status: "cancelled" }),
    "expires": ({ server }) => void server.on("tasks/get", fails(-32602, "Task has expired")),
    "is left": (_, pending) => pending.detach(),
    "is left by the client that closes": ({ client }) => void client.close(),
  };
  for (const [name, end] of Object.entries(ends)) {
    it(
      `whose task ${name} is aborted, and its answer is not sent`,
      withDifficult({}, async (meeting) => {
        const { server, begin, pass } = meeting;
        const answer = gate<ReturnType<typeof named>>();
        const signals: AbortSignal[] = [];
        const { pending, taskId } = await begin({
          mode: "poll",
          input: { form: (_params, { signal }) => (signals.push(signal), answer.opened) },
        });
        server.ask(taskId, { q: form(), p: form() });
        await pass(SECOND);
        assert.deepEqual(signals.map(({ aborted }) => aborted), [false, false]);
        end(meeting, pending, taskId);
        await pass(SECOND);
        assert.deepEqual(signals.map(({ aborted }) => aborted), [true, true]);
        assert.ok(signals.every(({ reason }) => reason instanceof Error));
        await pending.outcome();
        answer.open(named("too late"));
        await pass(60 * SECOND);
        assert.deepEqual(server.answers, []);
      }),
    );
  }
});

describe("a handler that fails", () => {
  const failures: [name: string, handler: () => never | Promise<never>][] = [
    ["throws", () => { throw new Error("no screen"); }],
    ["rejects", () => Promise.reject(new Error("no screen"))],
  ];
  for (const [name, handler] of failures) {
    for (const cancelOnInputError of [false, true]) {
      it(
        `(${name}) ends the wait, names the key, and the task ${cancelOnInputError ? "is cancelled" : "keeps running"}`,
        withDifficult({}, async ({ server, begin, pass }) => {
          const { pending, taskId } = await begin({ mode: "poll", cancelOnInputError, input: { form: handler } });
          server.ask(taskId, { "what-name": form() });
          await pass(SECOND);
          const { error, task } = expectOutcome(await pending.outcome(), "failed");
          assert.ok(error instanceof InputHandlerError);
          assert.equal(error.code, "INPUT_FAILED");
          assert.equal(error.key, "what-name");
          assert.equal(error.cancelled, cancelOnInputError);
          assert.equal((error.cause as Error).message, "no screen");
          assert.match(error.message, cancelOnInputError ? /what-name.*no screen.*cancelled/ : /what-name.*no screen.*keeps running/);
          assert.equal(task?.taskId, taskId);
          assert.equal(server.count("tasks/cancel"), cancelOnInputError ? 1 : 0);
          assert.equal(server.task(taskId)["status"], cancelOnInputError ? "cancelled" : "input_required");
          await assert.rejects(pending.result(), error);
          const before = server.requests().length;
          await pass(60 * SECOND);
          assert.equal(server.requests().length, before, "nothing is sent after the end of the wait");
        }),
      );
    }
  }

  it(
    "aborts the prompts beside it",
    withDifficult({}, async ({ server, begin, pass }) => {
      let other: AbortSignal | undefined;
      const { pending, taskId } = await begin({
        mode: "poll",
        input: {
          form: () => Promise.reject(new Error("no screen")),
          roots: (_params, { signal }) => {
            other = signal;
            return new Promise(() => {});
          },
        },
      });
      server.ask(taskId, { q: form(), r: roots });
      await pass(SECOND);
      expectOutcome(await pending.outcome(), "failed");
      assert.equal(other?.aborted, true);
    }),
  );

  it(
    "after the task has ended harms nothing",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({
        mode: "poll",
        input: {
          form: (_params, { signal }) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener("abort", () => reject(signal.reason as Error));
            }),
        },
      });
      server.ask(taskId, { q: form() });
      await pass(SECOND);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );
});

describe("an update", () => {
  it(
    "that the server refuses ends the wait with its key",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("tasks/update", fails(-32602, "I do not like it"));
      const { pending, taskId } = await begin({ mode: "poll", input: all });
      server.ask(taskId, { q: form() });
      await pass(SECOND);
      const { error } = expectOutcome(await pending.outcome(), "failed");
      assert.ok(error instanceof InputHandlerError);
      assert.equal(error.key, "q");
      assert.match(error.message, /I do not like it/);
      assert.equal(server.count("tasks/update"), 1);
    }),
  );

  const mishaps: [name: string, behaviour: Behaviour][] = [
    ["an internal error", fails(-32603, "Oops")],
    ["a dropped connection", (exchange) => exchange.cut()],
  ];
  for (const [name, behaviour] of mishaps) {
    it(
      `goes out again after ${name}, and its question is not asked again`,
      withDifficult({}, async ({ server, begin, pass }) => {
        let asked = 0;
        server.on("tasks/update", behaviour, behaviour, usual);
        const { pending, taskId } = await begin({ mode: "poll", input: { form: () => (asked++, named("Ann")) } });
        server.ask(taskId, { q: form() });
        await pass(10 * SECOND);
        assert.deepEqual(answersTo(server), { q: named("Ann") });
        assert.equal(asked, 1);
        assert.equal(server.count("tasks/update"), 3);
        server.complete(taskId);
        await pass(SECOND);
        assert.equal(textOf(await pending.outcome()), "done");
      }),
    );
  }
});

describe('"return"', () => {
  it(
    "gives the questions back, to be answered by hand",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "poll", input: "return" });
      server.ask(taskId, { q: form() });
      await pass(SECOND);
      const outcome = expectOutcome(await pending.outcome(), "input_required");
      assert.deepEqual(outcome.inputRequests, { q: form() });
      assert.ok(outcome.reference !== undefined);
      const answered = client.updateTask(taskId, { q: named("Ann") });
      await pass(0);
      await answered;
      const again = client.resume(outcome.reference, { mode: "poll", input: "return" });
      await pass(SECOND);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await again.outcome()), "done");
      assert.deepEqual(answersTo(server), { q: named("Ann") });
    }),
  );
});

describe("a function that answers", () => {
  it(
    "is handed the task with the questions that have no answer yet, and is asked again for those it leaves out",
    withDifficult({}, async ({ server, begin, pass }) => {
      const seen: string[][] = [];
      const { pending, taskId } = await begin({
        mode: "poll",
        input: (task) => {
          seen.push(Object.keys(task.inputRequests));
          assert.equal(task.taskId, taskId);
          const [key] = Object.keys(task.inputRequests);
          return key === undefined ? {} : { [key]: named(key) };
        },
      });
      server.ask(taskId, { a: form(), b: form() });
      await pass(SECOND);
      assert.deepEqual(seen, [["a", "b"], ["b"]]);
      assert.deepEqual(answersTo(server), { a: named("a"), b: named("b") });
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  const misfits: [name: string, answer: () => unknown][] = [
    ["gives no map", () => "yes"],
    ["gives nothing", () => undefined],
    ["gives an answer that does not fit", () => ({ q: { action: "perhaps" } })],
    ["throws", () => { throw new Error("no screen"); }],
  ];
  for (const [name, answer] of misfits) {
    it(
      `and ${name} ends the wait`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll", input: answer as () => { [key: string]: object } });
        server.ask(taskId, { q: form() });
        await pass(SECOND);
        const { error } = expectOutcome(await pending.outcome(), "failed");
        assert.ok(error instanceof InputHandlerError);
        assert.equal(error.key, undefined);
        assert.equal(server.count("tasks/update"), 0);
      }),
    );
  }
});

describe("a call that asks before it is a task", () => {
  const round = (nth: number, more: object = {}): Behaviour =>
    gives({ resultType: "input_required", inputRequests: { [`q${nth}`]: form(`Question ${nth}?`) }, requestState: `state-${nth}`, ...more });

  for (const door of doorNames) {
    it(
      `is answered round by round, and becomes a task ${door}`,
      withDifficult({ door }, async ({ server, client, clock }) => {
        server.on("tools/call", round(1), round(2), usual);
        const contexts: InputContext[] = [];
        const pending = client.beginCallTool(
          { name: "work", arguments: { a: 1 } },
          { mode: "poll", input: { form: (_params, context) => (contexts.push(context), named(context.key)) } },
        );
        const task = await pending.created;
        assert.equal(task?.taskId, "task-1");
        assert.deepEqual(contexts.map(({ key, task }) => [key, task]), [["q1", undefined], ["q2", undefined]]);
        const calls = server.requests("tools/call").map(({ params }) => [params["arguments"], params["inputResponses"], params["requestState"]]);
        assert.deepEqual(calls, [
          [{ a: 1 }, undefined, undefined],
          [{ a: 1 }, { q1: named("q1") }, "state-1"],
          [{ a: 1 }, { q2: named("q2") }, "state-2"],
        ]);
        server.complete("task-1");
        await clock.advance(SECOND);
        assert.equal(textOf(await pending.outcome()), "done");
      }),
    );
  }

  it(
    "is answered inline after all",
    withDifficult({}, async ({ server, client }) => {
      server.on("tools/call", round(1), gives({ resultType: "complete", content: [{ type: "text", text: "hello" }] }));
      const outcome = await client.callAndWait({ name: "work" }, { input: all });
      assert.equal(textOf(outcome), "hello");
    }),
  );

  it(
    "gives the questions back where nobody answers them, and goes on with the answers",
    withDifficult({}, async ({ server, client }) => {
      server.on("tools/call", round(1), gives({ resultType: "complete", content: [{ type: "text", text: "hello" }] }));
      const outcome = expectOutcome(await client.callAndWait({ name: "work" }, { input: "return" }), "input_required");
      assert.equal(outcome.requestState, "state-1");
      assert.deepEqual(outcome.inputRequests, { q1: form("Question 1?") });
      assert.equal(outcome.task, undefined);
      assert.equal(outcome.reference, undefined);
      const result = await client.callTool({
        name: "work",
        inputResponses: { q1: named("Ann") },
        requestState: outcome.requestState,
      });
      assert.deepEqual(result.content, [{ type: "text", text: "hello" }]);
      assert.deepEqual(server.requests("tools/call")[1]?.params["inputResponses"], { q1: named("Ann") });
    }),
  );

  it(
    "is made again where it asks nothing and gives a state",
    withDifficult({}, async ({ server, client, clock }) => {
      server.on("tools/call", gives({ resultType: "input_required", requestState: "later" }), gives({ resultType: "complete", content: [] }));
      const outcome = client.callAndWait({ name: "work" }, { input: all });
      await turn(5);
      await clock.advance(5 * SECOND);
      expectOutcome(await outcome, "completed");
      assert.equal(server.requests("tools/call")[1]?.params["requestState"], "later");
    }),
  );

  it(
    "never loops hot where it asks nothing for ever",
    withDifficult({}, async ({ server, client, clock }) => {
      server.on("tools/call", gives({ resultType: "input_required", requestState: "later" }));
      const outcome = client.callAndWait({ name: "work" }, { input: all });
      await turn(5);
      await clock.advance(60 * SECOND);
      assert.ok(["timed_out", "failed"].includes((await outcome).status));
      assert.ok(server.count("tools/call") <= 601, `${server.count("tools/call")} calls in a minute`);
    }),
  );

  for (const [name, input] of [
    ["handlers", all],
    ["a function", () => ({ q1: named("Ann") })],
    ["a function that answers nothing", () => ({})],
  ] as const) {
    it(
      `never loops hot where it asks the same for ever, and ${name} answer`,
      withDifficult({}, async ({ server, client, clock }) => {
        server.on("tools/call", round(1));
        const outcome = client.callAndWait({ name: "work" }, { input, timeoutMs: 60 * SECOND });
        await turn(5);
        assert.ok(server.count("tools/call") < 20, `${server.count("tools/call")} calls at once`);
        await clock.advance(60 * SECOND);
        expectOutcome(await outcome, "timed_out");
        assert.ok(server.count("tools/call") <= 140, `${server.count("tools/call")} calls in a minute`);
      }),
    );
  }

  it(
    "ends with its handler's error, and sends nothing",
    withDifficult({}, async ({ server, client }) => {
      server.on("tools/call", round(1));
      const outcome = await client.callAndWait({ name: "work" }, { input: { form: () => Promise.reject(new Error("no screen")) } });
      const { error } = expectOutcome(outcome, "failed");
      assert.ok(error instanceof InputHandlerError);
      assert.equal(error.key, "q1");
      assert.equal(error.cancelled, false);
      assert.equal(server.count("tools/call"), 1);
    }),
  );

  it(
    "aborts its prompt when the wait ends",
    withDifficult({}, async ({ server, client, clock }) => {
      server.on("tools/call", round(1));
      let signal: AbortSignal | undefined;
      const outcome = client.callAndWait(
        { name: "work" },
        {
          timeoutMs: 5 * SECOND,
          input: {
            form: (_params, context) => {
              signal = context.signal;
              return new Promise(() => {});
            },
          },
        },
      );
      await turn(5);
      assert.equal(signal?.aborted, false);
      await clock.advance(5 * SECOND);
      expectOutcome(await outcome, "timed_out");
      assert.equal(signal?.aborted, true);
    }),
  );
});

describe("an SDK client that is given", () => {
  for (const when of ["a task asks", "the call asks"] as const) {
    it(
      `answers with its own handlers what ${when}`,
      withDifficult({ door: "over HTTP" }, async ({ server, clock }) => {
        const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
        const sdk = new Client(
          { name: "sdk", version: "1" },
          { capabilities: { elicitation: { form: {} }, roots: {} }, versionNegotiation: { mode: "auto" } },
        );
        const heard: unknown[] = [];
        sdk.setRequestHandler("elicitation/create", ({ params }) => {
          heard.push(params);
          return named("Sdk");
        });
        sdk.setRequestHandler("roots/list", () => rooted);
        await sdk.connect(new StreamableHTTPClientTransport(new URL((await server.http()).url)));
        const client = createTaskClient(sdk, { clock });
        server.on("tools/call", ...(when === "the call asks" ? [gives({ resultType: "input_required", inputRequests: { q: form(), r: roots }, requestState: "s" })] : []), usual);
        const pending = client.beginCallTool({ name: "work" }, { mode: "poll" });
        const task = await pending.created;
        const taskId = String(task?.taskId);
        if (when === "a task asks") {
          server.ask(taskId, { q: form(), r: roots });
          await clock.advance(SECOND);
          await until(() => server.answers.length === 2, "the answers");
          assert.deepEqual(answersTo(server), { q: named("Sdk"), r: rooted });
        } else {
          assert.deepEqual(server.requests("tools/call")[1]?.params["inputResponses"], { q: named("Sdk"), r: rooted });
        }
        assert.equal(heard.length, 1);
        server.complete(taskId);
        await untilOver(clock, pending.outcome());
        assert.equal(textOf(await pending.outcome()), "done");

        // Of a kind for which it has no handler, the question comes back.
        const other = client.beginCallTool({ name: "work" }, { mode: "poll" });
        const second = String((await other.created)?.taskId);
        server.ask(second, { s: sampling });
        await clock.advance(SECOND);
        expectOutcome(await other.outcome(), "input_required");

        // What it does itself is as it was: it declares no extension, and stays open.
        await client.close();
        assert.deepEqual((await sdk.callTool({ name: "work" })).content, [{ type: "text", text: "plain" }]);
        await sdk.close();
      }),
    );
  }

  it(
    "is overruled by input",
    withDifficult({ door: "over HTTP" }, async ({ server, clock }) => {
      const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
      const sdk = new Client(
        { name: "sdk", version: "1" },
        { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
      );
      sdk.setRequestHandler("elicitation/create", () => named("Sdk"));
      await sdk.connect(new StreamableHTTPClientTransport(new URL((await server.http()).url)));
      const client = createTaskClient(sdk, { clock });
      const pending = client.beginCallTool({ name: "work" }, { mode: "poll", input: all });
      const taskId = String((await pending.created)?.taskId);
      server.ask(taskId, { q: form() });
      await clock.advance(SECOND);
      await until(() => server.answers.length === 1, "the answer");
      assert.deepEqual(answersTo(server), { q: named("Ann") });
      pending.detach();
      await client.close();
      await sdk.close();
    }),
  );
});
