// What the Tasks specification asks of a server, by its sections: each MUST and SHOULD that a test can see, by name.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { ProtocolError, memory } from "../../src/mod.ts";
import type { Host, JsonObject, TaskStore } from "../../src/mod.ts";
import { withHost } from "../support/hosting.ts";
import { SUBSCRIPTION_KEY, TASKS, TASKS_AND_QUESTIONS, accept, onlyKey, textOf } from "../support/rpc.ts";
import type { Gate } from "../support/until.ts";
import { gate } from "../support/until.ts";

const UNKNOWN = "786512e2-9e0d-44bd-8f29-789f320fe840";
const WITHOUT_TASKS = { capabilities: { elicitation: {}, sampling: {}, roots: {} } };
const MISSING = {
  code: -32021,
  message: "Missing required client capability",
  data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
};

/** A tool that is a task from its start and ends when it is told to. */
function addWaiter(host: Host, until: Gate<unknown>): void {
  host.tool("waiter", { task: "required" }, async () => {
    await until.opened;
    return "waited";
  });
}

const Name = z.object({ name: z.string() });

describe("Capability Negotiation", () => {
  const tools = (host: Host) => {
    host.tool("either", { task: { mode: "optional", inlineWithinMs: 0 } }, () => "done");
    host.tool("only", { task: "required" }, () => "done");
  };

  it(
    "MUST NOT return a task where this request did not declare the extension, whatever earlier ones declared",
    withHost({ tools }, async ({ rpc }) => {
      await rpc.task("either");
      const result = await rpc.call("either", {}, WITHOUT_TASKS);
      assert.equal(result["resultType"], "complete");
      assert.equal(textOf(result), "done");
      await rpc.task("either");
    }),
  );

  it(
    "MUST NOT take a declaration that is no object for one",
    withHost({ tools }, async ({ rpc }) => {
      for (const extension of [true, null, "yes", 1, []]) {
        const capabilities = { extensions: { "io.modelcontextprotocol/tasks": extension } };
        const { message } = await rpc.request("tools/call", { name: "either" }, { capabilities });
        const result = message["result"] as JsonObject | undefined;
        assert.notEqual(result?.["resultType"], "task", JSON.stringify(extension));
      }
    }),
  );

  it(
    "MUST answer -32021 with the required extension where it cannot do without a task",
    withHost({ tools }, async ({ rpc }) => {
      const { status, message } = await rpc.request("tools/call", { name: "only" }, WITHOUT_TASKS);
      assert.equal(status, 400);
      assert.deepEqual(message["error"], MISSING);
    }),
  );

  it(
    "may answer a client that declared it with a plain result",
    withHost({ tools: (host) => host.tool("quick", {}, () => "done") }, async ({ rpc }) => {
      assert.equal((await rpc.call("quick"))["resultType"], "complete");
    }),
  );
});

describe("Polymorphic Results", () => {
  it(
    "MUST set resultType to task on a CreateTaskResult, and MUST NOT on any other result",
    withHost(
      {
        tools: (host) => {
          host.tool("asker", { task: "required" }, async (_input, task) => {
            await task.elicit("Name?", Name);
            return "done";
          });
        },
      },
      async ({ rpc }) => {
        const { taskId, ...created } = await rpc.task("asker");
        assert.equal((created as unknown as JsonObject)["resultType"], "task");
        const types = async () => (await rpc.result("tasks/get", { taskId }))["resultType"];
        assert.equal(await types(), "complete");
        const key = onlyKey(await rpc.questions(taskId));
        assert.equal((await rpc.update(taskId, { [key]: accept({ name: "Luca" }) }))["resultType"], "complete");
        assert.equal((await rpc.cancel(taskId))["resultType"], "complete");
        const task = await rpc.get(taskId);
        assert.equal(task.status, "completed");
        assert.equal((task as unknown as { result: JsonObject }).result["resultType"], "complete");
        for (const method of ["tools/list", "server/discover"]) {
          assert.equal((await rpc.result(method))["resultType"], "complete");
        }
      },
    ),
  );

  it(
    "MUST NOT let a tool pass its own result off as a task",
    withHost(
      {
        tools: (host) =>
          host.tool("pretender", {}, () => ({ content: [], resultType: "task", taskId: "mine", status: "working" })),
      },
      async ({ rpc }) => {
        const { message } = await rpc.request("tools/call", { name: "pretender" });
        const result = message["result"] as JsonObject | undefined;
        assert.notEqual(result?.["resultType"], "task");
        const created = await rpc.request("tools/call", { name: "pretender" }, { capabilities: {} });
        assert.notEqual((created.message["result"] as JsonObject | undefined)?.["resultType"], "task");
      },
    ),
  );
});

