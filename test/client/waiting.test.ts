// Waiting, by an injected clock: what is asked of the server and when, counted.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { begins, both, drops, endsEmpty, fails, gives, hangs, http, keeps, lies, slow, usual } from "../support/difficult-behaviours.ts";
import type { Behaviour, Exchange } from "../support/difficult-server.ts";
import { askedFor } from "../support/difficult-server.ts";
import { collect, doorNames, expectOutcome, passUntil, pauseAgain, statuses, textOf, untilOver, withDifficult } from "../support/following.ts";
import type { Meeting } from "../support/following.ts";
import { until } from "../support/until.ts";
import { turn } from "../support/clock.ts";

const MINUTE = 60_000;

describe("polling", () => {
  it(
    "looks when the server says, and not before",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "poll" });
      await pass(2_500);
      server.complete(taskId);
      await pass(10 * MINUTE);
      assert.equal(textOf(await pending.outcome()), "done");
      assert.deepEqual(server.times("tasks/get"), [1_000, 2_000, 3_000]);
      assert.deepEqual(
        server.requests().map(({ method }) => method),
        ["server/discover", "tools/call", "tasks/get", "tasks/get", "tasks/get"],
      );
    }),
  );

  it(
    "looks at once at a task of which it knows only the id",
    withDifficult({}, async ({ server, client, pass }) => {
      server.make("known");
      const pending = client.follow("known", { mode: "poll" });
      await pass(1_500);
      server.complete("known");
      await pass(MINUTE);
      assert.equal(textOf(await pending.outcome()), "done");
      assert.deepEqual(server.times("tasks/get"), [0, 1_000, 2_000]);
    }),
  );

  it(
    "follows a hint that changes",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("tasks/get", lies({ pollIntervalMs: 5_000 }), lies({ pollIntervalMs: 200 }), usual);
      const { pending } = await begin({ mode: "poll" });
      await pass(7_500);
      assert.deepEqual(server.times("tasks/get"), [1_000, 6_000, 6_200, 7_200]);
      pending.detach();
    }),
  );

  const hints: [hint: unknown, options: { pollIntervalMs?: number; minPollIntervalMs?: number; maxPollIntervalMs?: number }, pause: number][] = [
    [undefined, {}, 1_000],
    [undefined, { pollIntervalMs: 250 }, 250],
    [1, {}, 100],
    [50, { minPollIntervalMs: 2_000 }, 2_000],
    [5_000, { maxPollIntervalMs: 3_000 }, 3_000],
    [1e12, {}, 300_000],
    [Number.MAX_VALUE, {}, 300_000],
    // What makes no sense says nothing.
    [0, {}, 1_000],
    [-5, {}, 1_000],
    [Number.NaN, {}, 1_000],
    [null, {}, 1_000],
    ["2000", {}, 1_000],
    [{ min: 1 }, {}, 1_000],
  ];
  for (const [hint, options, pause] of hints) {
    const given = JSON.stringify(options) === "{}" ? "" : ` with ${JSON.stringify(options)}`;
    it(
      `waits ${pause} ms where the server says ${Number.isNaN(hint) ? "NaN" : JSON.stringify(hint)}${given}`,
      withDifficult({ server: { pollIntervalMs: undefined } }, async ({ server, begin, pass }) => {
        const lie = { pollIntervalMs: hint };
        server.on("tools/call", begins(hint === undefined ? {} : lie)).on("tasks/get", lies(hint === undefined ? {} : lie));
        const { pending } = await begin({ mode: "poll", timeoutMs: Number.POSITIVE_INFINITY, ...options });
        await pass(3 * pause + 50);
        assert.deepEqual(server.times("tasks/get"), [pause, 2 * pause, 3 * pause]);
        pending.detach();
      }),
    );
  }

  it(
    "waits a pause after the answer, however long the answer took",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("tasks/get", slow(4_000), usual);
      const { pending } = await begin({ mode: "poll" });
      await pass(6_500);
      assert.deepEqual(server.times("tasks/get"), [1_000, 6_000]);
      pending.detach();
    }),
  );

  it(
    "makes one request at a time for a task",
    withDifficult({}, async ({ server, begin, pass }) => {
      const kept: Exchange[] = [];
      server.on("tasks/get", keeps(kept));
      const { pending } = await begin({ mode: "poll" });
      await pass(20_000);
      assert.equal(kept.length, 1);
      pending.detach();
    }),
  );

  it(
    "backs off from a server that fails, up to half a minute, and comes back to its pace",
    withDifficult({ server: { pollIntervalMs: 100 } }, async ({ server, begin, pass }) => {
      server.on("tasks/get", ...Array.from({ length: 9 }, () => fails(-32603, "Oops")), usual);
      const { pending, taskId } = await begin({ mode: "poll", timeoutMs: 10 * MINUTE });
      await pass(2 * MINUTE + 3_900);
      const times = server.times("tasks/get");
      const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0));
      assert.deepEqual(gaps.slice(0, 11), [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 100, 100]);
      server.complete(taskId);
      await pass(100);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  /** What looks may meet that does not mean the task is lost. */
  const mishaps: { [name: string]: Behaviour } = {
    "an answer that never comes": hangs,
    "a dropped connection": drops,
    "an internal error": fails(-32603, "Internal error"),
    "an error of the server's own": fails(-32000, "Busy"),
    "an error with a code that is none": fails("E_BUSY", 17),
    "a task without a status": gives({ resultType: "complete", taskId: "task-1" }),
    "a task with a status that is none": lies({ status: "pondering" }),
    "another task": lies({ taskId: "task-2" }),
    "a completed task without its result": lies({ status: "completed" }),
    "no object": gives("soon"),
    "an answer to another request": (exchange, server) => {
      exchange.respond({ jsonrpc: "2.0", id: "another", result: server.snapshot(exchange.taskId) });
    },
  };
  for (const door of doorNames) {
    for (const [name, mishap] of Object.entries(mishaps)) {
      it(
        `does not lose a task for ${name} ${door}`,
        withDifficult({ door, client: { requestTimeoutMs: 4_000 } }, async ({ server, clock, begin }) => {
          server.on("tasks/get", mishap, usual);
          const { pending, taskId } = await begin({ mode: "poll" });
          await clock.advance(1_000);
          await until(() => server.count("tasks/get") === 1, "the first look");
          await pauseAgain(clock, !name.includes("connection"));
          server.complete(taskId);
          await clock.advance(1_000);
          await until(() => server.count("tasks/get") === 2, "the second look");
          assert.equal(textOf(await pending.outcome()), "done");
          // Some runtimes send a request again by themselves when its connection breaks.
          assert.equal(new Set(server.requests("tasks/get").map(({ id }) => id)).size, 2);
          assert.deepEqual(server.afterEnd(), []);
        }),
      );
    }
  }

  const statusesOfHttp: [name: string, behaviour: Behaviour][] = [
    ["500", http(500, {}, "boom")],
    ["502 with HTML", http(502, { "content-type": "text/html" }, "<html><body>Bad Gateway</body></html>")],
    ["503", http(503)],
    ["504", http(504)],
    ["408", http(408)],
    ["429", http(429)],
    ["404 with HTML, once", http(404, { "content-type": "text/html" }, "<h1>Not here</h1>")],
    ["200 with HTML", http(200, { "content-type": "text/html" }, "<h1>Sign in</h1>")],
    ["200 with half of a JSON", http(200, { "content-type": "application/json" }, '{"jsonrpc":"2.0","id":')],
    ["204 with nothing", http(204)],
    ["half an answer", (exchange, server) => exchange.half(server.snapshot(exchange.taskId))],
    ["a stream that ends empty", endsEmpty],
  ];
  for (const responses of ["json", "sse"] as const) {
    for (const [name, behaviour] of statusesOfHttp) {
      it(
        `does not lose a task for ${name} (${responses})`,
        withDifficult({ door: "over HTTP", server: { responses }, client: { requestTimeoutMs: 4_000 } }, async ({ server, clock, begin }) => {
          server.on("tasks/get", behaviour, usual);
          const { pending, taskId } = await begin({ mode: "poll" });
          await clock.advance(1_000);
          await until(() => server.count("tasks/get") === 1, "the first look");
          await pauseAgain(clock);
          server.complete(taskId);
          await clock.advance(1_000);
          assert.equal(textOf(await pending.outcome()), "done");
          assert.equal(server.count("tasks/get"), 2);
        }),
      );
    }
  }

  for (const [name, status, header, pause] of [
    ["429 with seconds", 429, "7", 7_000],
    ["503 with seconds", 503, "90", 90_000],
    ["429 with a date", 429, "Thu, 01 Jan 2026 00:00:26 GMT", 25_000],
    ["429 with a date that is over", 429, "Wed, 31 Dec 2025 00:00:00 GMT", 1_000],
    ["429 with nonsense", 429, "when I am back", 1_000],
    ["429 with less than the pause", 429, "0", 1_000],
  ] as const) {
    it(
      `honours Retry-After: ${name}`,
      withDifficult({ door: "over HTTP" }, async ({ server, clock, begin }) => {
        server.on("tasks/get", http(status, { "retry-after": header }), usual);
        const { pending, taskId } = await begin({ mode: "poll", timeoutMs: 10 * MINUTE });
        await clock.advance(1_000);
        await until(() => server.count("tasks/get") === 1, "the first look");
        await until(() => clock.untilNext === pause, `a pause of ${pause} ms, not ${clock.untilNext}`);
        server.complete(taskId);
        await clock.advance(pause - 1);
        await turn(20);
        assert.equal(server.count("tasks/get"), 1);
        await clock.advance(1);
        assert.equal(textOf(await pending.outcome()), "done");
        assert.deepEqual(server.times("tasks/get"), [1_000, 1_000 + pause]);
      }),
    );
  }

  it(
    "looks again soon where the server was not reached, whatever pause it asked for",
    withDifficult({ server: { pollIntervalMs: 2 * MINUTE } }, async ({ server, begin, pass }) => {
      server.on("tasks/get", drops, drops, fails(-32603), usual);
      const { pending, taskId } = await begin({ mode: "poll", timeoutMs: 10 * MINUTE });
      await pass(2 * MINUTE + 2_000);
      server.complete(taskId);
      await pass(2 * MINUTE);
      assert.equal(textOf(await pending.outcome()), "done");
      const first = 2 * MINUTE;
      // It answered the third time, and is left alone as it asks.
      assert.deepEqual(server.times("tasks/get"), [first, first + 500, first + 1_500, 2 * first + 1_500]);
    }),
  );

  for (const [name, behaviour] of [
    ["the task is unknown", fails(-32602, "Task not found", { hint: "gone" })],
    ["the method is unknown", fails(-32601, "Method not found")],
    ["a capability is missing", fails(-32021, "Missing required client capability")],
  ] as const) {
    it(
      `asks no second time when the server says that ${name}`,
      withDifficult({}, async ({ server, begin, pass }) => {
        server.on("tasks/get", behaviour);
        const { pending } = await begin({ mode: "poll" });
        await pass(MINUTE);
        const { error, task } = expectOutcome(await pending.outcome(), "failed");
        assert.equal(error.code, "REQUEST_FAILED");
        assert.equal(task?.status, "working");
        assert.equal(server.count("tasks/get"), 1);
        await assert.rejects(pending.result(), error);
      }),
    );
  }

  for (const status of [401, 403]) {
    it(
      `asks no second time after HTTP ${status}`,
      withDifficult({ door: "over HTTP" }, async ({ server, clock, begin }) => {
        server.on("tasks/get", http(status, {}, "who are you?"));
        const { pending } = await begin({ mode: "poll" });
        await clock.advance(1_000);
        const { error } = expectOutcome(await pending.outcome(), "failed");
        assert.equal((error as { status?: unknown }).status, status);
        assert.equal(server.count("tasks/get"), 1);
      }),
    );
  }

  it(
    "gives up a server that says 410 and again 410",
    withDifficult({ door: "over HTTP" }, async ({ server, clock, begin }) => {
      server.on("tasks/get", http(410));
      const { pending } = await begin({ mode: "poll" });
      await untilOver(clock, pending.outcome());
      const { error } = expectOutcome(await pending.outcome(), "failed");
      assert.equal((error as { status?: unknown }).status, 410);
      assert.equal(server.count("tasks/get"), 3);
    }),
  );

  it(
    "connects again after a disconnect",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("tasks/get", drops, drops, usual);
      const { pending, taskId } = await begin({ mode: "poll" });
      await pass(3_500);
      server.complete(taskId);
      await pass(MINUTE);
      assert.equal(textOf(await pending.outcome()), "done");
      assert.equal(server.count("server/discover"), 3);
      assert.equal(server.count("tools/call"), 1);
    }),
  );

  it(
    "does not go back to a state that is older than the one it knows",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "poll" });
      const collected = collect(pending);
      const old = server.snapshot(taskId, { statusMessage: "one" });
      server.change(taskId, { statusMessage: "two" });
      await pass(1_000);
      server.on("tasks/get", gives(old), gives(old), usual);
      await pass(3_000);
      server.complete(taskId);
      await pass(1_000);
      await collected.over;
      assert.deepEqual(
        collected.events.map((event) => [event.status, "statusMessage" in event ? event.statusMessage : undefined]),
        [
          ["working", undefined],
          ["working", "two"],
          ["completed", "two"],
        ],
      );
    }),
  );

  it(
    "tells each change once, to the iterator and to onTaskStatus",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "poll" });
      const heard: string[] = [];
      const result = pending.result({ onTaskStatus: (task) => void heard.push(task.statusMessage ?? "-") });
      const collected = collect(pending);
      await pass(3_000);
      server.change(taskId, { statusMessage: "half" });
      await pass(3_000);
      server.complete(taskId);
      await pass(3_000);
      assert.deepEqual((await result).content, [{ type: "text", text: "done" }]);
      await collected.over;
      assert.deepEqual(statuses(collected.events), ["working", "working", "completed"]);
      assert.deepEqual(heard, ["-", "half", "half"]);
    }),
  );

  it(
    "never loops hot, whatever the server answers at once",
    withDifficult({ server: { pollIntervalMs: 0.001 } }, async ({ server, client, pass }) => {
      const answers: Behaviour[] = [usual, fails(-32603), lies({ pollIntervalMs: 1e-9 }), gives({}), drops];
      let turns = 0;
      const next: Behaviour = (exchange) => answers[(turns += 1) % answers.length]?.(exchange, server);
      server.on("tasks/get", next);
      server.make("busy");
      const pending = client.follow("busy", { mode: "poll", timeoutMs: 10 * MINUTE });
      await pass(MINUTE);
      const times = server.times("tasks/get");
      assert.ok(times.every((time, at) => at === 0 || time - (times[at - 1] ?? 0) >= 100), "the floor is kept");
      assert.ok(times.length < 601);
      pending.detach();
    }),
  );
});

