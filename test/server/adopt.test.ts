// An SDK server that is there already gains tasks: its tools stay the SDK's, and only what a client gets may change.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { McpHttpHandler, McpServerOptions, ServerContext } from "@modelcontextprotocol/server";
import {
  McpServer,
  ProtocolError,
  Server,
  UrlElicitationRequiredError,
  acceptedContent,
  createMcpHandler,
  inputRequired,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { createTasks, memory, serve } from "../../src/mod.ts";
import type { JsonObject, TaskPolicy, Tasks, TasksOptions } from "../../src/mod.ts";
import { FakeClock, turn } from "../support/clock.ts";
import { withChild } from "../support/child.ts";
import {
  REVISION,
  Rpc,
  TASKS,
  TASKS_AND_QUESTIONS,
  accept,
  envelope,
  onlyKey,
  readReply,
  textOf,
} from "../support/rpc.ts";
import type { Gate } from "../support/until.ts";
import { gate, patiently, until } from "../support/until.ts";

const PLAIN = { capabilities: { elicitation: {}, sampling: {}, roots: {} } };
const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });
const Name = z.object({ name: z.string() });

interface Given {
  readonly tasks: Tasks;
  readonly clock: FakeClock;
  readonly rpc: Rpc;
  readonly handler: McpHttpHandler;
  readonly reported: string[];
}

/** A test of an SDK server, as its author wrote it, with tasks: over HTTP, on a clock that stands still. */
function withServer(
  given: {
    readonly build: (server: McpServer, tasks: Tasks) => void;
    readonly policies: { readonly [tool: string]: TaskPolicy };
    readonly options?: TasksOptions;
    readonly serverOptions?: McpServerOptions;
  },
  test: (given: Given) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const clock = new FakeClock();
    const reported: string[] = [];
    const tasks = createTasks({ clock, onError: (error) => reported.push(String(error)), ...given.options });
    const handler = tasks.wrap(
      createMcpHandler(() => {
        const server = new McpServer({ name: "existing", version: "4.5.6" }, given.serverOptions);
        given.build(server, tasks);
        return tasks.adopt(server, given.policies);
      }),
    );
    const served = await serve(handler, { port: 0 });
    try {
      await patiently(() => test({ tasks, clock, rpc: new Rpc(served.url), handler, reported }));
    } finally {
      await served.close();
    }
    assert.deepEqual(reported, []);
    const { ignored: _ignored, ...sizes } = tasks.sizes;
    assert.deepEqual(
      Object.entries(sizes).filter(([, size]) => size !== 0),
      [],
      "nothing is held",
    );
  };
}

/** A tool that waits for a gate, and tells what it saw. */
function addSlow(server: McpServer, go: Gate<unknown>, seen: ServerContext[] = []): void {
  server.registerTool("slow", { inputSchema: z.object({ id: z.number().default(7) }) }, async ({ id }, ctx) => {
    seen.push(ctx);
    await go.opened;
    return text(`slow ${id}`);
  });
}

