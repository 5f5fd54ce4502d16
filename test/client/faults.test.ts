// Faults that other clients of MCP Tasks shipped, turned round into what must hold. Each is named after its report.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TaskFailedError, createTaskClient } from "../../src/client/mod.ts";
import { turn } from "../support/clock.ts";
import { both, fails, gives, hangs, http, lies, usual } from "../support/difficult-behaviours.ts";
import type { Behaviour } from "../support/difficult-server.ts";
import {
  collect,
  doorNames,
  expectOutcome,
  form,
  named,
  passUntil,
  pauseAgain,
  statuses,
  textOf,
  untilOver,
  withDifficult,
} from "../support/following.ts";
import { gate, until } from "../support/until.ts";

const SECOND = 1_000;
const ENDS = ["completed", "failed", "cancelled"];

describe("faults of following", () => {
  for (const door of doorNames) {
    it(
      `MCPJam#1119: nothing is asked after the terminal status ${door}`,
      withDifficult({ door }, async ({ server, begin, clock }) => {
        for (const mode of ["poll", "auto"] as const) {
          const { pending, taskId } = await begin({ mode, input: { form: () => named("Ann") } });
          await passUntil(clock, () => server.requests("tasks/get").some(({ params }) => params["taskId"] === taskId), "a look");
          server.ask(taskId, { q: form() });
          await passUntil(clock, () => server.answers.some((answer) => answer.taskId === taskId), "the answer");
          server.complete(taskId);
          await untilOver(clock, pending.outcome());
          assert.equal(textOf(await pending.outcome()), "done");
        }
        for (let nth = 0; nth < 20; nth += 1) await clock.advance(SECOND);
        assert.deepEqual(server.afterEnd(), []);
      }),
    );

    it(
      `inspector PR#2308: exactly one terminal event ${door}`,
      withDifficult({ door }, async ({ server, begin, clock }) => {
        const ends = [
          { status: "completed", result: { content: [] } },
          { status: "failed", error: { code: -1, message: "no" } },
          { status: "cancelled" },
        ];
        for (const end of ends) {
          const { pending, taskId } = await begin({ mode: "auto" });
          const collected = collect(pending);
          await passUntil(clock, () => server.requests("tasks/get").some(({ params }) => params["taskId"] === taskId), "a look");
          server.change(taskId, end);
          server.tell(taskId);
          server.tell(taskId, { ...server.task(taskId), ...ends[0] });
          await untilOver(clock, pending.outcome());
          await collected.over;
          assert.deepEqual(statuses(collected.events).filter((status) => ENDS.includes(status)), [end.status]);
          const again = collect(pending);
          await again.over;
          assert.deepEqual(statuses(again.events), [end.status]);
        }
      }),
    );

    it(
      `fastmcp#4603: a hung tasks/get ends at the wait's deadline ${door}`,
      withDifficult({ door, client: { requestTimeoutMs: 3_600_000 } }, async ({ server, begin, clock }) => {
        server.on("tasks/get", hangs);
        const { pending, taskId } = await begin({ mode: "poll", timeoutMs: 30 * SECOND });
        await clock.advance(SECOND);
        await until(() => server.count("tasks/get") === 1, "the look");
        await clock.advance(29 * SECOND);
        const { error } = expectOutcome(await pending.outcome(), "timed_out");
        assert.equal(error.taskId, taskId);
      }),
    );
  }

  it(
    "inspector#1037, MCPJam#1120: a terminal notification resolves the wait at once",
    withDifficult({ server: { pollIntervalMs: 300_000 } }, async ({ server, begin, pass, clock }) => {
      const { pending, taskId } = await begin({ mode: "auto", timeoutMs: 3_600_000 });
      await pass(10 * SECOND);
      const before = clock.now();
      server.complete(taskId);
      assert.equal(textOf(await pending.outcome()), "done");
      assert.equal(clock.now(), before);
    }),
  );

  it(
    "inspector#1077: a second call runs while one is polled",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      const slow = await begin({ mode: "poll" });
      await pass(SECOND);
      assert.equal((await client.callTool({ name: "inline" })).content[0]?.["text"], "inline");
      const other = await begin({ mode: "poll" });
      server.complete(other.taskId, "second");
      await pass(SECOND);
      assert.equal(textOf(await other.pending.outcome()), "second");
      server.complete(slow.taskId, "first");
      await pass(SECOND);
      assert.equal(textOf(await slow.pending.outcome()), "first");
    }),
  );

  it(
    "inspector#1077: more tasks than requests at once are followed, hung ones among them",
    withDifficult({ client: { limits: { requests: 2 }, requestTimeoutMs: 2 * SECOND } }, async ({ server, client, pass }) => {
      for (let nth = 1; nth <= 10; nth += 1) server.make(`t${nth}`);
      const stuck: Behaviour = (exchange) => (exchange.taskId === "t1" ? undefined : server.usual(exchange));
      server.on("tasks/get", stuck);
      const all = [...server.tasks.keys()].map((taskId) => client.follow(taskId, { mode: "poll", timeoutMs: 30 * SECOND }));
      await pass(5 * SECOND);
      for (let nth = 2; nth <= 10; nth += 1) server.complete(`t${nth}`);
      await pass(25 * SECOND);
      const outcomes = await Promise.all(all.map((pending) => pending.outcome()));
      assert.deepEqual(outcomes.map(({ status }) => status), ["timed_out", ...Array.from({ length: 9 }, () => "completed")]);
    }),
  );

  it(
    "typescript-sdk#1335, #1764: an abort stops polling, and listeners hear every change until then",
    withDifficult({}, async ({ server, client, pass }) => {
      const over = new AbortController();
      const heard: string[] = [];
      const outcome = client.callAndWait(
        { name: "work" },
        { mode: "poll", signal: over.signal, onTaskStatus: (task) => void heard.push(task.statusMessage ?? "-") },
      );
      await pass(500);
      for (const statusMessage of ["one", "two"]) {
        server.change("task-1", { statusMessage });
        await pass(SECOND);
      }
      over.abort();
      expectOutcome(await outcome, "aborted");
      const before = server.requests().length;
      server.change("task-1", { statusMessage: "three" });
      await pass(60 * SECOND);
      assert.deepEqual(heard, ["-", "one", "two"]);
      assert.equal(server.requests().length, before);
    }),
  );

  it(
    "MCPJam#3526, #3527: an abort ends the wait during a pause that Retry-After asks for",
    withDifficult({ door: "over HTTP" }, async ({ server, begin, clock }) => {
      server.on("tasks/get", http(429, { "retry-after": "3600" }));
      const over = new AbortController();
      const { pending } = await begin({ mode: "poll", signal: over.signal, timeoutMs: Number.POSITIVE_INFINITY });
      await clock.advance(SECOND);
      await until(() => clock.untilNext === 3_600_000, "the pause");
      over.abort(new Error("enough"));
      expectOutcome(await pending.outcome(), "aborted");
      assert.equal(server.count("tasks/get"), 1);
      assert.equal(clock.pending, 0);
    }),
  );

  it(
    "MCPJam#3526: a call that is turned away with Retry-After is made again when the server says, and not before",
    withDifficult({ door: "over HTTP" }, async ({ server, client, clock }) => {
      server.on("tools/call", http(503, { "retry-after": "5" }), usual);
      const pending = client.beginCallTool({ name: "inline" });
      await until(() => clock.untilNext === 5_000, "the pause");
      await clock.advance(4_999);
      await turn(20);
      assert.equal(server.count("tools/call"), 1);
      await clock.advance(1);
      assert.equal(textOf(await pending.outcome()), "inline");
      assert.equal(server.count("tools/call"), 2);
    }),
  );

  it(
    "kicad-mcp-pro#75: an unknown task is an error, and never working",
    withDifficult({}, async ({ client, pass }) => {
      for (const mode of ["poll", "auto", "listen"] as const) {
        const pending = client.follow("no such task", { mode });
        const { events, over } = collect(pending);
        await pass(SECOND);
        const outcome = expectOutcome(await pending.outcome(), "failed");
        assert.deepEqual([outcome.error.rpcCode, outcome.task], [-32602, undefined]);
        await over;
        assert.deepEqual(events, []);
      }
      await assert.rejects(client.getTask("no such task"), { code: "REQUEST_FAILED", rpcCode: -32602 });
    }),
  );

  it(
    "fastmcp#3758: a task is followed on a new connection after the old one broke",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "auto" });
      await pass(SECOND);
      server.endListening((exchange) => exchange.cut());
      await pass(3 * SECOND);
      assert.equal(server.count("server/discover"), 2);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "a task that the server denies right after it was made is lost, and asked for once",
    withDifficult({}, async ({ server, begin, pass }) => {
      // The server must not answer so (Tasks, "Task Creation"): its word is final, and asked for once.
      server.on("tasks/get", fails(-32602, "Task not found"));
      const { pending } = await begin({ mode: "poll" });
      await pass(10 * SECOND);
      expectOutcome(await pending.outcome(), "failed");
      assert.equal(server.count("tasks/get"), 1);
    }),
  );
});

