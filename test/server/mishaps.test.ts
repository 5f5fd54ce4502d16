// What goes wrong around a call: stores that fail or dawdle, clients that leave at the worst moment, odd throws.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ProtocolError, memory } from "../../src/mod.ts";
import type { Host, JsonObject, TaskStore } from "../../src/mod.ts";
import { turn } from "../support/clock.ts";
import { takeReports, withHost } from "../support/hosting.ts";
import { accept, onlyKey, readReply, textOf } from "../support/rpc.ts";
import type { Gate } from "../support/until.ts";
import { gate, until } from "../support/until.ts";

const PLAIN = { capabilities: { elicitation: {}, roots: {} } };
const INTERNAL = { code: -32603, message: "Internal error" };

/** A memory store with some of its methods replaced. */
function storeWith(change: (inner: TaskStore) => Partial<TaskStore>): TaskStore {
  const inner = memory();
  const own = change(inner);
  return new Proxy(inner, {
    get: (target, key) => {
      const method: unknown = Reflect.get(own, key) ?? Reflect.get(target, key);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

/** A store whose `create` waits at a gate. */
function slowStore(): { store: TaskStore; creating: Gate; go: Gate } {
  const creating = gate();
  const go = gate();
  const store = storeWith((inner) => ({
    create: async (record, quota) => {
      creating.open();
      await go.opened;
      await inner.create(record, quota);
    },
  }));
  return { store, creating, go };
}

describe("a client that leaves while its task is being made", () => {
  for (const mode of ["required", "optional"] as const) {
    it(`leaves no work behind that nobody can know of, for a tool that is ${mode}`, async () => {
      const { store, creating, go } = slowStore();
      const signals: AbortSignal[] = [];
      const tools = (host: Host) =>
        host.tool("works", { task: { mode, inlineWithinMs: 0 } }, async (_input, task) => {
          signals.push(task.signal);
          await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
          return "late";
        });
      await withHost({ tools, options: { store } }, async ({ direct, host }) => {
        const abort = new AbortController();
        const call = direct.send("tools/call", { name: "works" }, { signal: abort.signal });
        await creating.opened;
        abort.abort();
        await turn(3);
        go.open();
        await (await call).body?.cancel();
        await until(() => host.sizes.runs === 0 && host.sizes.live === 0, "the run and its task to end");
        assert.ok(signals.every((signal) => signal.aborted));
      })();
    });
  }
});

describe("a store that fails", () => {
  it("to make a task fails the call, starts no handler, and tells the host's author", async () => {
    const store = storeWith(() => ({ create: () => Promise.reject(new Error("disk full")) }));
    let started = 0;
    const tools = (host: Host) => {
      host.tool("required", { task: "required" }, () => String((started += 1)));
      host.tool("asks", {}, async (_input, task) => String((await task.roots()).length));
    };
    await withHost({ tools, options: { store } }, async ({ rpc, reported, host }) => {
      assert.deepEqual(await rpc.error("tools/call", { name: "required" }), INTERNAL);
      assert.deepEqual(await rpc.error("tools/call", { name: "asks" }), INTERNAL);
      assert.equal(started, 0);
      assert.ok(takeReports(reported).every((report) => report.endsWith("disk full")));
      await until(() => host.sizes.runs === 0, "both runs to end");
      assert.equal((await rpc.call("asks", {}, PLAIN))["resultType"], "input_required", "plain calls need no store");
    })();
  });

  it("to keep an answer refuses the update, and takes it once it works again", async () => {
    let broken = false;
    const store = storeWith((inner) => ({
      put: async (task) => {
        if (broken) throw new Error("no disk");
        await inner.put(task);
      },
    }));
    const tools = (host: Host) =>
      host.tool("asks", { task: "required" }, async (_input, task) => String((await task.roots()).length));
    await withHost({ tools, options: { store } }, async ({ rpc, reported, clock }) => {
      const { taskId } = await rpc.task("asks");
      const inputResponses = { [onlyKey(await rpc.questions(taskId))]: { roots: [] } };
      broken = true;
      assert.equal((await rpc.error("tasks/update", { taskId, inputResponses })).code, -32603);
      assert.equal((await rpc.get(taskId)).status, "input_required", "what is not stored is not told");
      assert.match(takeReports(reported).join(), /no disk/);
      broken = false;
      await clock.advance(10_000);
      await rpc.update(taskId, inputResponses);
      assert.equal((await rpc.get(taskId)).status, "completed");
      takeReports(reported);
    })();
  });
});

describe("a handler", () => {
  const circular: JsonObject = {};
  circular["self"] = circular;
  const thrown: { [what: string]: unknown } = {
    text: "just text",
    nothing: undefined,
    null: null,
    "a number": 7,
    "a promise's rejection": Promise.reject.bind(Promise),
    "an error with a getter that throws": Object.defineProperty(new Error("x"), "message", {
      get: () => {
        throw new Error("no message");
      },
    }),
  };

  it(
    "that throws what is no error fails like any other",
    withHost(
      {
        tools: (host) => {
          for (const mode of ["forbidden", "required"] as const) {
            for (const [what, value] of Object.entries(thrown)) {
              host.tool(`${what} ${mode}`.replaceAll(/\W/g, "_"), { task: mode }, () => {
                // What anybody may throw in JavaScript.
                throw value;
              });
            }
          }
        },
      },
      async ({ rpc, reported }) => {
        for (const what of Object.keys(thrown)) {
          const name = (mode: string) => `${what} ${mode}`.replaceAll(/\W/g, "_");
          assert.deepEqual(await rpc.error("tools/call", { name: name("forbidden") }), INTERNAL, what);
          const { taskId } = await rpc.task(name("required"));
          const task = (await rpc.get(taskId)) as { status: string; error: unknown };
          assert.deepEqual([task.status, task.error], ["failed", INTERNAL], what);
          assert.equal(reported.splice(0).length, 2, what);
        }
      },
    ),
  );

  it(
    "whose protocol error holds what JSON cannot is told without it, inline and in a task",
    withHost(
      {
        tools: (host) => {
          for (const mode of ["forbidden", "required"] as const) {
            host.tool(`big_${mode}`, { task: mode }, () => {
              throw new ProtocolError(-32001, "Too big", { count: 1n });
            });
            host.tool(`circular_${mode}`, { task: mode }, () => {
              throw new ProtocolError(-32001, "Too big", circular);
            });
          }
        },
      },
      async ({ rpc, reported }) => {
        for (const name of ["big", "circular"]) {
          assert.deepEqual(await rpc.error("tools/call", { name: `${name}_forbidden` }), {
            code: -32001,
            message: "Too big",
          });
          const { taskId } = await rpc.task(`${name}_required`);
          const task = (await rpc.get(taskId)) as { status: string; error: unknown };
          assert.deepEqual([task.status, task.error], ["failed", { code: -32001, message: "Too big" }]);
          const { events } = await rpc.listen({ taskIds: [taskId] });
          assert.equal((await events.rest()).length, 2);
          reported.splice(0);
        }
      },
    ),
  );

  it("cannot make a protocol error whose code is no integer", () => {
    for (const code of [Number.NaN, 1.5, Number.POSITIVE_INFINITY, "1" as unknown as number]) {
      assert.throws(() => new ProtocolError(code, "odd"), RangeError);
    }
  });

  it(
    "that goes on after its call was answered changes nothing, and harms nobody",
    withHost(
      {
        tools: (host) =>
          host.tool("lingers", { task: { mode: "optional", inlineWithinMs: 10 } }, async (_input, task) => {
            queueMicrotask(() => {
              for (let turns = 0; turns < 3; turns += 1) {
                task.status("still here");
                task.progress(turns);
                task.extend(1_000);
                void task.begin().catch(() => {});
                void task.roots().catch(() => {});
              }
            });
            return "answered";
          }),
      },
      async ({ rpc, host }) => {
        const { message } = await readReply(await rpc.send("tools/call", { name: "lingers" }));
        const { resultType } = message["result"] as JsonObject;
        assert.ok(resultType === "complete" || resultType === "task");
        await until(() => host.sizes.runs === 0 && host.sizes.live === 0, "everything to end");
      },
    ),
  );
});

describe("two at once", () => {
  it(
    "who answer the same question are both acknowledged, and the first is heard",
    withHost(
      {
        tools: (host) =>
          host.tool("asks", { task: "required" }, async (_input, task) => {
            const { answer } = await task.ask({ answer: { method: "roots/list" } });
            return JSON.stringify(answer);
          }),
      },
      async ({ rpc }) => {
        const { taskId } = await rpc.task("asks");
        const key = onlyKey(await rpc.questions(taskId));
        await Promise.all(
          Array.from({ length: 20 }, (_, at) => rpc.update(taskId, { [key]: { roots: [{ uri: `file:///${at}` }] } })),
        );
        const task = (await rpc.get(taskId)) as { status: string; result: unknown };
        assert.equal(task.status, "completed");
        assert.match(textOf(task.result), /^\{"roots":\[\{"uri":"file:\/\/\/\d+"\}\]\}$/);
      },
    ),
  );

  it(
    "who go on with the same round: one does, the other is refused",
    withHost(
      {
        client: PLAIN,
        tools: (host) => host.tool("asks", {}, async (_input, task) => String((await task.roots()).length)),
      },
      async ({ rpc }) => {
        const first = await rpc.call("asks");
        const retry = {
          name: "asks",
          arguments: {},
          requestState: first["requestState"],
          inputResponses: { [onlyKey(first["inputRequests"] as object)]: { roots: [] } },
        };
        const replies = await Promise.all(Array.from({ length: 10 }, () => rpc.request("tools/call", retry)));
        const results = replies.filter(({ message }) => "result" in message);
        assert.equal(results.length, 1);
        assert.equal(textOf(results[0]?.message["result"]), "0");
      },
    ),
  );

  it("who cancel and complete a task agree on one end", async () => {
    await withHost(
      { tools: (host) => host.tool("external", { task: "required" }, (_input, task) => task.external()) },
      async ({ rpc, host }) => {
        for (let round = 0; round < 20; round += 1) {
          const { taskId } = await rpc.task("external");
          const { events } = await rpc.listen({ taskIds: [taskId] });
          await Promise.all([
            rpc.cancel(taskId),
            host.task(taskId).complete("done"),
            host.task(taskId).fail(new ProtocolError(-1, "no")),
            rpc.cancel(taskId),
          ]);
          const { status } = await rpc.get(taskId);
          const ends = (await events.rest())
            .map((message) => (message["params"] as { status?: string } | undefined)?.status)
            .filter((told) => told !== undefined && told !== "working");
          assert.deepEqual(ends, [status], "one end, told once");
        }
      },
    )();
  });
});

describe("a host's setup", () => {
  it(
    "that throws fails the requests that need it, without its insides, and tells the host's author",
    withHost(
      {
        options: {
          setup: () => {
            throw new Error("half-built");
          },
        },
        tools: (host) => host.tool("external", { task: "required" }, (_input, task) => task.external()),
      },
      async ({ rpc, reported }) => {
        const { status, message } = await rpc.request("tools/list", {}, { id: 5 });
        assert.equal(status, 500);
        assert.deepEqual([message["id"], (message["error"] as JsonObject)["code"]], [5, -32603]);
        assert.ok(!JSON.stringify(message).includes("half-built"));
        assert.deepEqual(takeReports(reported), ["-: half-built"]);
      },
    ),
  );

  it(
    "may add plain tools, prompts and resources beside the host's own",
    withHost(
      {
        options: {
          setup: (server) => {
            server.registerTool("plain", {}, () => ({ content: [{ type: "text", text: "plain" }] }));
            server.registerPrompt("prompt", {}, () => ({ messages: [] }));
          },
        },
        tools: (host) => host.tool("own", {}, () => "own"),
      },
      async ({ rpc, host }) => {
        const names = async () => {
          const { tools } = await rpc.result("tools/list");
          return (tools as { name: string }[]).map(({ name }) => name);
        };
        assert.deepEqual(await names(), ["own", "plain"]);
        host.tool("later", {}, () => "later");
        assert.deepEqual(await names(), ["own", "later", "plain"]);
        for (const name of await names()) assert.equal(textOf(await rpc.call(name)), name);
        assert.deepEqual((await rpc.result("prompts/get", { name: "prompt" }))["messages"], []);
      },
    ),
  );
});

describe("an answer", () => {
  it(
    "of the wrong shape never reaches the handler, in whatever guise it comes",
    withHost(
      {
        tools: (host) =>
          host.tool("asks", { task: "required" }, async (_input, task) => {
            const { roots } = (await task.ask({ q: { method: "roots/list" } })).q as { roots: unknown[] };
            return String(roots.length);
          }),
      },
      async ({ rpc }) => {
        const { taskId } = await rpc.task("asks");
        const key = onlyKey(await rpc.questions(taskId));
        for (const answer of [
          accept(),
          {},
          [],
          null,
          7,
          "roots",
          { roots: {} },
          { roots: [{}] },
          { roots: [null] },
          { roots: ["file:///a"] },
          { roots: [{ uri: 7 }] },
          { roots: [{ uri: "not a uri" }] },
          JSON.parse('{"__proto__":{"roots":[]}}') as object,
        ]) {
          const { message } = await rpc.request("tasks/update", { taskId, inputResponses: { [key]: answer } });
          assert.equal((message["error"] as JsonObject | undefined)?.["code"], -32602, JSON.stringify(answer));
        }
        assert.equal(onlyKey(await rpc.questions(taskId)), key);
        await rpc.update(taskId, { [key]: { roots: [{ uri: "file:///a", name: "a", more: 1 }] } });
        assert.equal((await rpc.get(taskId)).status, "completed");
      },
    ),
  );
});

describe("a store that fails a request", () => {
  const methods = { "tasks/get": {}, "tasks/update": { inputResponses: {} }, "tasks/cancel": {} };
  for (const [method, params] of Object.entries(methods)) {
    it(`is reported once for ${method}, by the fast path and by the SDK's alike`, async () => {
      const store = storeWith(() => ({ get: () => Promise.reject(new Error("the disk is gone")) }));
      await withHost({ options: { store } }, async ({ direct, reported }) => {
        // A progress token is one of the things that make a request the SDK's.
        for (const meta of [{}, { progressToken: "p" }]) {
          const error = await direct.error(method, { taskId: "any", ...params }, { meta });
          assert.deepEqual(error, INTERNAL);
          assert.deepEqual(takeReports(reported), ["-: the disk is gone"]);
        }
      })();
    });
  }
});