describe("Task Status", () => {
  it(
    "MUST NOT use failed for a tool's own error",
    withHost(
      {
        tools: (host) =>
          host.tool("wrong", { task: "required" }, () => ({
            content: [{ type: "text", text: "Nothing there" }],
            isError: true,
          })),
      },
      async ({ rpc }) => {
        const { taskId } = await rpc.task("wrong");
        const { status, result } = (await rpc.get(taskId)) as { status: string; result: JsonObject };
        assert.equal(status, "completed");
        assert.deepEqual(result, {
          resultType: "complete",
          content: [{ type: "text", text: "Nothing there" }],
          isError: true,
        });
      },
    ),
  );

  it(
    "uses failed for a JSON-RPC error, MUST give it, and SHOULD say in statusMessage what went wrong",
    withHost(
      {
        tools: (host) =>
          host.tool("limited", { task: "required" }, () => {
            throw new ProtocolError(-32050, "API rate limit exceeded", { retryAfter: 5 });
          }),
      },
      async ({ rpc }) => {
        const { taskId } = await rpc.task("limited");
        const task = (await rpc.get(taskId)) as { status: string; statusMessage?: string; error: unknown };
        assert.equal(task.status, "failed");
        assert.equal(task.statusMessage, "API rate limit exceeded");
        assert.deepEqual(task.error, { code: -32050, message: "API rate limit exceeded", data: { retryAfter: 5 } });
      },
    ),
  );
});

describe("Task Creation", () => {
  it("MUST NOT return a task before tasks/get would find it, however long its store takes", async () => {
    const inner = memory();
    const storing = gate();
    const create: TaskStore["create"] = async (record, quota) => {
      await storing.opened;
      await inner.create(record, quota);
    };
    const store = new Proxy(inner, {
      get: (target, key) => {
        const own: unknown = key === "create" ? create : Reflect.get(target, key);
        return typeof own === "function" && key !== "create" ? own.bind(target) : own;
      },
    });
    const done = gate();
    await withHost({ tools: (host) => addWaiter(host, done), options: { store } }, async ({ rpc }) => {
      let answered = false;
      const call = rpc.task("waiter").finally(() => (answered = true));
      // A whole other request goes by, and the call still has no answer.
      await rpc.result("server/discover");
      assert.equal(answered, false);
      storing.open();
      const { taskId } = await call;
      assert.equal((await rpc.get(taskId)).status, "working");
      done.open(undefined);
    })();
  });

  it(
    "SHOULD be done with every round of questions that it asks before there is a task",
    withHost(
      {
        tools: (host) =>
          host.tool("decides", { task: { mode: "required", inlineWithinMs: Infinity } }, async (_input, task) => {
            const { name } = await task.elicit("Name?", Name);
            await task.elicit("Sure?", z.object({}));
            await task.begin();
            return `Hello, ${name}`;
          }),
      },
      async ({ rpc }) => {
        const round = async (params: JsonObject) => rpc.result("tools/call", { name: "decides", ...params });
        let result = await round({});
        for (const content of [{ name: "Luca" }, {}]) {
          assert.equal(result["resultType"], "input_required");
          assert.ok(!("taskId" in result));
          const { requestState, inputRequests } = result;
          const key = onlyKey(inputRequests as object);
          result = await round({ requestState, inputResponses: { [key]: accept(content) } });
        }
        assert.equal(result["resultType"], "task");
      },
    ),
  );
});