describe("faults of what is shown", () => {
  it(
    "vscode#335229: a failed task shows its code, message and data",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "poll" });
      server.change(taskId, { status: "failed", error: { code: -32123, message: "No disk", data: { path: "/", free: 0 } } });
      await pass(SECOND);
      await assert.rejects(pending.result(), (error) => {
        assert.ok(error instanceof TaskFailedError);
        assert.deepEqual([error.rpcCode, error.message, error.data], [-32123, "No disk", { path: "/", free: 0 }]);
        return true;
      });
    }),
  );

  const errors: [name: string, error: unknown][] = [
    ["no error", undefined],
    ["an error without a code", { message: "alas" }],
    ["an error that is a text", "alas"],
    ["an error with a code that is none", { code: "E", message: 7 }],
  ];
  for (const [name, error] of errors) {
    it(
      `vscode#335229: a failed task with ${name} has failed all the same`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        server.change(taskId, { status: "failed", error });
        await pass(SECOND);
        const outcome = expectOutcome(await pending.outcome(), "failed");
        assert.equal(outcome.error.code, "TASK_FAILED");
        assert.ok(Number.isSafeInteger(outcome.error.rpcCode));
        assert.ok(outcome.error.message.length > 0);
      }),
    );
  }

  for (const mode of ["poll", "auto"] as const) {
    it(
      `vscode#287893, apify#555: a statusMessage comes as it is, however strange (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const messages = ["", " ", "日本語 🧵\u0000\u001b[31m\r\n", "\ud800 alone", "x".repeat(2_000_000), "<b>&amp;</b>", "__proto__"];
        const { pending, taskId } = await begin({ mode });
        const heard: unknown[] = [];
        void pending.result({ onTaskStatus: (task) => void heard.push(task.statusMessage) });
        await pass(500);
        for (const statusMessage of messages) {
          server.change(taskId, { statusMessage });
          await pass(SECOND);
          assert.equal(pending.task?.statusMessage, statusMessage);
        }
        server.complete(taskId);
        await pass(SECOND);
        await pending.outcome();
        assert.deepEqual(heard, [undefined, ...messages, "__proto__"]);
      }),
    );
  }

  it(
    "rust-sdk#638: a result is readable again and again",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "poll" });
      server.complete(taskId);
      await pass(SECOND);
      const first = await pending.result();
      for (let nth = 0; nth < 3; nth += 1) assert.equal(await pending.result(), first);
      const again = client.follow(taskId);
      await pass(SECOND);
      assert.deepEqual(await again.result(), first);
    }),
  );

  it(
    "cyanheads#241: an isError result needs no structured content, whatever the tool's output schema says",
    withDifficult(
      { server: { tools: [{ name: "work", inputSchema: { type: "object" }, outputSchema: { type: "object", required: ["n"] } }] } },
      async ({ server, client, begin, pass }) => {
        await client.listTools();
        const result = { content: [{ type: "text", text: "no such file" }], isError: true };
        server.on("tools/call", gives({ resultType: "complete", ...result }), usual);
        assert.deepEqual(await client.callTool({ name: "work" }), result);
        const { pending, taskId } = await begin({ mode: "poll" });
        server.change(taskId, { status: "completed", result });
        await pass(SECOND);
        assert.deepEqual(await pending.result(), result);
      },
    ),
  );

  it(
    "typescript-sdk#1385: bad arguments give their own error, and no task",
    withDifficult({}, async ({ server, client }) => {
      server.on("tools/call", fails(-32602, "Invalid arguments: a is missing", { issues: ["a"] }));
      const pending = client.beginCallTool({ name: "work" });
      await assert.rejects(pending.result(), { rpcCode: -32602, message: "Invalid arguments: a is missing", data: { issues: ["a"] } });
      assert.equal(pending.taskId, undefined);
      assert.equal(server.count("tools/call"), 1);
    }),
  );
});

describe("faults of leaving and cancelling", () => {
  it(
    "TanStack/ai#940: leaving a wait and cancelling the task are two calls",
    withDifficult({}, async ({ server, begin, pass }) => {
      const left = await begin({ mode: "poll" });
      left.pending.detach();
      const cancelled = await begin({ mode: "poll" });
      await Promise.all([cancelled.pending.cancel(), pass(SECOND)]);
      expectOutcome(await left.pending.outcome(), "detached");
      expectOutcome(await cancelled.pending.outcome(), "cancelled");
      assert.deepEqual(server.requests("tasks/cancel").map(({ params }) => params["taskId"]), [cancelled.taskId]);
      assert.equal(server.task(left.taskId)["status"], "working");
    }),
  );

  it(
    "vscode#308961: the caller may detach and resume, as often as they like",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      const { pending, taskId } = await begin();
      let reference = pending.reference();
      pending.detach();
      for (let nth = 0; nth < 5; nth += 1) {
        const again = client.resume(reference);
        await pass(SECOND);
        reference = again.reference();
        again.detach();
      }
      const last = client.resume(reference);
      await pass(SECOND);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await last.outcome()), "done");
      assert.equal(server.listening, 0);
    }),
  );

  it(
    "fast-mcp-scala#115: a cancel is told at once, though the server takes its time",
    withDifficult({ server: { pollIntervalMs: 60_000 } }, async ({ server, begin, pass }) => {
      server.on("tasks/cancel", gives({ resultType: "complete" }));
      const { pending, taskId } = await begin({ mode: "poll", timeoutMs: 600_000 });
      let cancelled = false;
      const done = pending.cancel().then(() => (cancelled = true));
      await pass(0);
      assert.equal(cancelled, true);
      await done;
      assert.equal(pending.task?.status, "working");
      server.change(taskId, { status: "cancelled" });
      await pass(60_000);
      expectOutcome(await pending.outcome(), "cancelled");
    }),
  );

  it(
    "python-sdk#3003: a cancel after the end leaves the result intact",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "poll" });
      server.complete(taskId);
      await pass(SECOND);
      await pending.cancel();
      assert.equal(textOf(await pending.outcome()), "done");
      assert.equal(server.count("tasks/cancel"), 0);
    }),
  );
});

describe("faults of questions", () => {
  it(
    "inspector#1073: the same key prompts once",
    withDifficult({}, async ({ server, begin, pass }) => {
      const answer = gate<ReturnType<typeof named>>();
      let prompts = 0;
      const { pending, taskId } = await begin({ mode: "auto", input: { form: () => (prompts++, answer.opened) } });
      await pass(100);
      server.ask(taskId, { q: form() });
      for (let nth = 0; nth < 10; nth += 1) {
        server.tell(taskId);
        await pass(100);
      }
      answer.open(named("Ann"));
      await pass(SECOND);
      assert.equal(prompts, 1);
      assert.equal(server.count("tasks/update"), 1);
      pending.detach();
    }),
  );

  it(
    "typescript-sdk#1185: a question reaches the client within one poll",
    withDifficult({}, async ({ server, begin, pass }) => {
      let asked = 0;
      const { pending, taskId } = await begin({ mode: "poll", input: { form: () => (asked++, named("Ann")) } });
      await pass(2_500);
      server.ask(taskId, { q: form() });
      await pass(500);
      assert.equal(asked, 1);
      assert.equal(server.answers.length, 1);
      pending.detach();
    }),
  );

  it(
    "tower-mcp#1389, #1421: a prompt is aborted when its task expires",
    withDifficult({}, async ({ server, begin, pass }) => {
      let signal: AbortSignal | undefined;
      const { pending, taskId } = await begin({
        mode: "poll",
        input: {
          form: (_params, context) => {
            signal = context.signal;
            return new Promise(() => {});
          },
        },
      });
      server.ask(taskId, { q: form() });
      await pass(SECOND);
      assert.equal(signal?.aborted, false);
      server.on("tasks/get", fails(-32602, "Failed to retrieve task: Task has expired"));
      await pass(SECOND);
      assert.equal(signal?.aborted, true);
      assert.match(expectOutcome(await pending.outcome(), "failed").error.message, /expired/);
    }),
  );
});

describe("faults of messages", () => {
  const odd: { [name: string]: Behaviour } = {
    "an id of another type": (exchange, server) =>
      exchange.respond({ jsonrpc: "2.0", id: 1, result: server.snapshot(exchange.taskId, { status: "working" }) }),
    "no id": (exchange, server) => exchange.respond({ jsonrpc: "2.0", result: server.snapshot(exchange.taskId) }),
    "an id of null": (exchange) => exchange.respond({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "?" } }),
    "neither result nor error": (exchange) => exchange.respond({ jsonrpc: "2.0", id: exchange.request.id }),
    "a result and an error": (exchange) =>
      exchange.respond({ jsonrpc: "2.0", id: exchange.request.id, result: {}, error: { code: 1, message: "?" } }),
    "a request in the place of a response": (exchange) =>
      exchange.respond({ jsonrpc: "2.0", id: exchange.request.id, method: "ping" }),
    "a list": (exchange) => exchange.result([]),
    "null": gives(null),
  };
  for (const door of doorNames) {
    for (const [name, behaviour] of Object.entries(odd)) {
      it(
        `${name} does not lose the task ${door}`,
        withDifficult({ door, client: { requestTimeoutMs: 4 * SECOND } }, async ({ server, begin, clock }) => {
          server.on("tasks/get", behaviour, usual);
          const { pending, taskId } = await begin({ mode: "poll" });
          await clock.advance(SECOND);
          await until(() => server.count("tasks/get") === 1, "the first look");
          await pauseAgain(clock);
          server.complete(taskId);
          await clock.advance(SECOND);
          assert.equal(textOf(await pending.outcome()), "done");
          server.complaints.splice(0);
        }),
      );
    }

    it(
      `a response that comes twice, and one to nothing, harm nothing ${door}`,
      withDifficult({ door, server: { responses: "sse" } }, async ({ server, begin, clock }) => {
        const twice: Behaviour = (exchange, server) => {
          exchange.notify("notifications/message", { level: "info", data: "hm" });
          exchange.notify("notifications/unknown", {});
          server.usual(exchange);
        };
        const again: Behaviour = (exchange, server) => {
          if (door === "over HTTP") return server.usual(exchange);
          server.usual(exchange);
          server.usual(exchange);
          exchange.respond({ jsonrpc: "2.0", id: "errand-99999", result: {} });
        };
        server.on("tasks/get", both(twice, () => {}), again, usual);
        const { pending, taskId } = await begin({ mode: "poll" });
        const { events, over } = collect(pending);
        await passUntil(clock, () => server.count("tasks/get") >= 2, "two looks");
        server.complete(taskId);
        await untilOver(clock, pending.outcome());
        assert.equal(textOf(await pending.outcome()), "done");
        await over;
        assert.deepEqual(statuses(events), ["working", "completed"]);
      }),
    );
  }

  it(
    "notifications of tasks that nobody follows, and malformed ones, harm nothing",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("subscriptions/listen", (exchange, server) => {
        server.usual(exchange);
        const meta = { "io.modelcontextprotocol/subscriptionId": exchange.request.id };
        for (const params of [{}, { taskId: 7 }, { taskId: "another", status: "completed" }, { taskId: "constructor" }]) {
          exchange.notify("notifications/tasks", { ...params, _meta: meta });
        }
        exchange.notify("notifications/tasks", { taskId: "task-1", status: "completed" });
      });
      const { pending, taskId } = await begin({ mode: "auto" });
      await pass(5 * SECOND);
      assert.equal(pending.task?.status, "working");
      server.complete(taskId);
      await pass(2 * SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "a malformed notification of a task makes it looked at, in auto",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "auto" });
      await pass(SECOND);
      server.tasks.set(taskId, { ...server.task(taskId), status: "completed", result: { content: [{ type: "text", text: "done" }] } });
      server.tell(taskId, { taskId, status: "completed", createdAt: "?", lastUpdatedAt: "?" });
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "a task with times that are none, and a ttl that is none, is followed",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("tasks/get", lies({ createdAt: 5, lastUpdatedAt: "yesterday", ttlMs: "long" }), lies({ lastUpdatedAt: null }), usual);
      const { pending, taskId } = await begin({ mode: "poll" });
      await pass(2_500);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "a task id that no header can carry is sent all the same",
    withDifficult({ door: "over HTTP" }, async ({ server, client }) => {
      for (const taskId of ["ünïcode/…", " spaced ", "a\r\nX-Evil: 1", "=?base64?x?="]) {
        server.make(taskId);
        assert.equal((await client.getTask(taskId)).taskId, taskId);
      }
    }),
  );

  it(
    "a server that is not there says so, and no wait hangs",
    async () => {
      const client = createTaskClient("http://127.0.0.1:9/mcp", { timeoutMs: 10_000 });
      const { error } = expectOutcome(await client.callAndWait({ name: "work" }), "failed");
      assert.equal(error.code, "REQUEST_FAILED");
      await client.close();
      const program = createTaskClient({ command: "no-such-program-anywhere" }, { timeoutMs: 10_000 });
      const outcome = expectOutcome(await program.callAndWait({ name: "work" }), "failed");
      assert.equal(outcome.error.code, "REQUEST_FAILED");
      await program.close();
    },
  );
});
