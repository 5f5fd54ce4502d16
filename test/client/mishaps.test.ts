// What a review of the client found, each kind by its name.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClientTarget, InputHandlerError, WaitOptions } from "../../src/client/mod.ts";
import { createTaskClient } from "../../src/client/mod.ts";
import { turn } from "../support/clock.ts";
import { begins, fails, http, usual } from "../support/difficult-behaviours.ts";
import type { Exchange } from "../support/difficult-server.ts";
import { expectOutcome, form, named, passUntil, textOf, untilOver, withDifficult } from "../support/following.ts";
import { until } from "../support/until.ts";

const SECOND = 1_000;

describe("whoever leaves a wait from within it", () => {
  it(
    "harms nobody by throwing as well, before there is a task",
    withDifficult({}, async ({ server, client }) => {
      server.on("tools/call", (exchange) =>
        exchange.result({ resultType: "input_required", inputRequests: { q: form() }, requestState: "s" }),
      );
      const pending = client.beginCallTool(
        { name: "work" },
        {
          input: {
            form: () => {
              pending.detach();
              throw new Error("and gone");
            },
          },
        },
      );
      // A rejection that nobody hears of would end the process.
      expectOutcome(await pending.outcome(), "detached");
      await turn();
    }),
  );

  it(
    "is not followed on by a wait that never ends, when told of the first state",
    withDifficult({ client: { mode: "poll" } }, async ({ server, client, pass }) => {
      const unwatch = client.registry.watch(() => pending.detach());
      const pending = client.beginCallTool({ name: "work" });
      expectOutcome(await pending.outcome(), "detached");
      unwatch();
      await pass(10 * SECOND);
      assert.equal(server.count("tasks/get"), 0);
    }),
  );
});

describe("cancelling", () => {
  it(
    "reaches a task whose wait is over",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ timeoutMs: SECOND });
      await pass(SECOND);
      expectOutcome(await pending.outcome(), "timed_out");
      await pending.cancel();
      assert.equal(server.task(taskId)["status"], "cancelled");
    }),
  );

  for (const mode of ["listen", "poll"] as const) {
    it(
      `on account of handlers that failed is done once, and the first of them is what is heard of (${mode})`,
      withDifficult({}, async ({ server, begin, clock }) => {
        const broken = (): never => {
          throw new Error("no screen");
        };
        const { pending, taskId } = await begin({ mode, cancelOnInputError: true, input: { form: broken } });
        server.ask(taskId, { a: form(), b: form() });
        await untilOver(clock, pending.outcome());
        const { error } = expectOutcome(await pending.outcome(), "failed");
        assert.equal(error.code, "INPUT_FAILED");
        assert.equal((error as InputHandlerError).key, "a");
        assert.equal((error as InputHandlerError).cancelled, true);
        assert.equal(server.count("tasks/cancel"), 1);
      }),
    );
  }
});

describe("a server's refusal", () => {
  for (const status of [401, 403]) {
    it(
      `is heard at once where a JSON-RPC error explains the ${status}`,
      withDifficult({ door: "over HTTP" }, async ({ server, client }) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Unauthorized" } });
        server.make("t");
        server.on("tasks/get", http(status, { "content-type": "application/json" }, body));
        const { error } = expectOutcome(await client.follow("t", { mode: "poll" }).outcome(), "failed");
        assert.equal(error.rpcCode, -32001);
        assert.equal(server.count("tasks/get"), 1);
      }),
    );
  }

  it(
    "to listen, for now, is not taken for ever",
    withDifficult({ door: "over HTTP" }, async ({ server, client, clock }) => {
      server.on("subscriptions/listen", http(401), usual);
      const first = client.beginCallTool({ name: "work" }, { mode: "listen" });
      await untilOver(clock, first.outcome());
      expectOutcome(await first.outcome(), "failed");
      const second = client.beginCallTool({ name: "work" }, { mode: "listen" });
      await passUntil(clock, () => server.listening === 1, "the second subscription");
      server.complete(second.taskId ?? "");
      await untilOver(clock, second.outcome());
      assert.equal(textOf(await second.outcome()), "done");
    }),
  );

  it(
    "to listen to so many is met with fewer at a time",
    withDifficult({}, async ({ server, client, clock }) => {
      server.on("subscriptions/listen", (exchange: Exchange) => {
        const { taskIds } = exchange.request.params["notifications"] as { taskIds: string[] };
        if (taskIds.length > 3) exchange.error(-32602, "notifications.taskIds may name 3 tasks");
        else server.usual(exchange);
      });
      const waits = Array.from({ length: 10 }, () => client.beginCallTool({ name: "work" }, { mode: "listen" }));
      await Promise.all(waits.map(({ created }) => created));
      await passUntil(clock, () => server.listening >= 4, "all of them to be listened to");
      await clock.advance(100);
      for (const { taskId } of waits) server.complete(taskId ?? "");
      for (const wait of waits) assert.equal(textOf(await wait.outcome()), "done");
    }),
  );

  it(
    "of a busy server is heeded while connecting, too",
    withDifficult({ door: "over HTTP" }, async ({ server, client, clock }) => {
      server.on("server/discover", http(429, { "retry-after": "2" }), usual);
      const pending = client.beginCallTool({ name: "inline" });
      await passUntil(clock, () => server.count("server/discover") === 2, "another try", 2 * SECOND);
      assert.deepEqual(server.times("server/discover"), [0, 2 * SECOND]);
      assert.equal(textOf(await pending.outcome()), "inline");
    }),
  );
});

