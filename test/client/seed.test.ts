// What the seeds offer, one row each: the client helpers for Tasks of Snodo, with the parts that they say they cannot do,
// and the `PendingRequest` that SEP-1686 sketches.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { InputHandlers } from "../../src/client/mod.ts";
import {
  InputHandlerError,
  PendingRequest,
  RequestFailedError,
  TaskCancelledError,
  TaskFailedError,
  WaitTimeoutError,
  createTaskClient,
} from "../../src/client/mod.ts";
import { turn } from "../support/clock.ts";
import { begins, fails, gives, hangs, usual } from "../support/difficult-behaviours.ts";
import { declares } from "../support/difficult-server.ts";
import type { Door, Meeting, MeetingOptions } from "../support/following.ts";
import { collect, doorNames, expectOutcome, form, named, statuses, textOf, untilOver, withDifficult } from "../support/following.ts";

const SECOND = 1_000;
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

type Row = [words: string, test: (meeting: Meeting) => Promise<void>, options?: MeetingOptions];

function table(rows: readonly Row[]): void {
  for (const [words, test, options = {}] of rows) it(words, withDifficult(options, test));
}

/** Calls, completes the task and waits. */
async function roundTrip({ server, client, clock }: Meeting): Promise<void> {
  server.on("tasks/get", (exchange) => {
    server.complete(exchange.taskId);
    server.usual(exchange);
  });
  const outcome = client.callAndWait({ name: "work", arguments: { id: 7 } }, { mode: "poll" });
  await untilOver(clock, outcome);
  assert.equal(textOf(await outcome), "done");
  assert.deepEqual(server.requests("tools/call")[0]?.params["arguments"], { id: 7 });
}

describe("Snodo's client helpers: any client", () => {
  table(
    doorNames.map((door: Door): Row => [`call_and_await works ${door}, task methods included`, roundTrip, { door }]),
  );

  table([
    [
      "the task methods carry Mcp-Name over HTTP, which Snodo cannot",
      async ({ server, client }) => {
        server.make("tâche 1");
        await client.getTask("tâche 1");
        await client.updateTask("tâche 1", {});
        await client.cancelTask("tâche 1");
        for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
          assert.equal(server.requests(method)[0]?.headers?.["mcp-name"], "=?base64?dMOiY2hlIDE=?=");
          assert.equal(server.requests(method)[0]?.headers?.["mcp-method"], method);
        }
      },
      { door: "over HTTP" },
    ],
    [
      "the extension is declared per request, on top of the client's own capabilities; its other requests are untouched",
      async ({ server, clock }) => {
        const sdk = new Client(
          { name: "own", version: "1" },
          { capabilities: { sampling: {}, extensions: { "com.example/x": { y: 1 } } }, versionNegotiation: { mode: "auto" } },
        );
        await sdk.connect(new StreamableHTTPClientTransport(new URL((await server.http()).url)));
        const client = createTaskClient(sdk, { clock });
        const pending = client.beginCallTool({ name: "work", _meta: { "com.example/trace": "t1" } });
        await pending.created;
        const meta = server.requests("tools/call")[0]?.params["_meta"] as { [key: string]: unknown };
        assert.equal(meta["com.example/trace"], "t1");
        assert.deepEqual(meta[CAPABILITIES], {
          sampling: {},
          extensions: { "com.example/x": { y: 1 }, "io.modelcontextprotocol/tasks": {} },
        });
        const plain = await sdk.callTool({ name: "work" });
        assert.deepEqual(plain.content, [{ type: "text", text: "plain" }]);
        await sdk.listTools();
        for (const request of [server.requests("tools/call")[1], server.requests("tools/list")[0]]) {
          assert.ok(request !== undefined && !declares(request));
        }
        pending.detach();
        await client.close();
        assert.ok((await sdk.listTools()).tools.length > 0, "a given client stays open");
        await sdk.close();
      },
    ],
    [
      "server_supports? says whether the server advertises the extension: it does",
      async ({ client }) => assert.equal(await client.serverSupports(), true),
    ],
    [
      "server_supports? says whether the server advertises the extension: it does not",
      async ({ client }) => assert.equal(await client.serverSupports(), false),
      { server: { tasks: false } },
    ],
  ]);
});