describe("an adopted tool", () => {
  it("is answered inline when it is quick, with just what the SDK would have sent", async () => {
    const go = gate<unknown>();
    go.open(undefined);
    await withServer({ build: (server) => addSlow(server, go), policies: { slow: "optional" } }, async ({ rpc }) => {
      const { message } = await rpc.request("tools/call", { name: "slow", arguments: { id: 3 } }, { id: "mine" });
      assert.deepEqual(message, {
        jsonrpc: "2.0",
        id: "mine",
        result: {
          resultType: "complete",
          content: [{ type: "text", text: "slow 3" }],
          _meta: { "io.modelcontextprotocol/serverInfo": { name: "existing", version: "4.5.6" } },
        },
      });
    })();
  });

  it("becomes a task when it takes longer, and ends as the SDK's response says", async () => {
    const go = gate<unknown>();
    const seen: ServerContext[] = [];
    const build = (server: McpServer) => addSlow(server, go, seen);
    await withServer({ build, policies: { slow: "optional" } }, async ({ rpc, clock }) => {
      const call = rpc.task("slow", {});
      await until(() => seen.length === 1, "the handler to start");
      await clock.advance(100);
      const { taskId, status } = await call;
      assert.equal(status, "working");
      const { events } = await rpc.listen({ taskIds: [taskId] });
      go.open(undefined);
      const last = (await events.rest()).at(-2) as { params: { result: JsonObject } } | undefined;
      const result = last?.params.result ?? {};
      assert.equal(textOf(result), "slow 7");
      assert.equal(result["resultType"], "complete");
      assert.equal(((await rpc.get(taskId)) as { status: string }).status, "completed");
    })();
  });

  it("works on though the request that began it is long over", async () => {
    const go = gate<unknown>();
    const seen: ServerContext[] = [];
    const build = (server: McpServer) => addSlow(server, go, seen);
    await withServer({ build, policies: { slow: "required" } }, async ({ rpc, handler }) => {
      // Without a server in between, the request's end is its very own signal.
      const abort = new AbortController();
      const alone = new Rpc(handler);
      const { taskId } = await alone.task("slow", { id: 1 }, { signal: abort.signal });
      const other = await rpc.task("slow", { id: 2 });
      abort.abort();
      await until(() => seen.length === 2, "both handlers to start");
      await turn(3);
      assert.deepEqual(
        seen.map(({ mcpReq }) => mcpReq.signal.aborted),
        [false, false],
      );
      go.open(undefined);
      await turn(5);
      assert.equal(textOf(((await rpc.get(taskId)) as { result: unknown }).result), "slow 1");
      assert.equal(textOf(((await rpc.get(other.taskId)) as { result: unknown }).result), "slow 2");
    })();
  });

  it("hears by ctx.mcpReq.signal that its task is cancelled, that it expired, or that the host closes", async () => {
    const seen: ServerContext[] = [];
    const never = gate<unknown>();
    await withServer(
      {
        build: (server) => addSlow(server, never, seen),
        policies: { slow: { mode: "required", ttlMs: 1_000 } },
      },
      async ({ rpc, clock, tasks }) => {
        const { taskId } = await rpc.task("slow", {});
        await until(() => seen.length === 1, "the handler to start");
        await rpc.cancel(taskId);
        await until(() => seen[0]?.mcpReq.signal.aborted === true, "the signal to fire");
        assert.equal((await rpc.get(taskId)).status, "cancelled");

        const late = await rpc.task("slow", {});
        await until(() => seen.length === 2, "the handler to start");
        await clock.advance(1_000);
        await until(() => seen[1]?.mcpReq.signal.aborted === true, "the signal to fire");
        assert.equal((await rpc.get(late.taskId)).status, "failed");

        await rpc.task("slow", {});
        await until(() => seen.length === 3, "the handler to start");
        await tasks.close();
        await until(() => seen[2]?.mcpReq.signal.aborted === true, "the signal to fire");
      },
    )();
  });

  it("hears by the same signal that its client has gone before it was answered", async () => {
    const seen: ServerContext[] = [];
    const build = (server: McpServer) => addSlow(server, gate<unknown>(), seen);
    await withServer({ build, policies: { slow: "optional" } }, async ({ handler }) => {
      const abort = new AbortController();
      const call = new Rpc(handler).send("tools/call", { name: "slow", arguments: {} }, { signal: abort.signal });
      await until(() => seen.length === 1, "the handler to start");
      assert.equal(seen[0]?.mcpReq.signal.aborted, false);
      abort.abort();
      await until(() => seen[0]?.mcpReq.signal.aborted === true, "the signal to fire");
      assert.equal((await call).status, 499);
    })();
  });

  it("that ends after its task was cancelled changes nothing", async () => {
    const go = gate<unknown>();
    const seen: ServerContext[] = [];
    const build = (server: McpServer) => addSlow(server, go, seen);
    await withServer({ build, policies: { slow: "required" } }, async ({ rpc }) => {
      const { taskId } = await rpc.task("slow", {});
      await until(() => seen.length === 1, "the handler to start");
      await rpc.cancel(taskId);
      const cancelled = await rpc.get(taskId);
      go.open(undefined);
      await turn(5);
      assert.deepEqual(await rpc.get(taskId), cancelled);
    })();
  });

  it("is refused to a client that does not know tasks, where the author requires them", async () => {
    await withServer(
      { build: (server) => addSlow(server, gate<unknown>()), policies: { slow: "required" } },
      async ({ rpc }) => {
        const { status, message } = await rpc.request("tools/call", { name: "slow", arguments: {} }, PLAIN);
        assert.deepEqual([status, (message["error"] as JsonObject)["code"]], [400, -32021]);
      },
    )();
  });

  it("stays the SDK's where its author did not name it, and so does all else", async () => {
    const go = gate<unknown>();
    const contexts: unknown[] = [];
    await withServer(
      {
        build: (server, tasks) => {
          addSlow(server, go);
          server.registerTool("untouched", {}, async (ctx) => {
            contexts.push(tasks.context(ctx));
            await go.opened;
            return text("untouched");
          });
          server.registerPrompt("prompt", {}, () => ({ messages: [] }));
          server.registerResource("file", "file:///a", {}, () => ({ contents: [{ uri: "file:///a", text: "a" }] }));
        },
        policies: { slow: "required", "not there": "optional" },
      },
      async ({ rpc, clock }) => {
        const call = rpc.call("untouched");
        await until(() => contexts.length === 1, "the handler to start");
        await clock.advance(60_000);
        go.open(undefined);
        assert.equal(textOf(await call), "untouched");
        assert.deepEqual(contexts, [undefined]);
        const { tools } = await rpc.result("tools/list");
        assert.deepEqual(
          (tools as { name: string }[]).map(({ name }) => name),
          ["slow", "untouched"],
        );
        assert.equal((await rpc.result("prompts/get", { name: "prompt" }))["resultType"], "complete");
        assert.equal((await rpc.result("resources/read", { uri: "file:///a" }))["resultType"], "complete");
        assert.equal((await rpc.error("tools/call", { name: "not there" })).code, -32602);
      },
    )();
  });
});

