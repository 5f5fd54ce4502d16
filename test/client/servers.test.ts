// The client with real servers, on the machine's clock: Errand's own host, the SDK's server with Errand's tasks, and the
// SDK's server that knows nothing of them; over HTTP, stdio, in process, and through an SDK client that is given.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClientTarget, InputHandlers, TaskClient, TaskClientOptions } from "../../src/client/mod.ts";
import { RequestFailedError, TaskCancelledError, TaskFailedError, createTaskClient } from "../../src/client/mod.ts";
import { serve } from "../../src/mod.ts";
import { programOf } from "../support/child.ts";
import { collect, expectOutcome, named, statuses, textOf } from "../support/following.ts";
import { createPeerHost } from "../support/peer-tools.ts";
import { buildPlainServer, servePlain } from "../support/sdk-servers.ts";
import { patiently, until } from "../support/until.ts";

/** A server that is there, and what ends it. */
interface Open {
  readonly target: ClientTarget;
  readonly close: () => Promise<unknown>;
}

type Opener = () => Promise<Open>;

function command(name: string): Opener {
  return async () => {
    const [file, ...args] = programOf(name);
    return { target: { command: file, args }, close: async () => {} };
  };
}

async function sdkClient(transport: StdioClientTransport | StreamableHTTPClientTransport): Promise<Client> {
  const client = new Client(
    { name: "sdk", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} }, versionNegotiation: { mode: "auto" } },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => all.form({ ...params }));
  client.setRequestHandler("sampling/createMessage", () => all.sampling());
  client.setRequestHandler("roots/list", () => all.roots());
  await client.connect(transport);
  return client;
}

/** The same server, through a client of the SDK that is given. */
function given(open: Opener): Opener {
  return async () => {
    const { target, close } = await open();
    const transport =
      typeof target === "string"
        ? new StreamableHTTPClientTransport(new URL(target))
        : new StdioClientTransport(target as { command: string });
    const client = await sdkClient(transport);
    return {
      target: client,
      close: async () => {
        await client.close();
        await close();
      },
    };
  };
}

const overHttp: Opener = async () => {
  const served = await serve(createPeerHost(), { port: 0 });
  return { target: served.url, close: () => served.close() };
};

const errand: { [name: string]: Opener } = {
  "over HTTP": overHttp,
  "over stdio": command("stdio-peers"),
  "in process": async () => {
    const host = createPeerHost();
    return { target: host, close: () => host.close() };
  },
  "over HTTP, through an SDK client": given(overHttp),
  "over stdio, through an SDK client": given(command("stdio-peers")),
};

function plain(withTasks: boolean): Opener {
  return async () => {
    const served = await servePlain(withTasks);
    return { target: served.url, close: () => served.close() };
  };
}

const all = {
  form: (params: object) => {
    const asksCity = JSON.stringify(params).includes("city");
    return asksCity ? { action: "accept" as const, content: { city: "Oslo" } } : named("Ann");
  },
  sampling: () => ({ role: "assistant" as const, content: { type: "text" as const, text: "Onward" }, model: "m1" }),
  roots: () => ({ roots: [{ uri: "file:///work" }] }),
} satisfies InputHandlers;

function withClient(open: Opener, test: (client: TaskClient) => Promise<void>, options?: TaskClientOptions) {
  return async (): Promise<void> => {
    const { target, close } = await open();
    const client = createTaskClient(target, { timeoutMs: 15_000, ...options });
    try {
      await patiently(() => test(client));
    } finally {
      await client.close();
      await close();
    }
  };
}

/** The first text of a result. */
function first({ content }: { readonly content: readonly { readonly [key: string]: unknown }[] }): unknown {
  return content[0]?.["text"];
}