describe("Snodo's client helpers: outcomes", () => {
  table([
    [
      "call_tool gives {:ok, result} for a call that is answered inline, and nothing is polled",
      async ({ server, client, pass }) => {
        const pending = client.beginCallTool({ name: "inline" });
        assert.equal(await pending.created, undefined);
        const outcome = expectOutcome(await pending.outcome(), "completed");
        assert.equal(outcome.task, undefined);
        assert.deepEqual(outcome.result, { content: [{ type: "text", text: "inline" }] });
        const { events, over } = collect(pending);
        await over;
        assert.deepEqual(events, [{ status: "completed", result: outcome.result }]);
        await pass(60 * SECOND);
        assert.deepEqual(server.requests().map(({ method }) => method), ["server/discover", "tools/call"]);
      },
    ],
    [
      "call_tool gives {:task, status}, and await goes on with it",
      async ({ server, client, begin, pass }) => {
        const first = await begin({ mode: "poll" });
        const task = await first.pending.created;
        assert.equal(task?.status, "working");
        assert.equal(task?.ttlMs, 3_600_000);
        first.pending.detach();
        const outcome = client.follow(task ?? "", { mode: "poll" }).outcome();
        server.complete(first.taskId);
        await pass(SECOND);
        assert.equal(textOf(await outcome), "done");
      },
    ],
    [
      "{:ok, result} is the final CallToolResult, as for a synchronous call",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        const result = { content: [{ type: "text", text: "t", annotations: { priority: 1 } }], structuredContent: { a: [1] }, _meta: { m: 1 } };
        server.change(taskId, { status: "completed", result: { ...result, resultType: "complete" } });
        await pass(SECOND);
        assert.deepEqual(await pending.result(), result);
      },
    ],
    [
      "a result with isError is a tool that ran and says that it failed",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        server.change(taskId, { status: "completed", result: { content: [{ type: "text", text: "no" }], isError: true } });
        await pass(SECOND);
        assert.equal(expectOutcome(await pending.outcome(), "completed").result.isError, true);
        assert.equal((await pending.result()).isError, true);
      },
    ],
    [
      "{:error, error} when the task failed: the server's code, message and data, with the failed status",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        server.change(taskId, { status: "failed", statusMessage: "rate", error: { code: -32050, message: "Limit", data: { in: 5 } } });
        await pass(SECOND);
        const { error, task } = expectOutcome(await pending.outcome(), "failed");
        assert.ok(error instanceof TaskFailedError);
        assert.deepEqual([error.rpcCode, error.message, error.data], [-32050, "Limit", { in: 5 }]);
        assert.deepEqual([error.task.status, error.task.statusMessage], ["failed", "rate"]);
        assert.equal(task, error.task);
        await assert.rejects(pending.result(), error);
      },
    ],
    [
      "{:error, error} when a request failed",
      async ({ server, client }) => {
        server.on("tools/call", fails(-32602, "Unknown tool"));
        const { error } = expectOutcome(await client.callAndWait({ name: "work" }), "failed");
        assert.ok(error instanceof RequestFailedError);
        assert.equal(error.rpcCode, -32602);
      },
    ],
    [
      "{:cancelled, status}",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        server.change(taskId, { status: "cancelled", statusMessage: "by an operator" });
        await pass(SECOND);
        assert.equal(expectOutcome(await pending.outcome(), "cancelled").task?.statusMessage, "by an operator");
        await assert.rejects(pending.result(), (error) => error instanceof TaskCancelledError && /operator/.test(error.message));
      },
    ],
    [
      "{:input_required, status}",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        server.ask(taskId, { q: form() });
        await pass(SECOND);
        const outcome = expectOutcome(await pending.outcome(), "input_required");
        assert.deepEqual(outcome.inputRequests, { q: form() });
        assert.equal(outcome.task?.taskId, taskId);
      },
    ],
  ]);
});