describe("what an adopted tool reports", () => {
  const build = (server: McpServer, tasks: Tasks) => {
    server.registerTool("reports", { inputSchema: z.object({ wait: z.boolean() }) }, async ({ wait }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= 3; progress += 1) {
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: 3, message: `part ${progress}` };
          await ctx.mcpReq.notify({ method: "notifications/progress", params });
        }
        await ctx.mcpReq.log("info", `log ${progress}`);
        if (wait) await tasks.context(ctx)?.sleep("wait", 1_000);
      }
      tasks.context(ctx)?.status("almost there");
      if (wait) await tasks.context(ctx)?.sleep("wait", 1_000);
      return text("reported");
    });
  };
  const given = { build, policies: { reports: "optional" as const }, serverOptions: { capabilities: { logging: {} } } };

  it(
    "as progress is the status message of its task",
    withServer(given, async ({ rpc, clock }) => {
      const call = rpc.request("tools/call", { name: "reports", arguments: { wait: true } });
      await until(() => clock.pending >= 2, "the handler to sleep");
      await clock.advance(100);
      const { message, notifications } = await call;
      assert.deepEqual(notifications, [], "nobody asked for progress");
      const { taskId, statusMessage } = message["result"] as { taskId: string; statusMessage: string };
      assert.equal(statusMessage, "part 1 (1/3)");
      const said: unknown[] = [];
      for (let step = 0; step < 4; step += 1) {
        said.push((await rpc.get(taskId)).statusMessage);
        await clock.advance(1_000);
      }
      assert.deepEqual(said, ["part 1 (1/3)", "part 2 (2/3)", "part 3 (3/3)", "almost there"]);
      assert.equal((await rpc.get(taskId)).status, "completed");
    }),
  );

  it(
    "inline reaches who asked for it under the client's own token, logs too",
    withServer(given, async ({ rpc }) => {
      const meta = { progressToken: "mine", "io.modelcontextprotocol/logLevel": "debug" };
      const { message, notifications } = await rpc.request(
        "tools/call",
        { name: "reports", arguments: { wait: false } },
        { meta },
      );
      assert.equal(textOf(message["result"]), "reported");
      assert.deepEqual(
        notifications.filter(({ method }) => method === "notifications/progress").map(({ params }) => params),
        [1, 2, 3].map((progress) => ({ progressToken: "mine", progress, total: 3, message: `part ${progress}` })),
      );
      const logs = notifications.filter(({ method }) => method === "notifications/message");
      assert.deepEqual(
        logs.map(({ params }) => (params as JsonObject)["data"]),
        ["log 1", "log 2", "log 3"],
      );
    }),
  );
});

