// The bounds of a wait: what ends it, when, what is said then, and what is not done any more.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Outcome, WaitTimeoutError } from "../../src/client/mod.ts";
import { DetachedError, TaskCancelledError, createTaskClient } from "../../src/client/mod.ts";
import { turn } from "../support/clock.ts";
import { fails, gives, hangs, keeps, usual } from "../support/difficult-behaviours.ts";
import type { Behaviour, Exchange } from "../support/difficult-server.ts";
import { collect, doorNames, expectOutcome, form, named, passUntil, statuses, textOf, watch, withDifficult } from "../support/following.ts";
import { until } from "../support/until.ts";

const SECOND = 1_000;

/** Whether a promise is settled, after everything that can go on has. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  const isSettled = watch(promise);
  await turn(3);
  return isSettled();
}

const asks: Behaviour = (exchange, server) => {
  exchange.result({ resultType: "task", ...server.make() });
  server.ask("task-1", { q: form() });
};

describe("the limit of a wait", () => {
  it(
    "is a minute where nobody says otherwise",
    withDifficult({}, async ({ begin, pass }) => {
      const { pending } = await begin({ mode: "poll" });
      await pass(60 * SECOND - 1);
      assert.equal(await isOver(pending.outcome()), false);
      await pass(1);
      expectOutcome(await pending.outcome(), "timed_out");
    }),
  );

  it(
    "names the task, the limit and the status that was read last, and leaves the task running",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      const { pending, taskId } = await begin({ mode: "poll", timeoutMs: 5 * SECOND });
      const collected = collect(pending);
      server.change(taskId, { statusMessage: "half" });
      await pass(5 * SECOND);
      const { error, task, reference } = expectOutcome(await pending.outcome(), "timed_out");
      assert.equal(error.code, "TIMED_OUT");
      assert.equal(error.taskId, taskId);
      assert.equal(error.timeoutMs, 5_000);
      assert.equal(error.task?.statusMessage, "half");
      assert.equal(task, error.task);
      assert.match(error.message, new RegExp(`${taskId}.*working.*5000`, "s"));
      await assert.rejects(pending.result(), error);
      await collected.over;
      assert.equal(collected.error, error);
      assert.deepEqual(statuses(collected.events), ["working", "working"]);
      assert.equal(server.task(taskId)["status"], "working");
      assert.equal(server.count("tasks/cancel"), 0);
      const before = server.received.length;
      await pass(60 * SECOND);
      assert.equal(server.received.length, before, "nothing is sent after the limit");

      server.complete(taskId);
      assert.ok(reference !== undefined);
      const again = client.resume(reference, { mode: "poll" });
      await pass(SECOND);
      assert.equal(textOf(await again.outcome()), "done");
    }),
  );

  it(
    "may be set for all waits, and for one",
    withDifficult({ client: { timeoutMs: 2 * SECOND, mode: "poll" } }, async ({ begin, pass }) => {
      const short = await begin();
      const long = await begin({ timeoutMs: 4 * SECOND });
      await pass(2 * SECOND);
      expectOutcome(await short.pending.outcome(), "timed_out");
      await pass(2 * SECOND - 1);
      assert.equal(await isOver(long.pending.outcome()), false);
      await pass(1);
      expectOutcome(await long.pending.outcome(), "timed_out");
    }),
  );

  it(
    "may be none",
    withDifficult({ server: { pollIntervalMs: 86_400_000 } }, async ({ server, begin, pass }) => {
      const { pending, taskId } = await begin({
        mode: "poll",
        timeoutMs: Number.POSITIVE_INFINITY,
        maxPollIntervalMs: 86_400_000,
      });
      await pass(40 * 86_400_000 + 1);
      assert.equal(server.count("tasks/get"), 40);
      server.complete(taskId);
      await pass(86_400_000);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  /** What may hang, and whether there is a task by then. */
  const hung: { [name: string]: { method: string; first?: Behaviour; mode?: "poll" | "listen" | "auto"; task: boolean } } = {
    "connecting hangs": { method: "server/discover", task: false },
    "the call hangs": { method: "tools/call", task: false },
    "a look hangs": { method: "tasks/get", mode: "poll", task: true },
    "the acknowledgement hangs": { method: "subscriptions/listen", mode: "listen", task: true },
    "the look after the acknowledgement hangs": { method: "tasks/get", mode: "listen", task: true },
    "an update hangs": { method: "tasks/update", mode: "poll", task: true },
  };
  for (const door of doorNames) {
    for (const [name, { method, mode = "auto", task }] of Object.entries(hung)) {
      it(
        `holds where ${name} ${door}`,
        withDifficult({ door, client: { requestTimeoutMs: 600 * SECOND } }, async ({ server, client, clock }) => {
          server.on(method, hangs);
          if (method === "tasks/update") server.on("tools/call", asks);
          const pending = client.beginCallTool(
            { name: "work" },
            { mode, timeoutMs: 5 * SECOND, input: { form: () => named("Ann") } },
          );
          pending.created.catch(() => {});
          const outcome = pending.outcome();
          if (task) await pending.created;
          await passUntil(clock, () => server.count(method) > 0, method);
          const elapsed = clock.now() - Date.UTC(2026, 0, 1);
          await clock.advance(5 * SECOND - elapsed - 1);
          await turn(20);
          assert.equal(await isOver(outcome), false);
          await clock.advance(1);
          const { error } = expectOutcome(await outcome, "timed_out");
          assert.equal(error.taskId, task ? "task-1" : undefined);
          assert.equal(error.timeoutMs, 5_000);
          assert.match(error.message, /5000/);
          assert.equal(error.reference !== undefined, task);
          assert.equal(server.count("tasks/cancel"), 0);
        }),
      );
    }
  }

  it(
    "holds where an input handler hangs, and tells it so",
    withDifficult({}, async ({ server, client, pass }) => {
      server.on("tools/call", asks);
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
      await pass(5 * SECOND - 1);
      assert.equal(await isOver(outcome), false);
      assert.equal(signal?.aborted, false);
      await pass(1);
      const { error } = expectOutcome(await outcome, "timed_out");
      assert.equal(error.task?.status, "input_required");
      assert.equal(signal?.aborted, true);
    }),
  );

  it(
    "holds where a function that answers hangs",
    withDifficult({}, async ({ server, client, pass }) => {
      server.on("tools/call", asks);
      const outcome = client.callAndWait({ name: "work" }, { timeoutMs: 5 * SECOND, input: () => new Promise(() => {}) });
      await pass(5 * SECOND);
      expectOutcome(await outcome, "timed_out");
    }),
  );

  it(
    "holds where onTaskStatus hangs",
    withDifficult({}, async ({ client, pass }) => {
      const outcome = client.callAndWait(
        { name: "work" },
        { mode: "poll", timeoutMs: 5 * SECOND, onTaskStatus: () => new Promise(() => {}) },
      );
      await pass(5 * SECOND);
      expectOutcome(await outcome, "timed_out");
    }),
  );

  it(
    "holds where onTaskStatus hangs although the task has ended",
    withDifficult({}, async ({ server, client, pass }) => {
      const outcome = client.callAndWait(
        { name: "work" },
        { mode: "poll", timeoutMs: 5 * SECOND, onTaskStatus: () => new Promise(() => {}) },
      );
      await pass(500);
      server.complete("task-1");
      await pass(4_499);
      assert.equal(await isOver(outcome), false);
      await pass(1);
      assert.equal(textOf(await outcome), "done");
    }),
  );

  it(
    "is not waited for where closing the stream hangs",
    withDifficult({ door: "over HTTP" }, async ({ server, clock }) => {
      const { url } = await server.http();
      /** A `fetch` that never ends a stream, whatever its signal says. */
      const stuck = async (input: string | URL, init?: RequestInit): Promise<Response> => {
        const isListen = new Headers(init?.headers).get("mcp-method") === "subscriptions/listen";
        if (!isListen) return fetch(input, init);
        const { signal: _, ...rest } = init ?? {};
        const response = await fetch(input, rest);
        // Reading it to the end takes for ever, and so does cancelling it.
        const reader = response.body?.getReader();
        const body = new ReadableStream<Uint8Array>({
          async pull(controller) {
            const { done, value } = (await reader?.read().catch(() => ({ done: true, value: undefined }))) ?? { done: true };
            if (done || value === undefined) controller.close();
            else controller.enqueue(value);
          },
          cancel: () => new Promise(() => {}),
        });
        return new Response(body, { headers: response.headers });
      };
      const client = createTaskClient({ url, fetch: stuck }, { clock });
      const pending = client.beginCallTool({ name: "work" }, { mode: "listen", timeoutMs: 5 * SECOND });
      await pending.created;
      await passUntil(clock, () => server.listening === 1, "the stream");
      await passUntil(clock, () => server.count("tasks/get") === 1, "the look");
      server.complete("task-1");
      assert.equal(textOf(await pending.outcome()), "done");

      const limited = client.beginCallTool({ name: "work" }, { mode: "listen", timeoutMs: 5 * SECOND });
      await limited.created;
      await turn(20);
      await clock.advance(5 * SECOND);
      expectOutcome(await limited.outcome(), "timed_out");
      await client.close();
      server.endListening((exchange) => exchange.cut());
    }),
  );

  it(
    "bounds one request by requestTimeoutMs, after which the task is looked at again",
    withDifficult({ client: { requestTimeoutMs: 2 * SECOND } }, async ({ server, begin, pass }) => {
      server.on("tasks/get", hangs, usual);
      const { pending, taskId } = await begin({ mode: "poll" });
      await pass(3 * SECOND);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
      assert.deepEqual(server.times("tasks/get"), [1_000, 3_500]);
    }),
  );

  it(
    "bounds the requests that are made by hand",
    withDifficult({ client: { requestTimeoutMs: 3 * SECOND } }, async ({ server, client, pass }) => {
      server.make("t");
      await client.connect();
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) server.on(method, hangs);
      const requests = [
        client.getTask("t"),
        client.updateTask("t", {}),
        client.cancelTask("t"),
        client.getTask("t", { timeoutMs: SECOND }),
      ];
      for (const request of requests) request.catch(() => {});
      await pass(SECOND);
      await assert.rejects(Promise.resolve(requests[3]), { code: "REQUEST_FAILED" });
      await pass(2 * SECOND);
      for (const request of requests) await assert.rejects(request, { code: "REQUEST_FAILED" });
      const over = new AbortController();
      const left = client.getTask("t", { signal: over.signal });
      const reason = new Error("enough");
      over.abort(reason);
      await assert.rejects(left, reason);
    }),
  );
});