describe("Snodo's client helpers: waiting", () => {
  table([
    [
      "await polls by pollIntervalMs, by :poll_interval where the server sent none, and never below :min_poll_interval",
      async ({ server, begin, pass }) => {
        server.on("tools/call", begins({ pollIntervalMs: 2_000 }), begins({ pollIntervalMs: undefined }), begins({ pollIntervalMs: 1 }));
        const looks: number[] = [];
        for (const options of [{}, { pollIntervalMs: 3_000 }, { minPollIntervalMs: 500 }]) {
          const before = server.count("tasks/get");
          const { pending } = await begin({ mode: "poll", ...options });
          await pass(6_100);
          looks.push(server.count("tasks/get") - before);
          pending.detach();
        }
        assert.deepEqual(looks, [3, 2, 12]);
      },
    ],
    [
      "listen: true reads the status once after the acknowledgement, and then waits for notifications",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "listen" });
        await pass(30 * SECOND);
        server.complete(taskId);
        await pass(0);
        assert.equal(textOf(await pending.outcome()), "done");
        assert.equal(server.count("tasks/get"), 1);
      },
    ],
    [
      "a stream that ends before the task does is followed by polling",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "auto" });
        await pass(SECOND);
        server.endListening((exchange) => exchange.result({ resultType: "complete" }));
        await pass(3 * SECOND);
        assert.ok(server.count("tasks/get") >= 4);
        server.complete(taskId);
        await pass(SECOND);
        assert.equal(textOf(await pending.outcome()), "done");
      },
    ],
    [
      "a server without a subscription source refuses with -32601, which await returns",
      async ({ server, begin, pass }) => {
        server.on("subscriptions/listen", fails(-32601, "Method not found"));
        const { pending } = await begin({ mode: "listen" });
        await pass(SECOND);
        assert.equal(expectOutcome(await pending.outcome(), "failed").error.rpcCode, -32601);
      },
    ],
    [
      "the wait is bounded by :timeout, a minute unless set; the error has the task, the limit and the last status",
      async ({ server, client, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        await pass(60 * SECOND);
        const { error } = expectOutcome(await pending.outcome(), "timed_out");
        assert.ok(error instanceof WaitTimeoutError);
        assert.deepEqual([error.taskId, error.timeoutMs, error.task?.status], [taskId, 60_000, "working"]);
        // The task keeps running: await it again, or cancel it.
        const again = client.follow(taskId, { mode: "poll" });
        const cancelled = client.cancelTask(taskId);
        await pass(SECOND);
        await cancelled;
        await pass(SECOND);
        expectOutcome(await again.outcome(), "cancelled");
        assert.equal(server.count("tasks/cancel"), 1);
      },
    ],
    [
      "the last status is nil when none was read",
      async ({ server, client, pass }) => {
        server.on("tasks/get", hangs);
        const pending = client.follow("unread", { mode: "poll", timeoutMs: SECOND });
        await pass(SECOND);
        const { error } = expectOutcome(await pending.outcome(), "timed_out");
        assert.deepEqual([error.taskId, error.task], ["unread", undefined]);
      },
    ],
    [
      "each request gets :request_timeout, or the time left when that is shorter",
      async ({ server, begin, pass }) => {
        server.on("tasks/get", hangs);
        const { pending } = await begin({ mode: "poll", timeoutMs: 6 * SECOND });
        await pass(6 * SECOND - 1);
        assert.equal(server.count("tasks/get"), 2);
        await pass(1);
        expectOutcome(await pending.outcome(), "timed_out");
      },
      { client: { requestTimeoutMs: 3 * SECOND } },
    ],
    [
      "the acknowledgement is bounded in process too, which Snodo's is not",
      async ({ server, begin, pass }) => {
        server.on("subscriptions/listen", hangs);
        const { pending } = await begin({ mode: "listen", timeoutMs: 2 * SECOND });
        await pass(2 * SECOND);
        expectOutcome(await pending.outcome(), "timed_out");
      },
    ],
    [
      "closing the stream holds nothing up, which Snodo waits up to 5 s for",
      async ({ server, begin, pass, clock }) => {
        const { pending, taskId } = await begin({ mode: "listen" });
        await pass(SECOND);
        const before = clock.now();
        server.complete(taskId);
        await pass(0);
        assert.equal(textOf(await pending.outcome()), "done");
        assert.equal(clock.now(), before);
      },
    ],
    [
      "input handlers are bounded, which Snodo's are not",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll", timeoutMs: 2 * SECOND, input: { form: () => new Promise(() => {}) } });
        server.ask(taskId, { q: form() });
        await pass(2 * SECOND);
        expectOutcome(await pending.outcome(), "timed_out");
      },
    ],
  ]);
});

/** Asks a task something, and gives what came of it. */
async function asking({ server, begin, pass }: Meeting, input: unknown, questions: object) {
  const { pending, taskId } = await begin({ mode: "poll", input: input as InputHandlers });
  server.ask(taskId, { ...questions });
  await pass(SECOND);
  return { pending, taskId, answers: server.answers.map(({ key, response }) => [key, response]) };
}