describe("cancelling and closing at once", () => {
  it(
    "rejects nothing where the task is told to be cancelled before the server says that it took note",
    withDifficult({ client: { mode: "listen" } }, async ({ server, client, begin, clock }) => {
      server.on("tasks/cancel", (exchange) => {
        server.change(exchange.taskId, { status: "cancelled" });
      });
      const { pending } = await begin();
      await passUntil(clock, () => server.listening === 1, "the subscription");
      const cancelled = pending.cancel();
      expectOutcome(await pending.outcome(), "cancelled");
      await client.close();
      await cancelled;
    }),
  );

  it(
    "is not kept waiting by looks that hang",
    withDifficult({ client: { mode: "poll", limits: { requests: 1 } } }, async ({ server, client, begin, clock }) => {
      server.on("tasks/get", () => {});
      await begin();
      const { pending, taskId } = await begin();
      await passUntil(clock, () => server.count("tasks/get") === 1, "the look that hangs");
      void pending.cancel().catch(() => {});
      await until(() => server.task(taskId)["status"] === "cancelled", "the task to be cancelled");
      await client.close();
    }),
  );
});

describe("a subscription that is never acknowledged", () => {
  it(
    "stands in nobody's way",
    withDifficult({ client: { mode: "auto", timeoutMs: 600 * SECOND } }, async ({ server, begin, clock }) => {
      server.on("subscriptions/listen", usual, () => {}, usual);
      await begin();
      await passUntil(clock, () => server.listening === 1, "the first subscription");
      await begin();
      await until(() => server.count("subscriptions/listen") === 1, "the first one alone");
      await clock.advance(6 * SECOND);
      await begin();
      await clock.advance(SECOND);
      assert.equal(server.count("subscriptions/listen"), 3);
    }),
  );
});

describe("what is no answer", () => {
  it(
    "is a result of a type that nobody knows",
    withDifficult({}, async ({ server, client }) => {
      server.on("tools/call", (exchange) => exchange.result({ resultType: "future", content: [] }));
      const { error } = expectOutcome(await client.callAndWait({ name: "work" }), "failed");
      assert.match(error.message, /unknown type: "future"/);
    }),
  );

  it(
    "is told in words, and not as a parser's complaints",
    withDifficult({ door: "over HTTP" }, async ({ server, client }) => {
      for (const body of ["", '{"jsonrpc":"2.0","id":null}']) {
        server.on("tools/call", http(200, { "content-type": "application/json" }, body));
        const { error } = expectOutcome(await client.callAndWait({ name: "work" }, { timeoutMs: SECOND }), "failed");
        assert.equal(error.message, "The server's answer is no JSON-RPC response", body);
      }
    }),
  );

  it(
    "says where it was sent on to",
    withDifficult({ door: "over HTTP" }, async ({ server, client }) => {
      server.on("tools/call", http(307, { location: "https://elsewhere.example/mcp" }));
      const { error } = expectOutcome(await client.callAndWait({ name: "work" }), "failed");
      assert.match(error.message, /elsewhere\.example/);
    }),
  );
});