describe("a signal", () => {
  for (const door of doorNames) {
    it(
      `ends a wait with its reason, and leaves the task running ${door}`,
      withDifficult({ door }, async ({ server, clock, begin }) => {
        const over = new AbortController();
        const { pending, taskId } = await begin({ mode: "auto", signal: over.signal });
        const collected = collect(pending);
        await passUntil(clock, () => server.listening === 1, "the stream");
        const reason = new Error("the user left");
        over.abort(reason);
        const outcome = expectOutcome(await pending.outcome(), "aborted");
        assert.equal(outcome.reason, reason);
        assert.equal(outcome.task?.taskId, taskId);
        assert.ok(outcome.reference !== undefined);
        await assert.rejects(pending.result(), reason);
        await collected.over;
        assert.equal(collected.error, reason);
        await until(() => server.listening === 0, "the stream's end");
        assert.equal(server.count("tasks/cancel"), 0);
        assert.equal(server.task(taskId)["status"], "working");
      }),
    );
  }

  it(
    "that fired already lets nothing be sent",
    withDifficult({}, async ({ server, client, pass }) => {
      const reason = new Error("never mind");
      const signal = AbortSignal.abort(reason);
      const outcome = expectOutcome(await client.callAndWait({ name: "work" }, { signal }), "aborted");
      assert.equal(outcome.reason, reason);
      await assert.rejects(client.callTool({ name: "work" }, { signal }), reason);
      await assert.rejects(client.beginCallTool({ name: "work" }, { signal }).created, reason);
      await pass(60 * SECOND);
      assert.equal(server.count("tools/call"), 0);
    }),
  );

  it(
    "leaves no listener behind",
    withDifficult({}, async ({ server, begin, pass }) => {
      const over = new AbortController();
      let listeners = 0;
      const { signal } = over;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        listeners += 1;
        add(...args);
      };
      signal.removeEventListener = (...args: Parameters<typeof remove>) => {
        listeners -= 1;
        remove(...args);
      };
      for (const mode of ["poll", "listen", "auto"] as const) {
        const { pending, taskId } = await begin({ mode, signal });
        await pass(5 * SECOND);
        server.complete(taskId);
        await pass(5 * SECOND);
        assert.equal(textOf(await pending.outcome()), "done");
      }
      assert.equal(listeners, 0);
    }),
  );
});