describe("Task Polling", () => {
  it(
    "MUST answer by the status: all outstanding questions while input is required, the result once completed",
    withHost(
      {
        tools: (host) =>
          host.tool("asks_two", { task: "required" }, async (_input, task) => {
            await task.sleep("first", 10);
            const [{ name }, { color }] = await Promise.all([
              task.elicit("Name?", Name),
              task.elicit("Color?", z.object({ color: z.string() })),
            ]);
            await task.sleep("then", 10);
            return `${name}: ${color}`;
          }),
      },
      async ({ rpc, clock }) => {
        const { taskId } = await rpc.task("asks_two");
        assert.equal((await rpc.get(taskId)).status, "working");
        await clock.advance(10);
        const questions = await rpc.questions(taskId);
        const messages = Object.values(questions).map(({ params }) => params?.["message"]);
        assert.deepEqual(messages, ["Name?", "Color?"]);
        const [name = "", color = ""] = Object.keys(questions);
        await rpc.update(taskId, { [color]: accept({ color: "red" }) });
        assert.deepEqual(Object.keys(await rpc.questions(taskId)), [name]);
        await rpc.update(taskId, { [name]: accept({ name: "Luca" }) });
        assert.equal((await rpc.get(taskId)).status, "working");
        await clock.advance(10);
        const task = (await rpc.get(taskId)) as { status: string; result: unknown };
        assert.equal(task.status, "completed");
        assert.equal(textOf(task.result), "Luca: red");
      },
    ),
  );

  it(
    "MUST give a cancelled task as cancelled, again and again",
    withHost({ tools: (host) => addWaiter(host, gate<unknown>()) }, async ({ rpc }) => {
      const { taskId } = await rpc.task("waiter");
      await rpc.cancel(taskId);
      const first = await rpc.get(taskId);
      assert.equal(first.status, "cancelled");
      assert.deepEqual(await rpc.get(taskId), first);
    }),
  );

  it(
    "may fail a task whose time to live is over, and discard it later",
    withHost(
      { tools: (host) => addWaiter(host, gate<unknown>()), options: { ttlMs: 1_000, retainMs: 500, tombstoneMs: 500 } },
      async ({ rpc, clock }) => {
        const { taskId, ttlMs } = await rpc.task("waiter");
        assert.equal(ttlMs, 1_000);
        await clock.advance(999);
        assert.equal((await rpc.get(taskId)).status, "working");
        await clock.advance(1);
        const failed = (await rpc.get(taskId)) as { status: string; error: unknown };
        assert.equal(failed.status, "failed");
        assert.deepEqual(failed.error, { code: -32603, message: "Task has expired" });
        await clock.advance(500);
        assert.match((await rpc.error("tasks/get", { taskId })).message, /Task has expired$/);
        await clock.advance(500);
        assert.match((await rpc.error("tasks/get", { taskId })).message, /Task not found$/);
      },
    ),
  );
});

describe("Task Update Requests", () => {
  const tools = (host: Host) => {
    host.tool("asks_twice", { task: "required" }, async (_input, task) => {
      const first = await task.elicit("Name?", Name);
      const second = await task.elicit("Name?", Name);
      return `${first.name} and ${second.name}`;
    });
  };

  it(
    "MUST never use a key twice, even for the same question asked again",
    withHost({ tools }, async ({ rpc }) => {
      const { taskId } = await rpc.task("asks_twice");
      const first = onlyKey(await rpc.questions(taskId));
      await rpc.update(taskId, { [first]: accept({ name: "Ann" }) });
      const second = onlyKey(await rpc.questions(taskId));
      assert.notEqual(second, first);
    }),
  );

  it(
    "MUST acknowledge with an empty result",
    withHost({ tools }, async ({ rpc }) => {
      const { taskId } = await rpc.task("asks_twice");
      const key = onlyKey(await rpc.questions(taskId));
      const ack = await rpc.update(taskId, { [key]: accept({ name: "Ann" }) });
      assert.deepEqual(Object.keys(ack).toSorted(), ["_meta", "resultType"]);
    }),
  );

  it(
    "SHOULD ignore answers to keys that were never issued, or are answered already",
    withHost({ tools }, async ({ rpc }) => {
      const { taskId } = await rpc.task("asks_twice");
      const first = onlyKey(await rpc.questions(taskId));
      await rpc.update(taskId, { nobody: accept({ name: "Ghost" }), "constructor": accept({}) });
      assert.equal(onlyKey(await rpc.questions(taskId)), first);
      await rpc.update(taskId, { [first]: accept({ name: "Ann" }) });
      await rpc.update(taskId, { [first]: accept({ name: "Somebody else" }) });
      const second = onlyKey(await rpc.questions(taskId));
      const late = { [first]: accept({ name: "Too late" }), [second]: accept({ name: "Bea" }), unasked: accept() };
      await rpc.update(taskId, late);
      const task = (await rpc.get(taskId)) as { status: string; result: unknown };
      assert.equal(textOf(task.result), "Ann and Bea");
      // An ended task has no open key at all.
      assert.deepEqual(Object.keys(await rpc.update(taskId, { [second]: accept({ name: "C" }) })).toSorted(), [
        "_meta",
        "resultType",
      ]);
    }),
  );
});