describe("answers", () => {
  it(
    "that a server refuses after it failed to take them are a failure, while it shows the question",
    withDifficult({ client: { mode: "poll" } }, async ({ server, begin, clock }) => {
      server.on("tasks/update", fails(-32603), fails(-32602, "That is no name"));
      const { pending, taskId } = await begin({ input: { form: () => named("Ann") } });
      server.ask(taskId, { q: form() });
      await untilOver(clock, pending.outcome());
      const { error } = expectOutcome(await pending.outcome(), "failed");
      assert.equal(error.code, "INPUT_FAILED");
      assert.match(error.message, /That is no name/);
    }),
  );

  it(
    "are not held against a server's regular expressions, which may take for ever",
    withDifficult({ client: { mode: "poll" } }, async ({ server, begin, clock }) => {
      const { pending, taskId } = await begin({ input: { form: () => named(`${"a".repeat(40)}!`) } });
      const question = form();
      const properties = { name: { type: "string", pattern: "^(a+)+$" } };
      Object.assign(question.params, { requestedSchema: { type: "object", properties } });
      server.ask(taskId, { q: question });
      await passUntil(clock, () => server.count("tasks/update") === 1, "the answer");
      server.complete(taskId);
      await untilOver(clock, pending.outcome());
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "that a server has, though it could not say so, are no failure",
    withDifficult({ door: "over HTTP", client: { mode: "poll" } }, async ({ server, begin, clock }) => {
      server.on(
        "tasks/update",
        (exchange) => {
          server.take(exchange);
          exchange.cut();
        },
        fails(-32602, "There is no such question"),
      );
      const { pending, taskId } = await begin({ input: { form: () => named("Ann") } });
      server.ask(taskId, { q: form() });
      await passUntil(clock, () => server.count("tasks/update") === 2, "the answer to be sent again");
      server.complete(taskId);
      await untilOver(clock, pending.outcome());
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "are not asked for by the thousand",
    withDifficult({ client: { mode: "poll" } }, async ({ server, begin, clock }) => {
      let asked = 0;
      const input: WaitOptions["input"] = { form: () => ((asked += 1), named("Ann")) };
      const { pending, taskId } = await begin({ input });
      server.ask(taskId, Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`q${at}`, form()])));
      await untilOver(clock, pending.outcome());
      const { error } = expectOutcome(await pending.outcome(), "failed");
      assert.match(error.message, /5000 questions at once, where 100 are read/);
      assert.equal(asked, 0);
    }),
  );

  it(
    "that are malformed by the thousand make no long error",
    withDifficult({ client: { mode: "poll" } }, async ({ server, begin, clock }) => {
      const { pending, taskId } = await begin();
      server.ask(taskId, Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`q${at}`, { method: at }])));
      await untilOver(clock, pending.outcome());
      const { error } = expectOutcome(await pending.outcome(), "failed");
      assert.ok(error.message.length < 3_000, `${error.message.length} characters`);
    }),
  );
});

describe("a target", () => {
  it("whose connect rejects fails the call, and nothing else", async () => {
    const client = createTaskClient({ connect: () => Promise.reject(new Error("not today")) });
    await assert.rejects(client.callTool({ name: "any" }), { code: "REQUEST_FAILED", message: /not today/ });
    await client.close();
  });

  it("is no client of tasks", async () => {
    const client = createTaskClient("http://127.0.0.1:1/mcp");
    assert.throws(() => createTaskClient(client as unknown as ClientTarget), TypeError);
    await client.close();
  });
});

describe("options that are none", () => {
  it("are refused at once by what gives a handle, and as a rejection by what gives a promise", async () => {
    const client = createTaskClient("http://127.0.0.1:1/mcp");
    const wrong: WaitOptions = { timeoutMs: -1 };
    assert.throws(() => client.beginCallTool({ name: "any" }, wrong), RangeError);
    await assert.rejects(client.callTool({ name: "any" }, wrong), RangeError);
    await assert.rejects(client.callAndWait({ name: "" }), TypeError);
    await assert.rejects(client.getTask("t", { timeoutMs: Number.NaN }), RangeError);
    const misspelt = { timeout: 5 } as unknown as WaitOptions;
    assert.throws(() => client.beginCallTool({ name: "any" }, misspelt), /timeout is unknown\. The options are .*timeoutMs/);
    assert.throws(() => createTaskClient("http://127.0.0.1:1/mcp", misspelt), /timeout is unknown/);
    await client.close();
  });
});

describe("a registry", () => {
  it(
    "lists a task once, however many wait for it",
    withDifficult({}, async ({ client, begin, server, clock }) => {
      const { pending, taskId } = await begin();
      const second = client.follow(taskId);
      await passUntil(clock, () => second.task !== undefined, "the second wait to see the task");
      assert.equal(client.registry.list().length, 1);
      server.complete(taskId);
      await untilOver(clock, Promise.all([pending.outcome(), second.outcome()]));
      await until(() => client.registry.list().length === 0, "an empty list");
    }),
  );
});

it(
  "a seed that has ended already is read before it is believed",
  withDifficult({ client: { mode: "poll" } }, async ({ server, client, clock }) => {
    server.on("tools/call", begins({ status: "completed" }));
    const pending = client.beginCallTool({ name: "work" });
    const task = await pending.created;
    server.complete(task?.taskId ?? "");
    await untilOver(clock, pending.outcome());
    assert.equal(textOf(await pending.outcome()), "done");
  }),
);