describe("a task that is made too late", () => {
  const ends: { [name: string]: (give: { pending: { detach(): void; cancel(): Promise<void> }; over: AbortController }) => void } = {
    "the signal fired": ({ over }) => over.abort(new Error("never mind")),
    "it was cancelled": ({ pending }) => void pending.cancel().catch(() => {}),
  };
  for (const door of doorNames) {
    for (const [name, end] of Object.entries(ends)) {
      it(
        `is cancelled when ${name} ${door}`,
        withDifficult({ door }, async ({ server, client }) => {
          const kept: Exchange[] = [];
          server.on("tools/call", keeps(kept));
          const over = new AbortController();
          const pending = client.beginCallTool({ name: "work" }, { signal: over.signal });
          pending.created.catch(() => {});
          await until(() => kept.length === 1, "the call");
          end({ pending, over });
          await turn(20);
          for (const exchange of kept) server.usual(exchange);
          await until(() => server.count("tasks/cancel") === 1, "the late task to be cancelled");
          assert.equal(server.requests("tasks/cancel")[0]?.params["taskId"], "task-1");
          assert.equal(server.task("task-1")["status"], "cancelled");
          const outcome = await pending.outcome();
          assert.ok(["aborted", "cancelled"].includes(outcome.status), outcome.status);
        }),
      );
    }
  }
});