describe("Task Cancellation", () => {
  it(
    "MUST acknowledge with an empty result, at once, even if the handler never looks at its signal",
    withHost({ tools: (host) => addWaiter(host, gate<unknown>()) }, async ({ rpc }) => {
      const { taskId } = await rpc.task("waiter");
      for (let times = 0; times < 3; times += 1) {
        assert.deepEqual(Object.keys(await rpc.cancel(taskId)).toSorted(), ["_meta", "resultType"]);
      }
      assert.equal((await rpc.get(taskId)).status, "cancelled");
    }),
  );

  it("leaves a task as it ended", async () => {
    const done = gate<unknown>();
    await withHost({ tools: (host) => addWaiter(host, done) }, async ({ rpc }) => {
      const { taskId } = await rpc.task("waiter");
      done.open(undefined);
      const ended = await rpc.get(taskId);
      assert.equal(ended.status, "completed");
      await rpc.cancel(taskId);
      assert.deepEqual(await rpc.get(taskId), ended);
    })();
  });
});

describe("Task Status Notifications", () => {
  it(
    "carry what tasks/get gives at that moment, even to who listens long after the change",
    withHost({ tools: (host) => addWaiter(host, gate<unknown>()) }, async ({ rpc, clock }) => {
      const { taskId } = await rpc.task("waiter");
      for (const age of [0, 10_000, 40_000]) {
        await clock.advance(age);
        const { _meta: _ours, resultType: _type, ...task } = await rpc.result("tasks/get", { taskId });
        const { events } = await rpc.listen({ taskIds: [taskId] }, { id: age });
        const told = await events.next();
        assert.deepEqual(told, {
          jsonrpc: "2.0",
          method: "notifications/tasks",
          params: { ...task, _meta: { [SUBSCRIPTION_KEY]: age } },
        });
        await events.leave();
      }
    }),
  );

  it(
    "MUST NOT come with progress or log messages of the task",
    withHost(
      {
        tools: (host) =>
          host.tool("busy", { task: "required" }, async (_input, task) => {
            for (let done = 1; done <= 3; done += 1) {
              await task.sleep("work", 10);
              task.progress(done, 3, "working");
            }
            return "done";
          }),
      },
      async ({ rpc, clock }) => {
        const { taskId } = await rpc.task("busy", {}, { meta: { progressToken: "token-1" } });
        const { events } = await rpc.listen({ taskIds: [taskId] });
        await clock.advance(100);
        const methods = (await events.rest()).map((message) => message["method"] ?? "response");
        assert.equal(methods.pop(), "response");
        assert.ok(methods.length >= 4);
        assert.deepEqual([...new Set(methods)], ["notifications/tasks"]);
      },
    ),
  );

  it(
    "MUST be refused with -32021 to a client that did not declare the extension",
    withHost({}, async ({ rpc }) => {
      for (const filter of [{ taskIds: [] }, { taskIds: [UNKNOWN] }, { taskIds: [UNKNOWN], toolsListChanged: true }]) {
        const reply = await rpc.request("subscriptions/listen", { notifications: filter }, WITHOUT_TASKS);
        assert.equal(reply.status, 400);
        assert.deepEqual(reply.message["error"], MISSING);
      }
    }),
  );
});