describe("listening", () => {
  for (const mode of ["auto", "listen"] as const) {
    it(
      `looks once after the acknowledgement, and hears the rest (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode, timeoutMs: 10 * MINUTE });
        await pass(MINUTE);
        server.change(taskId, { statusMessage: "half" });
        await pass(MINUTE);
        server.complete(taskId);
        await turn(3);
        assert.equal(textOf(await pending.outcome()), "done");
        assert.deepEqual([server.count("subscriptions/listen"), server.count("tasks/get")], [1, 1]);
        assert.equal(server.listening, 0, "the stream is closed");
        assert.deepEqual(server.afterEnd(), []);
      }),
    );

    it(
      `sees what happened before the acknowledgement (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        server.on("subscriptions/listen", (exchange, server) => {
          for (const taskId of askedFor(exchange)) server.complete(taskId);
          server.usual(exchange);
        });
        const { pending } = await begin({ mode });
        await pass(300);
        assert.equal(textOf(await pending.outcome()), "done");
        assert.equal(server.count("tasks/get"), 1);
      }),
    );

    it(
      `does not look where the server tells the state with the acknowledgement (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        server.on("subscriptions/listen", (exchange, server) => {
          server.usual(exchange);
          for (const taskId of askedFor(exchange)) server.notify(exchange, server.task(taskId));
        });
        const { pending, taskId } = await begin({ mode });
        await pass(10_000);
        server.complete(taskId);
        await pass(0);
        assert.equal(textOf(await pending.outcome()), "done");
        assert.equal(server.count("tasks/get"), 0);
      }),
    );

    it(
      `tells a state once that comes twice, and none that is old (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode });
        const collected = collect(pending);
        await pass(100);
        const old = server.task(taskId);
        server.change(taskId, { statusMessage: "half" });
        server.tell(taskId);
        server.tell(taskId, old);
        await pass(100);
        server.complete(taskId);
        server.tell(taskId);
        server.tell(taskId, { ...old, status: "working" });
        server.tell(taskId, { ...old, status: "failed", error: { code: 1, message: "late" } });
        await pass(MINUTE);
        assert.equal(textOf(await pending.outcome()), "done");
        await collected.over;
        assert.deepEqual(statuses(collected.events), ["working", "working", "completed"]);
      }),
    );

    it(
      `serves many tasks with one stream (${mode})`,
      withDifficult({}, async ({ server, client, pass }) => {
        const all = Array.from({ length: 40 }, () => client.beginCallTool({ name: "work" }, { mode }));
        await Promise.all(all.map((pending) => pending.created));
        await pass(1_000);
        assert.equal(server.listening, 1);
        const before = server.count("subscriptions/listen");
        assert.ok(before <= 2, `${before} streams were opened`);
        assert.equal(server.count("tasks/get"), 40);
        for (const { taskId } of all) server.complete(String(taskId));
        await pass(1_000);
        const outcomes = await Promise.all(all.map((pending) => pending.outcome()));
        assert.deepEqual(outcomes.map(textOf), all.map(() => "done"));
        assert.deepEqual([server.count("subscriptions/listen"), server.count("tasks/get"), server.listening], [before, 40, 0]);
      }),
    );

    it(
      `keeps one stream while tasks come and go (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const first = await begin({ mode });
        await pass(1_000);
        const second = await begin({ mode });
        await pass(1_000);
        assert.equal(server.listening, 1, "the second stream takes the place of the first");
        server.complete(first.taskId, "one");
        await pass(1_000);
        assert.equal(server.listening, 1);
        server.complete(second.taskId, "two");
        await pass(1_000);
        assert.deepEqual([textOf(await first.pending.outcome()), textOf(await second.pending.outcome())], ["one", "two"]);
        assert.equal(server.listening, 0);
      }),
    );
  }

  const ways: { [name: string]: (server: Meeting["server"]) => void } = {
    "refuses it with -32601": (server) => server.on("subscriptions/listen", fails(-32601, "Method not found")),
    "refuses it with -32603": (server) => server.on("subscriptions/listen", fails(-32603, "Too many")),
    "refuses it with -32000": (server) => server.on("subscriptions/listen", fails(-32000, "Not for you")),
    "ends it before the acknowledgement": (server) =>
      server.on("subscriptions/listen", gives({ resultType: "complete" })),
    "ends it right after the acknowledgement": (server) =>
      server.on("subscriptions/listen", both(usual, gives({ resultType: "complete" }))),
    "acknowledges no task": (server) =>
      server.on("subscriptions/listen", (exchange, server) => server.acknowledge(exchange, [])),
    "acknowledges another task": (server) =>
      server.on("subscriptions/listen", (exchange, server) => server.acknowledge(exchange, ["task-99"])),
  };
  for (const [name, way] of Object.entries(ways)) {
    it(
      `polls instead, in auto, a server that ${name}`,
      withDifficult({}, async ({ server, begin, pass }) => {
        way(server);
        const { pending, taskId } = await begin({ mode: "auto" });
        await pass(5_000);
        const looks = server.count("tasks/get");
        assert.ok(looks >= 5 && looks <= 7, `${looks} looks in 5 s`);
        server.complete(taskId);
        await pass(1_500);
        assert.equal(textOf(await pending.outcome()), "done");
        assert.ok(server.count("subscriptions/listen") <= 2, "it does not hammer at it");
      }),
    );

    it(
      `says so, in listen, of a server that ${name}`,
      withDifficult({}, async ({ server, begin, pass }) => {
        way(server);
        const { pending, taskId } = await begin({ mode: "listen" });
        await pass(1_000);
        const { error } = expectOutcome(await pending.outcome(), "failed");
        assert.equal(error.code, "REQUEST_FAILED");
        if (name.startsWith("refuses")) assert.equal(error.rpcCode, Number(name.split("with ")[1]));
        assert.equal(server.task(taskId)["status"], "working", "the task keeps running");
        assert.equal(server.count("tasks/cancel"), 0);
      }),
    );
  }

  it(
    "does not ask a second time to listen where the server does not know how",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("subscriptions/listen", fails(-32601, "Method not found"));
      for (let nth = 1; nth <= 3; nth += 1) {
        const { pending, taskId } = await begin();
        await pass(1_500);
        server.complete(taskId);
        await pass(1_500);
        assert.equal(textOf(await pending.outcome()), "done");
      }
      assert.equal(server.count("subscriptions/listen"), 1);
    }),
  );

  it(
    "polls the tasks that are not acknowledged, and hears of the others",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("subscriptions/listen", (exchange, server) => {
        server.acknowledge(exchange, askedFor(exchange).filter((taskId) => taskId === "task-2"));
      });
      const one = await begin();
      const two = await begin();
      await pass(10_000);
      const looks = (taskId: string) => server.requests("tasks/get").filter(({ params }) => params["taskId"] === taskId).length;
      assert.equal(looks("task-2"), 1);
      assert.ok(looks("task-1") >= 9);
      server.complete(two.taskId, "two");
      await pass(0);
      assert.equal(textOf(await two.pending.outcome()), "two");
      server.complete(one.taskId, "one");
      await pass(1_000);
      assert.equal(textOf(await one.pending.outcome()), "one");
    }),
  );

  it(
    "polls, in auto, when no acknowledgement comes, and ends at the limit, in listen",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("subscriptions/listen", hangs);
      const auto = await begin({ mode: "auto" });
      await pass(5_100);
      assert.equal(server.count("tasks/get"), 1);
      server.complete(auto.taskId);
      await pass(1_000);
      assert.equal(textOf(await auto.pending.outcome()), "done");
      const listen = await begin({ mode: "listen", timeoutMs: 20_000 });
      await pass(20_000);
      const { error } = expectOutcome(await listen.pending.outcome(), "timed_out");
      assert.equal(error.taskId, listen.taskId);
      await pass(0);
      assert.equal(server.listening, 0, "both left their streams");
    }),
  );

  for (const door of doorNames) {
    for (const [name, end] of [
      ["in order", (exchange: Exchange) => exchange.result({ resultType: "complete" })],
      ["by a broken connection", (exchange: Exchange) => exchange.cut()],
    ] as const) {
      it(
        `polls, in auto, when the stream ends ${name} ${door}`,
        withDifficult({ door }, async ({ server, clock, begin }) => {
          const { pending, taskId } = await begin({ mode: "auto" });
          await passUntil(clock, () => server.count("tasks/get") === 1, "the look after the acknowledgement");
          await turn(20);
          server.endListening(end);
          await until(() => server.listening === 0, "the stream's end");
          server.complete(taskId);
          assert.equal(textOf(await pending.outcome()), "done");
          assert.deepEqual(server.afterEnd(), []);
        }),
      );

      it(
        `says so, in listen, when the stream ends ${name} ${door}`,
        withDifficult({ door }, async ({ server, clock, begin }) => {
          const { pending } = await begin({ mode: "listen" });
          await passUntil(clock, () => server.count("tasks/get") === 1, "the look after the acknowledgement");
          await turn(20);
          server.endListening(end);
          const { error } = expectOutcome(await pending.outcome(), "failed");
          assert.equal(error.code, "REQUEST_FAILED");
        }),
      );
    }
  }

  it(
    "looks now and then at a task of which nothing is heard",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "auto", timeoutMs: 60 * MINUTE, maxPollIntervalMs: 10 * MINUTE });
      await pass(9 * MINUTE);
      assert.equal(server.count("tasks/get"), 1);
      // It ended, and the server forgot to say so.
      server.tasks.set(taskId, { ...server.task(taskId), status: "completed", result: { content: [] } });
      await pass(2 * MINUTE);
      assert.equal((await pending.outcome()).status, "completed");
      assert.equal(server.count("tasks/get"), 2);
    }),
  );

  it(
    "looks once at least within a wait, so that an end that nobody told is seen",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "auto" });
      await pass(1_000);
      server.tasks.set(taskId, { ...server.task(taskId), status: "completed", result: { content: [] } });
      await pass(30_000);
      assert.equal((await pending.outcome()).status, "completed");
    }),
  );

  it(
    "looks again when the look after the acknowledgement fails",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("tasks/get", fails(-32603), fails(-32603), usual);
      const { pending, taskId } = await begin({ mode: "auto" });
      await pass(10_000);
      assert.equal(server.count("tasks/get"), 3);
      server.complete(taskId);
      await pass(0);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "lets one wait leave a stream that others hear",
    withDifficult({}, async ({ server, begin, pass }) => {
      const one = await begin();
      const two = await begin();
      await pass(100);
      one.pending.detach();
      await pass(100);
      assert.equal(server.listening, 1);
      two.pending.detach();
      await pass(100);
      assert.equal(server.listening, 0);
    }),
  );
});