describe("leaving and cancelling", () => {
  it(
    "are two things: who leaves sends nothing, and the task keeps running",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      const { pending, taskId } = await begin();
      const collected = collect(pending);
      await pass(SECOND);
      const before = server.requests().length;
      pending.detach();
      await assert.rejects(pending.result(), (error) => {
        assert.ok(error instanceof DetachedError);
        assert.equal(error.code, "DETACHED");
        assert.ok(error.reference !== undefined);
        return true;
      });
      const outcome = expectOutcome(await pending.outcome(), "detached");
      assert.equal(outcome.task?.taskId, taskId);
      await collected.over;
      assert.ok(collected.error instanceof DetachedError);
      pending.detach();
      await pass(60 * SECOND);
      assert.equal(server.requests().length, before);
      assert.equal(server.task(taskId)["status"], "working");

      const again = client.resume(pending.reference());
      await pass(SECOND);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await again.outcome()), "done");
    }),
  );

  for (const mode of ["poll", "auto"] as const) {
    it(
      `who cancels hears how the task ended (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode });
        await pass(SECOND);
        await Promise.all([pending.cancel(), pass(0)]);
        await pass(SECOND);
        const { task } = expectOutcome(await pending.outcome(), "cancelled");
        assert.equal(task?.taskId, taskId);
        await assert.rejects(pending.result(), TaskCancelledError);
        assert.equal(server.count("tasks/cancel"), 1);
        assert.deepEqual(server.afterEnd(), []);
      }),
    );

    it(
      `who cancels a task that ends otherwise hears that (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        server.on("tasks/cancel", gives({ resultType: "complete" }));
        const { pending, taskId } = await begin({ mode });
        await pass(SECOND);
        const cancelled = pending.cancel();
        await pass(0);
        await cancelled;
        await pass(3 * SECOND);
        server.complete(taskId, "all the same");
        await pass(SECOND);
        assert.equal(textOf(await pending.outcome()), "all the same");
      }),
    );
  }

  it(
    "a cancel that the server refuses is told, and the wait goes on",
    withDifficult({}, async ({ server, begin, pass }) => {
      server.on("tasks/cancel", fails(-32603, "Not now"));
      const { pending, taskId } = await begin({ mode: "poll" });
      const cancelled = pending.cancel();
      cancelled.catch(() => {});
      await pass(SECOND);
      await assert.rejects(cancelled, { code: "REQUEST_FAILED", rpcCode: -32603, message: "Not now" });
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "closing the client leaves its waits, and cancels nothing",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      const one = await begin({ mode: "poll" });
      const two = await begin({ mode: "listen" });
      await pass(SECOND);
      await client.close();
      expectOutcome(await one.pending.outcome(), "detached");
      expectOutcome(await two.pending.outcome(), "detached");
      await pass(60 * SECOND);
      assert.equal(server.count("tasks/cancel"), 0);
      assert.equal(server.open, 0);
      await assert.rejects(client.callTool({ name: "work" }));
      await client.close();
    }),
  );
});

describe("after the end", () => {
  for (const mode of ["poll", "listen", "auto"] as const) {
    it(
      `nothing is sent, and the result is kept (${mode})`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode });
        await pass(1_500);
        server.complete(taskId);
        await pass(1_500);
        const results = await Promise.all([pending.result(), pending.result(), pending.result()]);
        const before = server.requests().length;
        assert.equal(results[0], results[1]);
        assert.equal(await pending.result(), results[2]);
        assert.equal(textOf(await pending.outcome()), "done");
        const late = collect(pending);
        await late.over;
        assert.deepEqual(statuses(late.events), ["completed"]);
        pending.detach();
        await pending.cancel().catch(() => {});
        assert.equal(textOf(await pending.outcome()), "done");
        assert.equal(pending.task?.status, "completed");
        await pass(600 * SECOND);
        assert.equal(server.requests().length, before);
        assert.deepEqual(server.afterEnd(), []);
      }),
    );
  }

  it(
    "an answer that comes too late is not sent",
    withDifficult({}, async ({ server, begin, pass }) => {
      const { promise: answer, resolve } = Promise.withResolvers<ReturnType<typeof named>>();
      const { pending, taskId } = await begin({ mode: "auto", input: { form: () => answer } });
      server.ask(taskId, { q: form() });
      await pass(SECOND);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
      resolve(named("Ann"));
      await pass(60 * SECOND);
      assert.deepEqual(server.answers, []);
      assert.deepEqual(server.afterEnd(), []);
    }),
  );
});