describe("Routing Headers", () => {
  it(
    "are checked: Mcp-Name is the task's id, Mcp-Method the method",
    withHost({ tools: (host) => addWaiter(host, gate<unknown>()) }, async ({ rpc }) => {
      const { taskId } = await rpc.task("waiter");
      const params = { "tasks/get": {}, "tasks/cancel": {}, "tasks/update": { inputResponses: {} } };
      for (const [method, more] of Object.entries(params)) {
        for (const headers of [
          { "mcp-name": UNKNOWN },
          { "mcp-name": undefined },
          { "mcp-method": "tools/list" },
          { "mcp-method": undefined },
        ]) {
          const { status, message } = await rpc.request(method, { taskId, ...more }, { id: "wrong", headers });
          assert.equal(status, 400, `${method} with ${JSON.stringify(headers)}`);
          assert.equal((message["error"] as JsonObject)["code"], -32020);
          assert.equal(message["id"], "wrong");
        }
      }
      assert.equal((await rpc.get(taskId)).status, "working");
    }),
  );

  it(
    "may be Base64, as any value of Mcp-Name",
    withHost({ tools: (host) => addWaiter(host, gate<unknown>()) }, async ({ rpc }) => {
      const { taskId } = await rpc.task("waiter");
      const task = await rpc.get(taskId, { headers: { "mcp-name": `=?base64?${btoa(taskId)}?=` } });
      assert.equal(task.taskId, taskId);
    }),
  );
});

describe("Protocol Errors", () => {
  const methods = { "tasks/get": {}, "tasks/update": { inputResponses: {} }, "tasks/cancel": {} };

  it(
    "MUST be -32602 for a task that does not exist, saying what failed and why",
    withHost({}, async ({ rpc }) => {
      const verbs = { "tasks/get": "retrieve", "tasks/update": "update", "tasks/cancel": "cancel" };
      for (const [method, more] of Object.entries(methods)) {
        for (const taskId of [UNKNOWN, "", "a", "constructor", "a".repeat(5_000)]) {
          const { status, message } = await rpc.request(method, { taskId, ...more }, { id: 70 });
          assert.equal(status, 200);
          const verb = verbs[method as keyof typeof verbs];
          assert.deepEqual(message, {
            jsonrpc: "2.0",
            id: 70,
            error: { code: -32602, message: `Failed to ${verb} task: Task not found` },
          });
        }
      }
    }),
  );

  it(
    "MUST be -32602 for an id that is none",
    withHost({}, async ({ rpc }) => {
      for (const [method, more] of Object.entries(methods)) {
        for (const taskId of [undefined, null, 7, {}, ["a"], true]) {
          const { message } = await rpc.request(method, { taskId, ...more }, { headers: { "mcp-name": "7" } });
          const { code } = message["error"] as { code: number };
          assert.ok(code === -32602 || code === -32020, `${method} ${JSON.stringify(taskId)}: ${code}`);
        }
      }
    }),
  );

  it(
    "MUST be -32021 for a client that did not declare the extension, whether or not there is such a task",
    withHost({ tools: (host) => addWaiter(host, gate<unknown>()) }, async ({ rpc }) => {
      const { taskId } = await rpc.task("waiter");
      for (const [method, more] of Object.entries(methods)) {
        for (const id of [taskId, UNKNOWN]) {
          const { status, message } = await rpc.request(method, { taskId: id, ...more }, WITHOUT_TASKS);
          assert.equal(status, 400);
          assert.deepEqual(message["error"], MISSING);
        }
      }
      assert.equal((await rpc.get(taskId)).status, "working");
    }),
  );

  it(
    "are -32601 for the methods that the extension no longer has",
    withHost({ tools: (host) => addWaiter(host, gate<unknown>()) }, async ({ rpc }) => {
      const { taskId } = await rpc.task("waiter");
      for (const method of ["tasks/list", "tasks/result", "tasks/delete"]) {
        const { message } = await rpc.request(method, { taskId }, { id: 3 });
        assert.equal((message["error"] as JsonObject)["code"], -32601, method);
        assert.equal(message["id"], 3);
      }
    }),
  );
});