for (const [door, open] of Object.entries(errand)) {
  describe(`Errand's host ${door}`, () => {
    it(
      "answers inline, and by a task in each mode",
      withClient(open, async (client) => {
        assert.equal(await client.serverSupports(), true);
        assert.ok((await client.listTools()).some(({ name }) => name === "required"));
        assert.equal(first(await client.callTool({ name: "quick", arguments: { a: 2 } })), "got 2");
        for (const mode of ["auto", "listen", "poll"] as const) {
          const pending = client.beginCallTool({ name: "required" }, { mode });
          const { events, over } = collect(pending);
          assert.equal(first(await pending.result()), "worked");
          await over;
          assert.equal(statuses(events).filter((status) => status !== "working").join(), "completed");
        }
        assert.deepEqual((await client.callTool({ name: "counts" })).structuredContent, { count: 3 });
        assert.equal((await client.callTool({ name: "errs" })).isError, true);
      }),
    );

    for (const mode of ["auto", "poll"] as const) {
      it(
        `has its questions answered (${mode})`,
        withClient(
          open,
          async (client) => {
            assert.equal(first(await client.callTool({ name: "asks" })), "Hello, Ann");
            assert.equal(first(await client.callTool({ name: "asks_both" })), "Ann of Oslo");
            assert.equal(first(await client.callTool({ name: "asks_twice" })), "Ann of Oslo");
            assert.equal(first(await client.callTool({ name: "asks_all_kinds" })), "Ann, m1, file:///work");
            assert.equal(first(await client.callTool({ name: "asks_inline" })), "Hello, Ann");
          },
          // A given client answers by its own handlers.
          { mode, ...(!door.includes("SDK") && { input: all }) },
        ),
      );
    }

    // A process is slow to start, and what follows is the same with the client that Errand makes.
    if (door === "over stdio, through an SDK client") return;

    it(
      "fails, refuses and is cancelled",
      withClient(open, async (client) => {
        await assert.rejects(client.callTool({ name: "fails" }), (error) => {
          assert.ok(error instanceof TaskFailedError);
          assert.deepEqual([error.rpcCode, error.message, error.data], [-32050, "Out of paper", { tray: 2 }]);
          return true;
        });
        await assert.rejects(client.callTool({ name: "unheard of" }), RequestFailedError);
        await assert.rejects(client.getTask("no such task"), { code: "REQUEST_FAILED", rpcCode: -32602 });

        const pending = client.beginCallTool({ name: "hangs" });
        const task = await pending.created;
        await pending.cancel();
        await assert.rejects(pending.result(), TaskCancelledError);
        // The handler heard of it.
        assert.equal(first(await client.callTool({ name: "stopped", arguments: { taskId: task?.taskId } })), "stopped");
      }),
    );

    it(
      "is followed by one client, left, and resumed by another",
      withClient(open, async (client) => {
        const pending = client.beginCallTool({ name: "external" });
        const task = await pending.created;
        assert.ok(task !== undefined);
        const reference = pending.reference();
        pending.detach();
        expectOutcome(await pending.outcome(), "detached");
        const again = client.resume(reference);
        const collected = collect(again);
        await client.callTool({ name: "tell", arguments: { taskId: task.taskId, status: "half" } });
        await until(() => collected.events.some((event) => "statusMessage" in event && event.statusMessage === "half"), "the status");
        await client.callTool({ name: "finish", arguments: { taskId: task.taskId, text: "finished" } });
        assert.equal(textOf(await again.outcome()), "finished");
        await collected.over;
        assert.equal(statuses(collected.events).filter((status) => status === "completed").length, 1);
      }),
    );

    it(
      "hears at once of an end that a poll would see in minutes",
      withClient(open, async (client) => {
        const pending = client.beginCallTool({ name: "slow_poll" }, { mode: "auto" });
        const task = await pending.created;
        await client.callTool({ name: "finish", arguments: { taskId: task?.taskId, text: "finished" } });
        assert.equal(textOf(await pending.outcome()), "finished");
      }),
    );

    it(
      "makes calls side by side",
      withClient(open, async (client) => {
        const results = await Promise.all(
          Array.from({ length: 12 }, (_, a) =>
            a % 2 === 0 ? client.callTool({ name: "required" }) : client.callTool({ name: "quick", arguments: { a } }),
          ),
        );
        assert.deepEqual(results.map(first), results.map((_, a) => (a % 2 === 0 ? "worked" : `got ${a}`)));
      }),
    );
  });
}

for (const [door, open] of Object.entries({ "over HTTP": plain(true), "over stdio": command("stdio-with-tasks") })) {
  describe(`the SDK's server with Errand's tasks ${door}`, () => {
    it(
      "is called, asks, fails and is cancelled",
      withClient(
        open,
        async (client) => {
          assert.equal(await client.serverSupports(), true);
          assert.equal(first(await client.callTool({ name: "echo", arguments: { words: "hi" } })), "hi");
          for (const mode of ["auto", "listen", "poll"] as const) {
            const greeting = expectOutcome(await client.callAndWait({ name: "greet" }, { mode }), "completed");
            assert.equal(first(greeting.result), "Hello, Ann");
            assert.ok(greeting.task !== undefined, "it was a task");
          }
          assert.equal((await client.callTool({ name: "breaks" })).isError, true);
          const pending = client.beginCallTool({ name: "hangs" });
          assert.ok((await pending.created) !== undefined);
          await pending.cancel();
          expectOutcome(await pending.outcome(), "cancelled");
        },
        { input: all },
      ),
    );
  });
}

const withoutTasks: { [name: string]: Opener } = {
  "over HTTP": plain(false),
  "over stdio": command("stdio-plain"),
  // It speaks the older revision there: it is asked to initialize.
  "in process": async () => {
    const server = buildPlainServer();
    return { target: server, close: () => server.close() };
  },
};

for (const [door, open] of Object.entries(withoutTasks)) {
  describe(`the SDK's server without tasks ${door}`, () => {
    it(
      "answers inline",
      withClient(open, async (client) => {
        assert.equal(await client.serverSupports(), false);
        assert.deepEqual((await client.listTools()).map(({ name }) => name), ["echo", "greet", "breaks", "hangs"]);
        const pending = client.beginCallTool({ name: "echo", arguments: { words: "hi" } });
        const { events, over } = collect(pending);
        assert.equal(await pending.created, undefined);
        assert.equal(first(await pending.result()), "hi");
        await over;
        assert.deepEqual(statuses(events), ["completed"]);
        assert.throws(() => pending.reference(), TypeError);
        assert.equal(expectOutcome(await client.callAndWait({ name: "breaks" }), "completed").result.isError, true);
        expectOutcome(await client.callAndWait({ name: "hangs" }, { timeoutMs: 50 }), "timed_out");
      }),
    );

    // Not in the older revision, where the server would have to ask by itself.
    if (door === "in process") return;
    it(
      "asks before it answers",
      withClient(
        open,
        async (client) => {
          assert.equal(first(await client.callTool({ name: "greet" })), "Hello, Ann");
          const outcome = expectOutcome(await client.callAndWait({ name: "greet" }, { input: "return" }), "input_required");
          const key = Object.keys(outcome.inputRequests)[0] ?? "";
          const { requestState } = outcome;
          const result = await client.callTool({
            name: "greet",
            inputResponses: { [key]: named("Bob") },
            ...(requestState !== undefined && { requestState }),
          });
          assert.equal(first(result), "Hello, Bob");
        },
        { input: all },
      ),
    );
  });
}