describe("an adopted tool that asks", () => {
  const build = (server: McpServer) => {
    server.registerTool("asks", { inputSchema: z.object({ hello: z.string() }) }, ({ hello }, ctx) => {
      const name = acceptedContent(ctx.mcpReq.inputResponses, "name", Name)?.name;
      const state = ctx.mcpReq.requestState<string>();
      if (name === undefined) {
        return inputRequired({
          inputRequests: {
            name: inputRequired.elicit({ message: "Name?", requestedSchema: Name }),
            roots: inputRequired.listRoots(),
          },
          requestState: "round 1",
        });
      }
      const roots = JSON.stringify(ctx.mcpReq.inputResponses?.["roots"]);
      return text(`${hello}, ${name} after ${state} with ${roots}`);
    });
  };

  it(
    "goes its own rounds inline, key for key",
    withServer({ build, policies: { asks: "optional" } }, async ({ rpc }) => {
      for (const client of [rpc.as(PLAIN), rpc]) {
        const args = { hello: "Hello" };
        const first = await client.call("asks", args);
        assert.equal(first["resultType"], "input_required");
        assert.deepEqual(Object.keys(first["inputRequests"] as object), ["name", "roots"]);
        assert.equal(first["requestState"], "round 1");
        const second = await client.result("tools/call", {
          name: "asks",
          arguments: args,
          requestState: "round 1",
          inputResponses: { name: accept({ name: "Ann" }), roots: { roots: [] } },
        });
        assert.equal(textOf(second), 'Hello, Ann after round 1 with {"roots":[]}');
      }
    }),
  );

  it(
    "asks inside its task, and goes on with the answers under its own keys",
    withServer({ build, policies: { asks: "required" } }, async ({ rpc }) => {
      const { taskId } = await rpc.task("asks", { hello: "Hello" });
      const questions = await rpc.questions(taskId);
      assert.deepEqual(
        Object.values(questions).map(({ method }) => method),
        ["elicitation/create", "roots/list"],
      );
      const [name = "", roots = ""] = Object.keys(questions);
      await rpc.update(taskId, { [roots]: { roots: [{ uri: "file:///a" }] } });
      await rpc.update(taskId, { [name]: accept({ name: "Ann" }) });
      const task = (await rpc.get(taskId)) as { status: string; result: unknown };
      assert.equal(task.status, "completed");
      assert.equal(textOf(task.result), 'Hello, Ann after round 1 with {"roots":[{"uri":"file:///a"}]}');
    }),
  );

  it(
    "asks again, under new keys, what was declined",
    withServer({ build, policies: { asks: "required" } }, async ({ rpc }) => {
      const { taskId } = await rpc.task("asks", { hello: "Hello" });
      const first = Object.keys(await rpc.questions(taskId));
      await rpc.update(taskId, { [String(first[0])]: { action: "decline" }, [String(first[1])]: { roots: [] } });
      const second = Object.keys(await rpc.questions(taskId));
      assert.equal(second.length, 2);
      assert.equal(new Set([...first, ...second]).size, 4, "no key comes twice");
      await rpc.cancel(taskId);
    }),
  );

  it(
    "is told by the SDK what the client cannot be asked, inline and in a task",
    withServer({ build, policies: { asks: { mode: "optional", inlineWithinMs: 0 } } }, async ({ rpc }) => {
      const args = { name: "asks", arguments: { hello: "Hello" } };
      const inline = await rpc.request("tools/call", args, { capabilities: { elicitation: {} } });
      assert.equal((inline.message["error"] as JsonObject)["code"], -32021);
      const { taskId } = await rpc.task("asks", { hello: "Hello" }, { capabilities: { ...TASKS, elicitation: {} } });
      const task = (await rpc.get(taskId)) as { status: string; error: unknown };
      assert.deepEqual([task.status, task.error], ["failed", inline.message["error"]]);
    }),
  );

  it(
    "may be asked about through its context as well",
    withServer(
      {
        build: (server, tasks) => {
          server.registerTool("modern", {}, async (ctx) => {
            const answer = await tasks.context(ctx)?.elicit("Name?", Name);
            return text(`Hello, ${answer?.name}`);
          });
        },
        policies: { modern: "required" },
      },
      async ({ rpc }) => {
        const { taskId } = await rpc.task("modern");
        await rpc.update(taskId, { [onlyKey(await rpc.questions(taskId))]: accept({ name: "Ann" }) });
        assert.equal(textOf(((await rpc.get(taskId)) as { result: unknown }).result), "Hello, Ann");
      },
    ),
  );
});