describe("Task Execution Errors", () => {
  const outcomes: { [tool: string]: () => unknown } = {
    text: () => "done",
    blocks: () => ({ content: [{ type: "image", data: "aGk=", mimeType: "image/png" }], _meta: { of: "mine" } }),
    wrong: () => ({ content: [{ type: "text", text: "no" }], isError: true }),
    nothing: () => undefined,
    protocol: () => {
      throw new ProtocolError(-32001, "Broken", { why: "because" });
    },
    thrown: () => {
      throw new Error("with a secret");
    },
  };

  it(
    "reach tasks/get exactly as the call itself would have got them",
    withHost(
      {
        tools: (host) => {
          for (const [name, work] of Object.entries(outcomes)) {
            host.tool(name, { task: { mode: "optional", inlineWithinMs: 0 } }, () => work() as string);
          }
        },
      },
      async ({ rpc, reported }) => {
        for (const name of Object.keys(outcomes)) {
          const { message } = await rpc.request("tools/call", { name }, WITHOUT_TASKS);
          const { taskId } = await rpc.task(name);
          const task = (await rpc.get(taskId)) as { status: string; result?: unknown; error?: unknown };
          if (message["error"] !== undefined) {
            assert.deepEqual([name, task.status, task.error], [name, "failed", message["error"]]);
          } else {
            const { _meta, ...inline } = message["result"] as JsonObject;
            const { _meta: own, ...inTask } = task.result as JsonObject;
            assert.deepEqual([name, task.status, inTask], [name, "completed", inline]);
            assert.equal(_meta === undefined || own === undefined || "of" in (own as object), true);
          }
        }
        assert.ok(!JSON.stringify(await rpc.request("tools/call", { name: "thrown" })).includes("secret"));
        assert.deepEqual(
          reported.splice(0).map(({ error, about }) => [(error as Error).message, about.tool]),
          Array.from({ length: 3 }, () => ["with a secret", "thrown"]),
        );
      },
    ),
  );
});

describe("Security Considerations", () => {
  it(
    "MUST make ids that nobody can guess",
    withHost({ tools: (host) => addWaiter(host, gate<unknown>()) }, async ({ rpc }) => {
      const ids = new Set<string>();
      for (let count = 0; count < 50; count += 1) ids.add((await rpc.task("waiter")).taskId);
      assert.equal(ids.size, 50);
      // 128 bits are 22 characters of 6 bits each.
      for (const id of ids) assert.match(id, /^[A-Za-z0-9_-]{22,}$/);
      const starts = new Set([...ids].map((id) => id.slice(0, 6)));
      assert.equal(starts.size, 50, "no part of them counts up");
    }),
  );
});