describe("errors of a call", () => {
  it(
    "are thrown by callTool, and given by callAndWait",
    withDifficult({}, async ({ server, client, pass }) => {
      server.on("tools/call", fails(-32602, "Unknown tool", { tool: "work" }));
      const error = { code: "REQUEST_FAILED", rpcCode: -32602, message: "Unknown tool", data: { tool: "work" } };
      await assert.rejects(client.callTool({ name: "work" }), error);
      const outcome = expectOutcome(await client.callAndWait({ name: "work" }), "failed");
      const { code, rpcCode, message, data } = outcome.error;
      assert.deepEqual({ code, rpcCode, message, data }, error);
      assert.equal(outcome.task, undefined);
      await assert.rejects(client.beginCallTool({ name: "work" }).created, error);
      assert.equal(server.count("tools/call"), 3, "a call is never made twice");

      server.on("tools/call", usual);
      const failed = client.callAndWait({ name: "work" }, { mode: "poll" });
      await pass(500);
      server.change("task-1", { status: "failed", error: { code: -32050, message: "Broke", data: [1] }, statusMessage: "alas" });
      await pass(SECOND);
      const { error: reason, task } = expectOutcome(await failed, "failed");
      assert.deepEqual(
        [reason.code, reason.rpcCode, reason.message, reason.data],
        ["TASK_FAILED", -32050, "Broke", [1]],
      );
      assert.equal(task?.status, "failed");
      assert.equal(task?.statusMessage, "alas");
      assert.equal((reason as { task?: unknown }).task, task);
    }),
  );

  const options: [name: string, value: object][] = [
    ["a timeout that is none", { timeoutMs: -1 }],
    ["a timeout that is no number", { timeoutMs: "1m" }],
    ["NaN for a timeout", { timeoutMs: Number.NaN }],
    ["a mode that is none", { mode: "push" }],
    ["a floor over the ceiling", { minPollIntervalMs: 10, maxPollIntervalMs: 5 }],
    ["an interval of 0", { pollIntervalMs: 0 }],
    ["a signal that is none", { signal: {} }],
    ["input that is none", { input: 7 }],
    ["a handler that is none", { input: { form: "yes" } }],
    ["a handler of no kind", { input: { telepathy: () => ({}) } }],
  ];
  for (const [name, value] of options) {
    it(
      `${name} is refused before anything is sent`,
      withDifficult({}, async ({ server, client, pass }) => {
        const thrown = (error: unknown) => error instanceof TypeError || error instanceof RangeError;
        await assert.rejects(async () => client.callAndWait({ name: "work" }, value), thrown);
        await assert.rejects(async () => client.callTool({ name: "work" }, value), thrown);
        assert.throws(() => client.beginCallTool({ name: "work" }, value), thrown);
        assert.throws(() => createTaskClient("http://127.0.0.1/", value), thrown);
        await pass(0);
        assert.equal(server.received.length, 0);
      }),
    );
  }

  it(
    "never escape from callAndWait",
    withDifficult({}, async ({ server, client, clock }) => {
      const behaviours: Behaviour[] = [
        fails("x", 1),
        gives(null),
        gives({ resultType: "task" }),
        gives({ resultType: "task", taskId: 7, status: "working" }),
        gives({ resultType: "something" , content: 5 }),
        gives({ resultType: "input_required", inputRequests: "none" }),
        (exchange) => exchange.cut(),
      ];
      for (const behaviour of behaviours) {
        server.on("tools/call", behaviour);
        const call = client.callAndWait({ name: "work" }, { timeoutMs: SECOND });
        await turn(10);
        await clock.advance(SECOND);
        const outcome: Outcome = await call;
        assert.ok(outcome.status === "failed" || outcome.status === "timed_out", outcome.status);
        const { error } = outcome as { error: WaitTimeoutError };
        assert.ok(error instanceof Error);
      }
      assert.equal(server.count("tools/call"), behaviours.length);
    }),
  );
});