const sampling = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };

describe("Snodo's client helpers: input", () => {
  table([
    [
      ":handlers, the client's own by default, by kind, and :form where an elicitation has no mode",
      async (meeting) => {
        const params = { message: "Name?", requestedSchema: { type: "object", properties: {} } };
        const { pending, answers } = await asking(
          meeting,
          { form: (asked: object) => ({ action: "accept", content: { asked } }), roots: () => ({ roots: [] }) },
          { e: { method: "elicitation/create", params }, r: { method: "roots/list" } },
        );
        assert.deepEqual(answers, [
          ["e", { action: "accept", content: { asked: params } }],
          ["r", { roots: [] }],
        ]);
        pending.detach();
      },
    ],
    [
      "no handler for a kind: no handler runs, and {:input_required, status}",
      async (meeting) => {
        let ran = false;
        const { pending } = await asking(meeting, { form: () => ((ran = true), named("A")) }, { q: form(), s: sampling });
        expectOutcome(await pending.outcome(), "input_required");
        assert.equal(ran, false);
      },
    ],
    [
      ":return gives {:input_required, status} at once; by hand, update and await again",
      async (meeting) => {
        const { pending, taskId } = await asking(meeting, "return", { q: form() });
        expectOutcome(await pending.outcome(), "input_required");
        const { server, client, pass } = meeting;
        const updated = client.updateTask(taskId, { q: named("Ann") });
        await pass(0);
        await updated;
        assert.deepEqual(server.answers, [{ taskId, key: "q", response: named("Ann") }]);
        const again = client.follow(taskId, { mode: "poll" });
        await pass(SECOND);
        server.complete(taskId);
        await pass(SECOND);
        assert.equal(textOf(await again.outcome()), "done");
      },
    ],
    [
      "a function of the status, with the requests that have no answer yet, gives a map",
      async (meeting) => {
        const seen: string[][] = [];
        const input = ({ inputRequests }: { inputRequests: object }) => {
          seen.push(Object.keys(inputRequests));
          return Object.fromEntries(Object.keys(inputRequests).map((key) => [key, named(key)]));
        };
        const { pending, taskId, answers } = await asking(meeting, input, { a: form(), b: form() });
        assert.deepEqual(answers, [["a", named("a")], ["b", named("b")]]);
        meeting.server.ask(taskId, { c: form() });
        await meeting.pass(SECOND);
        assert.deepEqual(seen, [["a", "b"], ["c"]]);
        pending.detach();
      },
    ],
    ...(
      [
        ["an elicitation result needs an action", form(), { form: () => ({}) }],
        ["a sampling result must be valid", sampling, { sampling: () => ({ role: "assistant" }) }],
        ["a roots result must be valid", { method: "roots/list" }, { roots: () => ({ roots: "here" }) }],
        ["a handler that gives an error stops the wait", form(), { form: () => Promise.reject(new Error("no")) }],
        ["an exception stops it too, and does not escape", form(), { form: () => assert.fail("thrown") }],
      ] as const
    ).map(
      ([words, question, input]): Row => [
        `${words}: the error names the key, and nothing is sent`,
        async (meeting) => {
          const { pending, taskId, answers } = await asking(meeting, input, { key: question });
          const { error } = expectOutcome(await pending.outcome(), "failed");
          assert.ok(error instanceof InputHandlerError);
          assert.deepEqual([error.key, error.task?.taskId, error.cancelled], ["key", taskId, false]);
          assert.deepEqual(answers, []);
        },
      ],
    ),
    [
      "the key is nil for the function form",
      async (meeting) => {
        const { pending } = await asking(meeting, () => ({ q: { action: "?" } }), { q: form() });
        const { error } = expectOutcome(await pending.outcome(), "failed");
        assert.ok(error instanceof InputHandlerError);
        assert.equal(error.key, undefined);
      },
    ],
  ]);
});