describe("Multi Round-Trip Requests", () => {
  const ask = {
    elicit: {
      method: "elicitation/create",
      params: { mode: "form", message: "?", requestedSchema: { type: "object", properties: {} } },
    },
    url: { method: "elicitation/create", params: { mode: "url", message: "?", url: "https://example.com/" } },
    sample: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } },
    tools: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1, tools: [] } },
    roots: { method: "roots/list" },
  } as const;
  const declared: { [kind in keyof typeof ask]: JsonObject } = {
    elicit: { elicitation: {} },
    url: { elicitation: { url: {} } },
    sample: { sampling: {} },
    tools: { sampling: { tools: {} } },
    roots: { roots: {} },
  };
  const tools = (host: Host) => {
    for (const [name, request] of Object.entries(ask)) {
      host.tool(name, { task: { mode: "optional", inlineWithinMs: 0 } }, async (_input, task) => {
        await task.ask({ question: request });
        return "answered";
      });
    }
  };

  it(
    "MUST NOT ask what the client did not declare that it can answer, in a plain call and in a task",
    withHost({ tools }, async ({ rpc }) => {
      for (const [name, needed] of Object.entries(declared)) {
        const others = Object.entries(declared).filter(([kind]) => kind !== name);
        // The one that has a part of another's: sampling without tools, forms without URLs.
        const capabilities = Object.assign({}, ...others.map(([, capability]) => capability)) as JsonObject;
        if (name === "sample") delete capabilities["sampling"];
        if (name === "tools") capabilities["sampling"] = {};
        if (name === "elicit") capabilities["elicitation"] = { url: {} };
        if (name === "url") capabilities["elicitation"] = { form: {} };
        const plain = await rpc.request("tools/call", { name }, { capabilities });
        assert.equal((plain.message["error"] as JsonObject | undefined)?.["code"], -32021, name);
        const { taskId } = await rpc.task(name, {}, { capabilities: { ...capabilities, ...TASKS } });
        const task = (await rpc.get(taskId)) as { status: string; error: { code: number } };
        assert.deepEqual([task.status, task.error.code], ["failed", -32021], name);

        const asked = await rpc.call(name, {}, { capabilities: needed });
        assert.equal(asked["resultType"], "input_required", name);
        const inTask = await rpc.task(name, {}, { capabilities: { ...needed, ...TASKS } });
        assert.equal(onlyKey(await rpc.questions(inTask.taskId)).startsWith("question"), true);
      }
    }),
  );

  it(
    "MUST hold inputRequests or requestState in every input_required result, here both",
    withHost({ tools }, async ({ rpc }) => {
      const result = await rpc.call("elicit", {}, { capabilities: { elicitation: {} } });
      assert.deepEqual(Object.values(result["inputRequests"] as object), [ask.elicit]);
      assert.match(String(result["requestState"]), /^[A-Za-z0-9_-]{22,}$/);
    }),
  );

  it(
    "SHOULD ask again for what an answer left out, rather than fail",
    withHost(
      {
        client: { capabilities: { elicitation: {} } },
        tools: (host) =>
          host.tool("two", {}, async (_input, task) => {
            const { a, b } = await task.ask({ a: ask.elicit, b: ask.elicit });
            return JSON.stringify([a, b]);
          }),
      },
      async ({ rpc }) => {
        const first = await rpc.call("two");
        const [a = "", b = ""] = Object.keys(first["inputRequests"] as object);
        const second = await rpc.result("tools/call", {
          name: "two",
          arguments: {},
          requestState: first["requestState"],
          inputResponses: { [a]: accept({}), unasked: accept({}) },
        });
        assert.equal(second["resultType"], "input_required");
        assert.deepEqual(Object.keys(second["inputRequests"] as object), [b]);
        const third = await rpc.result("tools/call", {
          name: "two",
          arguments: {},
          requestState: second["requestState"],
          inputResponses: { [b]: { action: "decline" } },
        });
        assert.equal(textOf(third), '[{"action":"accept","content":{}},{"action":"decline"}]');
      },
    ),
  );

  it(
    "MUST refuse a requestState that was forged, used, expired, or given to another call",
    withHost(
      {
        client: { capabilities: TASKS_AND_QUESTIONS },
        options: { roundTtlMs: 60_000 },
        tools: (host) => {
          for (const name of ["one", "other"]) {
            host.tool(
              name,
              { task: "forbidden", inputSchema: z.object({ for: z.string().optional() }) },
              async (_input, task) => (await task.elicit("Name?", Name)).name,
            );
          }
        },
      },
      async ({ rpc, clock }) => {
        const start = async () => {
          const result = await rpc.call("one", { for: "me" });
          const inputResponses = { [onlyKey(result["inputRequests"] as object)]: accept({ name: "Ann" }) };
          return { name: "one", arguments: { for: "me" }, requestState: result["requestState"], inputResponses };
        };
        const data = { reason: "invalid_request_state" };
        const refused = { code: -32602, message: "Invalid or expired requestState", data };
        const retry = await start();
        assert.deepEqual(await rpc.error("tools/call", { ...retry, requestState: "forged" }), refused);
        assert.deepEqual(await rpc.error("tools/call", { ...retry, requestState: "" }), refused);
        assert.deepEqual(await rpc.error("tools/call", { ...retry, name: "other" }), refused);
        assert.deepEqual(await rpc.error("tools/call", { ...retry, arguments: { for: "you" } }), refused);
        assert.deepEqual(await rpc.error("tools/call", { ...retry, arguments: {} }), refused);
        assert.equal(textOf(await rpc.result("tools/call", retry)), "Ann", "the attempts did no harm");
        assert.deepEqual(await rpc.error("tools/call", retry), refused, "it works once");
        const late = await start();
        await clock.advance(60_000);
        assert.deepEqual(await rpc.error("tools/call", late), refused);
      },
    ),
  );
});