describe("what goes wrong in an adopted tool", () => {
  const Count = z.object({ count: z.number() });
  const handlers: { [tool: string]: () => unknown } = {
    fine: () => ({ content: [], structuredContent: { count: 3 } }),
    wrong: () => ({ content: [], structuredContent: { count: "many" } }),
    unstructured: () => text("no structure"),
    isError: () => ({ ...text("Nothing there"), isError: true }),
    throws: () => {
      throw new Error("out of order");
    },
    protocol: () => {
      throw new ProtocolError(-32050, "Broken", { why: "because" });
    },
    url: () => {
      const page = { mode: "url" as const, message: "Log in", url: "https://a.example/", elicitationId: "e" };
      throw new UrlElicitationRequiredError([page]);
    },
  };
  const build = (server: McpServer) => {
    for (const [name, handle] of Object.entries(handlers)) {
      const schemas = { inputSchema: z.object({ id: z.number() }), outputSchema: Count };
      server.registerTool(name, schemas, () => handle() as never);
    }
  };
  const policies = Object.fromEntries(
    Object.keys(handlers).map((name) => [name, { mode: "optional", inlineWithinMs: 0 } as const]),
  );

  it(
    "is the same inline and in its task, to the letter",
    withServer({ build, policies }, async ({ rpc }) => {
      for (const name of Object.keys(handlers)) {
        const inline = await rpc.request("tools/call", { name, arguments: { id: 1 } }, PLAIN);
        const { taskId } = await rpc.task(name, { id: 1 });
        const task = (await rpc.get(taskId)) as { status: string; result?: unknown; error?: unknown };
        const { result, error } = inline.message;
        if (error === undefined) assert.deepEqual([task.status, task.result], ["completed", result], name);
        else assert.deepEqual([task.status, task.error], ["failed", error], name);
      }
    }),
  );

  const store = memory();
  it(
    "with its arguments, its name or its being there at all gets the SDK's own error and makes no task",
    withServer(
      {
        build: (server) => {
          build(server);
          server.registerTool("disabled", {}, () => text("never")).disable();
        },
        policies: { ...policies, fine: "required", disabled: "required", nobody: "required" },
        options: { store },
      },
      async ({ rpc }) => {
        for (const params of [
          { name: "fine", arguments: { id: "one" } },
          { name: "fine", arguments: {} },
          { name: "fine" },
          { name: "disabled", arguments: {} },
          { name: "nobody", arguments: {} },
        ]) {
          const { message } = await rpc.request("tools/call", params);
          const result = message["result"] as JsonObject | undefined;
          if (params.name === "fine") {
            assert.equal(result?.["isError"], true, JSON.stringify(message));
            assert.match(textOf(result), /^Input validation error: Invalid arguments for tool fine/);
          } else {
            assert.equal((message["error"] as JsonObject | undefined)?.["code"], -32602, JSON.stringify(message));
          }
        }
        assert.equal(await store.count(), 0);
      },
    ),
  );

  it("is answered as the SDK answers it, when a call is malformed", async () => {
    const go = gate<unknown>();
    go.open(undefined);
    const plain = createMcpHandler(() => {
      const server = new McpServer({ name: "existing", version: "4.5.6" });
      addSlow(server, go);
      return server;
    });
    const sdk = new Rpc({ fetch: (request) => plain.fetch(request) });
    await withServer({ build: (server) => addSlow(server, go), policies: { slow: "optional" } }, async ({ rpc }) => {
      const odd: JsonObject[] = [
        { arguments: "text" },
        { arguments: [] },
        { arguments: null },
        { arguments: 7 },
        { inputResponses: "text" },
        { inputResponses: [] },
        { inputResponses: { a: 7 } },
        { requestState: 7 },
        { requestState: "foreign" },
        { name: 7 },
        { name: ["slow"] },
        { task: { ttl: 1 } },
        { _meta: { ...envelope(), progressToken: {} } },
        { _meta: { ...envelope(), traceparent: "00-0-0-0" } },
        { _meta: envelope({ ...TASKS, sampling: "yes" }) },
      ];
      for (const params of odd) {
        const all = { name: "slow", _meta: envelope(), ...params };
        const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: all };
        const headers = { "mcp-protocol-version": REVISION, "mcp-method": "tools/call", "mcp-name": "slow" };
        const [ours, sdks] = await Promise.all(
          [rpc, sdk].map(async (client) => {
            const reply = await readReply(await client.post(JSON.stringify(message), { headers }));
            return [reply.status, reply.message];
          }),
        );
        assert.deepEqual(ours, sdks, JSON.stringify(params));
      }
    })();
    await plain.close();
  });
});