describe("SEP-1686's PendingRequest", () => {
  table([
    [
      "beginCallTool gives a PendingRequest at once, with a taskId once it is known",
      async ({ client, pass }) => {
        const pending = client.beginCallTool({ name: "work" });
        assert.ok(pending instanceof PendingRequest);
        assert.equal(pending.taskId, undefined);
        // As the sketch awaits it, too.
        assert.equal(await Promise.resolve(pending), pending);
        await pass(0);
        assert.equal(pending.taskId, "task-1");
        pending.detach();
      },
    ],
    [
      "result({ onTaskStatus }) tells each status, waits for the listener, and gives the result",
      async ({ server, client, pass }) => {
        const pending = client.beginCallTool({ name: "work" }, { mode: "poll" });
        const log: string[] = [];
        const result = pending.result({
          onTaskStatus: async (task) => {
            log.push(`${task.status} begins`);
            await turn(2);
            log.push(`${task.status} ends`);
          },
        });
        await pass(500);
        server.complete("task-1");
        await pass(SECOND);
        assert.deepEqual((await result).content, [{ type: "text", text: "done" }]);
        assert.deepEqual(log, ["working begins", "working ends", "completed begins", "completed ends"]);
      },
    ],
    [
      "result() blocks for the result without a listener",
      async ({ server, client, pass }) => {
        const pending = client.beginCallTool({ name: "work" }, { mode: "poll" });
        const result = pending.result();
        await pass(500);
        server.complete("task-1");
        await pass(SECOND);
        assert.deepEqual((await result).content, [{ type: "text", text: "done" }]);
      },
    ],
    [
      "a listener that throws fails the result it belongs to, and not the wait",
      async ({ server, client, pass }) => {
        const pending = client.beginCallTool({ name: "work" }, { mode: "poll" });
        const failing = pending.result({ onTaskStatus: () => assert.fail("no room") });
        failing.catch(() => {});
        await pass(500);
        await assert.rejects(failing, /no room/);
        server.complete("task-1");
        await pass(SECOND);
        assert.equal(textOf(await pending.outcome()), "done");
      },
    ],
    [
      "a server that answers inline is handled inside",
      async ({ client }) => {
        const heard: unknown[] = [];
        const result = await client.beginCallTool({ name: "inline" }).result({ onTaskStatus: (task) => void heard.push(task) });
        assert.deepEqual(result.content, [{ type: "text", text: "inline" }]);
        assert.deepEqual(heard, []);
      },
    ],
    [
      "callTool is beginCallTool and result in one",
      async ({ server, client, pass }) => {
        const heard: string[] = [];
        const result = client.callTool({ name: "work" }, { mode: "poll", onTaskStatus: ({ status }) => void heard.push(status) });
        await pass(500);
        server.complete("task-1");
        await pass(SECOND);
        assert.deepEqual((await result).content, [{ type: "text", text: "done" }]);
        assert.deepEqual(heard, ["working", "completed"]);
      },
    ],
    [
      "the handle is an async iterable of its status, with one terminal event",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        const collected = collect(pending);
        server.ask(taskId, {});
        await pass(SECOND);
        server.change(taskId, { status: "working", statusMessage: "on" });
        await pass(SECOND);
        server.complete(taskId);
        await pass(SECOND);
        await collected.over;
        assert.deepEqual(statuses(collected.events), ["working", "input_required", "working", "completed"]);
        assert.equal(collected.error, undefined);
      },
    ],
    [
      "a task that is over when it is made is asked for its result once",
      async ({ server, client, pass }) => {
        server.on("tools/call", (exchange, server) => {
          exchange.result({ resultType: "task", ...server.make(), status: "completed" });
          server.complete("task-1");
        });
        const outcome = client.callAndWait({ name: "work" }, { mode: "poll" });
        await pass(0);
        assert.equal(textOf(await outcome), "done");
        assert.equal(server.count("tasks/get"), 1);
      },
    ],
    [
      "a resultType of \"task\" on tasks/get, as in the specification's own examples, is a task",
      async ({ server, begin, pass }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        server.complete(taskId);
        server.on("tasks/get", (exchange, server) => exchange.result(server.snapshot(taskId, { resultType: "task" })));
        await pass(SECOND);
        assert.equal(textOf(await pending.outcome()), "done");
      },
    ],
    [
      "a task in answer to a tools/call that names no task is the call's failure",
      async ({ server, client }) => {
        server.on("tools/call", gives({ resultType: "task", status: "working" }), usual);
        const { error } = expectOutcome(await client.callAndWait({ name: "work" }), "failed");
        assert.equal(error.code, "REQUEST_FAILED");
      },
    ],
  ]);
});