describe("a low-level Server", () => {
  it("is adopted all the same", async () => {
    const go = gate<unknown>();
    const tasks = createTasks({ clock: new FakeClock() });
    const handler = tasks.wrap(
      createMcpHandler(() => {
        const server = new Server({ name: "low", version: "1" }, { capabilities: { tools: {} } });
        server.setRequestHandler("tools/list", () => ({ tools: [{ name: "low", inputSchema: { type: "object" } }] }));
        server.setRequestHandler("tools/call", async () => {
          await go.opened;
          return text("low");
        });
        return tasks.adopt(server, { low: "required" });
      }),
    );
    const rpc = new Rpc(handler);
    const { taskId } = await rpc.task("low");
    go.open(undefined);
    await turn(5);
    assert.equal(textOf(((await rpc.get(taskId)) as { result: unknown }).result), "low");
    await handler.close();
  });
});

describe("a tool of an adopted server", () => {
  it("may leave its work to somebody else", async () => {
    const ids: string[] = [];
    await withServer(
      {
        build: (server, tasks) => {
          server.registerTool("submits", {}, (ctx) => {
            ids.push(String(tasks.context(ctx)?.taskId));
            return new Promise(() => {});
          });
        },
        policies: { submits: "required" },
      },
      async ({ rpc, tasks }) => {
        const { taskId } = await rpc.task("submits", {}, { capabilities: TASKS_AND_QUESTIONS });
        assert.deepEqual(ids, [taskId]);
        await tasks.task(taskId).progress(1, 2, "elsewhere");
        assert.equal((await rpc.get(taskId)).statusMessage, "elsewhere (1/2)");
        await tasks.task(taskId).complete("done elsewhere");
        assert.equal(textOf(((await rpc.get(taskId)) as { result: unknown }).result), "done elsewhere");
      },
    )();
  });
});

describe("an adopted server on stdio", () => {
  it(
    "gains tasks, listening and questions by the same three lines",
    withChild("stdio-adopted", async (child) => {
      assert.equal(textOf(await child.call("untouched")), "untouched");
      const { taskId } = await child.task("report", { rows: 3 });
      const id = child.begin("subscriptions/listen", { notifications: { taskIds: [taskId] } });
      const states: unknown[] = [];
      let asked: string | undefined;
      for (;;) {
        const { status, statusMessage, inputRequests, result } = await child.notification("notifications/tasks");
        states.push([status, statusMessage].filter(Boolean).join(" "));
        if (status === "input_required" && asked === undefined) {
          asked = onlyKey(inputRequests as object);
          await child.result("tasks/update", { taskId, inputResponses: { [asked]: accept({ name: "Ann" }) } });
        }
        if (status === "completed") {
          assert.equal(textOf(result), "3 rows for Ann");
          break;
        }
      }
      assert.ok("result" in (await child.response(id)));
      assert.ok(states.includes("input_required reading (3/3)"), JSON.stringify(states));

      const cancelled = await child.task("hangs");
      await child.result("tasks/cancel", { taskId: cancelled.taskId });
      assert.equal(textOf(await child.call("aborted")), "1");
      const inline = child.begin("tools/call", { name: "hangs", arguments: {} }, PLAIN);
      await child.call("untouched");
      child.notify("notifications/cancelled", { requestId: inline });
      assert.equal(textOf(await child.call("aborted")), "2");
      assert.ok(!child.unread.some((message) => message["id"] === inline));
      await child.task("hangs");
      assert.equal(await child.end(), 0);
    }),
  );
});
