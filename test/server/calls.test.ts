// Tool calls over HTTP: which become tasks, what a plain call gets, and that the two tell the same.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromJsonSchema } from "@modelcontextprotocol/server";
import { z } from "zod";
import { memory } from "../../src/mod.ts";
import type { CallInfo, Host, JsonObject } from "../../src/mod.ts";
import { runningOn } from "../../scripts/lib/runtimes.mjs";
import { takeReports, withHost } from "../support/hosting.ts";
import { TASKS, TASKS_AND_QUESTIONS, accept, onlyKey, readReply, textOf } from "../support/rpc.ts";
import { gate, until } from "../support/until.ts";

const PLAIN = { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } };

describe("a call of an optional tool", () => {
  const store = memory();
  const tools = (host: Host) => {
    const input = { inputSchema: z.object({ ms: z.number() }) };
    host.tool("sleeps", input, async ({ ms }, task) => {
      await task.sleep("nap", ms);
      return `slept ${ms}`;
    });
    host.tool("patient", { ...input, task: { inlineWithinMs: 250 } }, async ({ ms }, task) => {
      await task.sleep("nap", ms);
      return `slept ${ms}`;
    });
    host.tool("asks", {}, async (_input, task) => {
      const { name } = await task.elicit("Name?", z.object({ name: z.string() }));
      return `Hello, ${name}`;
    });
  };

  it(
    "is answered inline when it is quick, and leaves no task",
    withHost({ tools: (host) => host.tool("quick", {}, () => "quick"), options: { store } }, async ({ rpc }) => {
      assert.equal(textOf(await rpc.call("quick")), "quick");
      assert.equal(await store.count(), 0);
    }),
  );

  it(
    "becomes a task once it takes longer than it may, by default 100 ms, and not a millisecond earlier",
    withHost({ tools }, async ({ rpc, clock }) => {
      for (const [tool, limit] of [
        ["sleeps", 100],
        ["patient", 250],
      ] as const) {
        const inline = rpc.call(tool, { ms: limit - 1 });
        await until(() => clock.pending >= 2, "the handler to sleep");
        await clock.advance(limit - 1);
        assert.equal(textOf(await inline), `slept ${limit - 1}`);

        const late = rpc.task(tool, { ms: limit + 1 });
        await until(() => clock.pending >= 2, "the handler to sleep");
        await clock.advance(limit);
        const { taskId, status } = await late;
        assert.equal(status, "working");
        await clock.advance(1);
        const task = (await rpc.get(taskId)) as { status: string; result: unknown };
        assert.equal(task.status, "completed");
        assert.equal(textOf(task.result), `slept ${limit + 1}`);
      }
    }),
  );

  it(
    "becomes a task at once when it asks something",
    withHost({ tools }, async ({ rpc }) => {
      const { taskId, status } = await rpc.task("asks");
      assert.equal(status, "input_required");
      await rpc.update(taskId, { [onlyKey(await rpc.questions(taskId))]: accept({ name: "Ann" }) });
      assert.equal((await rpc.get(taskId)).status, "completed");
    }),
  );
});

describe("a tool's policy", () => {
  const seen: CallInfo[] = [];
  const tools = (host: Host) => {
    host.tool("never", { task: "forbidden" }, (_input, task) => String(task.isTask));
    host.tool("always", { task: "required" }, (_input, task) => String(task.isTask));
    host.tool(
      "decides",
      {
        inputSchema: z.object({ rows: z.coerce.number() }),
        task: async ({ rows }, call) => {
          seen.push(call);
          if (rows > 1_000) return { mode: "required", ttlMs: 7_000, pollIntervalMs: 70 };
          return rows > 10 ? "required" : "forbidden";
        },
      },
      ({ rows }) => `${rows} rows`,
    );
    host.tool(
      "breaks",
      {
        task: () => {
          throw new Error("no policy today");
        },
      },
      () => "never called",
    );
    host.tool("nonsense", { task: () => "sometimes" as "optional" }, () => "never called");
    const times = { ttlMs: null, pollIntervalMs: { min: 7, max: 9 } };
    host.tool("own_times", { task: { mode: "required", ...times } }, () => "done");
  };

  it(
    "keeps a forbidden tool's calls inline and makes a task of a required tool's, whatever they take",
    withHost({ tools }, async ({ rpc }) => {
      assert.equal(textOf(await rpc.call("never")), "false");
      const { taskId } = await rpc.task("always");
      assert.equal(textOf(((await rpc.get(taskId)) as { result: unknown }).result), "true");
    }),
  );

  it(
    "may look at the input, as it was validated, and at the call",
    withHost({ tools }, async ({ rpc }) => {
      assert.equal(textOf(await rpc.call("decides", { rows: "5" })), "5 rows");
      assert.equal((await rpc.task("decides", { rows: 50 })).ttlMs, 3_600_000);
      const { ttlMs, pollIntervalMs } = await rpc.task("decides", { rows: "5000" });
      assert.deepEqual([ttlMs, pollIntervalMs], [7_000, 70]);
      assert.equal((await rpc.error("tools/call", { name: "decides", arguments: { rows: 50 } }, PLAIN)).code, -32021);
      assert.deepEqual(
        seen.splice(0).map(({ principal, tasks, arguments: args }) => ({ principal, tasks, args })),
        [
          { principal: undefined, tasks: true, args: { rows: "5" } },
          { principal: undefined, tasks: true, args: { rows: 50 } },
          { principal: undefined, tasks: true, args: { rows: "5000" } },
          { principal: undefined, tasks: false, args: { rows: 50 } },
        ],
      );
    }),
  );

  it(
    "that breaks fails the call without its insides, and tells the host's author",
    withHost({ tools }, async ({ rpc, reported }) => {
      for (const [name, problem] of [
        ["breaks", /^breaks: no policy today$/],
        ["nonsense", /^nonsense: The task policy of the tool "nonsense".*"forbidden", "optional" or "required"/],
      ] as const) {
        const error = await rpc.error("tools/call", { name });
        assert.deepEqual(error, { code: -32603, message: "Internal error" });
        const reports = takeReports(reported);
        assert.equal(reports.length, 1);
        assert.match(String(reports[0]), problem);
      }
    }),
  );

  it(
    "gives times of its own, or the host's",
    withHost({ tools, options: { ttlMs: 60_000, pollIntervalMs: 500 } }, async ({ rpc }) => {
      const own = await rpc.task("own_times");
      assert.deepEqual([own.ttlMs, own.pollIntervalMs], [null, 7]);
      const hosts = await rpc.task("always");
      assert.deepEqual([hosts.ttlMs, hosts.pollIntervalMs], [60_000, 500]);
    }),
  );
});

describe("input and output", () => {
  const problems = {
    wrong: { count: "many" },
    missing: undefined,
    structured: { content: [], structuredContent: { count: "many" } },
    unstructured: { content: [{ type: "text", text: "no structure" }] },
  };
  const tools = (host: Host) => {
    const count = z.object({ count: z.number() });
    const inputSchema = z.object({ id: z.number().min(1), label: z.string().default("none") });
    for (const mode of ["forbidden", "required"] as const) {
      host.tool(`echo_${mode}`, { inputSchema, task: mode }, (input) => JSON.stringify(input));
      host.tool(`good_${mode}`, { outputSchema: count, task: mode }, () => ({ count: 3 }));
      for (const [name, result] of Object.entries(problems)) {
        host.tool(`${name}_${mode}`, { outputSchema: count, task: mode }, () => result as never);
      }
      host.tool(`excused_${mode}`, { outputSchema: count, task: mode }, () => ({
        content: [{ type: "text", text: "Nothing to count" }],
        isError: true,
      }));
      host.tool(
        `plain_${mode}`,
        {
          inputSchema: fromJsonSchema<{ id: number }>({
            type: "object",
            properties: { id: { type: "integer" } },
            required: ["id"],
          }),
          task: mode,
        },
        ({ id }) => `id ${id}`,
      );
    }
  };

  it(
    "that is wrong gets its own error, the same for a task's tool, and makes no task",
    withHost({ tools, options: { limits: { tasks: 1 } } }, async ({ rpc }) => {
      for (const tool of ["echo", "plain"]) {
        for (const args of [{}, { id: "one" }, { id: 0.5, label: 7 }, { label: "x" }]) {
          const inline = await rpc.call(`${tool}_forbidden`, args);
          const asTask = await rpc.call(`${tool}_required`, args);
          assert.equal(inline["isError"], true);
          assert.match(textOf(inline), /^Input validation error: Invalid arguments for tool/);
          assert.equal(asTask["resultType"], "complete");
          assert.equal(textOf(asTask).replaceAll("_required", "_forbidden"), textOf(inline));
        }
      }
      // Had any of them made a task, the only place would be taken.
      await rpc.task("echo_required", { id: 1 });
    }),
  );

  it(
    "reaches the handler as its schema made it, inline and in a task",
    withHost({ tools }, async ({ rpc }) => {
      assert.equal(textOf(await rpc.call("echo_forbidden", { id: 1, more: true })), '{"id":1,"label":"none"}');
      const { taskId } = await rpc.task("echo_required", { id: 1, more: true });
      assert.equal(textOf(((await rpc.get(taskId)) as { result: unknown }).result), '{"id":1,"label":"none"}');
    }),
  );

  it(
    "that does not fit the output schema is the tool's error, the same inline and in a task",
    withHost({ tools }, async ({ rpc }) => {
      for (const name of ["good", ...Object.keys(problems), "excused"]) {
        const { _meta, ...inline } = await rpc.call(`${name}_forbidden`);
        const { taskId } = await rpc.task(`${name}_required`);
        const task = (await rpc.get(taskId)) as { status: string; result: JsonObject };
        assert.equal(task.status, "completed");
        const json = JSON.stringify(task.result).replaceAll("_required", "_forbidden");
        assert.deepEqual(JSON.parse(json), inline);
        assert.equal(inline["isError"] === true, name !== "good", name);
        if (name in problems) assert.match(textOf(inline), /^Output validation error: /);
      }
      const good = await rpc.call("good_forbidden");
      assert.deepEqual(good["structuredContent"], { count: 3 });
      assert.equal(textOf(good), '{"count":3}');
    }),
  );

  it(
    "of a handler that returns nonsense fails it, and tells the host's author what to return",
    withHost({ tools: (host) => host.tool("odd", {}, () => 42 as unknown as string) }, async ({ rpc, reported }) => {
      assert.equal((await rpc.error("tools/call", { name: "odd" })).code, -32603);
      const [report] = takeReports(reported);
      assert.match(String(report), /^odd: The handler of the tool "odd" returned number\. Return a string/);
    }),
  );

  it(
    "that JSON cannot hold fails the call",
    withHost(
      {
        tools: (host) => {
          const circular: JsonObject = { content: [] };
          circular["self"] = circular;
          host.tool("circular", {}, () => circular as never);
          host.tool("big_integer", {}, () => ({ content: [], structuredContent: 1n }));
        },
      },
      async ({ rpc, reported }) => {
        for (const name of ["circular", "big_integer"]) {
          assert.equal((await rpc.error("tools/call", { name })).code, -32603);
          assert.equal(reported.splice(0)[0]?.about.tool, name);
        }
      },
    ),
  );
});

describe("a tool", () => {
  it("may have any name, which a header carries in Base64 where it must", async () => {
    const names = ["plain", "with space", "grüße", "日本", "a/b", "=?base64?eA==?="];
    const tools = (host: Host) => {
      for (const name of names) host.tool(name, {}, () => `this is ${name}`);
    };
    // The SDK warns of such names.
    const { warn } = console;
    console.warn = () => {};
    try {
      await withHost({ tools }, async ({ rpc }) => {
        const listed = (await rpc.result("tools/list"))["tools"] as { name: string }[];
        assert.deepEqual(
          listed.map(({ name }) => name),
          names,
        );
        for (const name of names) {
          const header = `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(name)))}?=`;
          const result = await rpc.call(name, {}, { headers: { "mcp-name": header } });
          assert.equal(textOf(result), `this is ${name}`);
        }
      })();
    } finally {
      console.warn = warn;
    }
  });

  it(
    "cannot have a name that the SDK has no place for",
    withHost({}, async ({ host }) => {
      for (const name of ["constructor", "__proto__", "toString", ""]) {
        assert.throws(() => host.tool(name, {}, () => "never"), TypeError);
      }
    }),
  );

  it(
    "that is not there gets the SDK's error",
    withHost({ tools: (host) => host.tool("somebody", {}, () => "here") }, async ({ rpc }) => {
      for (const name of ["nobody", "SOMEBODY", "somebody "]) {
        const { code, message } = await rpc.error("tools/call", { name });
        assert.ok(code === -32602 || code === -32020, `${name}: ${code} ${message}`);
      }
      assert.equal(textOf(await rpc.call("somebody")), "here");
    }),
  );

  it(
    "is listed with all that its author said",
    withHost(
      {
        tools: (host) =>
          host.tool(
            "told",
            {
              title: "Told",
              description: "A tool that is told of",
              inputSchema: z.object({ id: z.number().describe("The id") }),
              outputSchema: z.object({ ok: z.boolean() }),
              annotations: { readOnlyHint: true },
              icons: [{ src: "data:image/png;base64,aGk=" }],
              _meta: { mine: 1 },
              task: "required",
            },
            () => ({ ok: true }),
          ),
      },
      async ({ rpc }) => {
        const { tools } = await rpc.result("tools/list");
        const [tool = {}] = tools as JsonObject[];
        assert.deepEqual(
          { ...tool, inputSchema: undefined, outputSchema: undefined },
          {
            name: "told",
            title: "Told",
            description: "A tool that is told of",
            annotations: { readOnlyHint: true },
            icons: [{ src: "data:image/png;base64,aGk=" }],
            _meta: { mine: 1 },
            inputSchema: undefined,
            outputSchema: undefined,
          },
        );
        const { properties, required } = tool["inputSchema"] as JsonObject;
        assert.deepEqual([properties, required], [{ id: { type: "number", description: "The id" } }, ["id"]]);
      },
    ),
  );
});

describe("progress", () => {
  const tools = (host: Host) => {
    const inputSchema = z.object({ ms: z.number() });
    host.tool("counts", { task: { inlineWithinMs: 50 }, inputSchema }, async ({ ms }, task) => {
      task.progress(1, 3, "one");
      task.progress(1, 3, "one again");
      task.progress(2.5);
      if (ms > 0) await task.sleep("rest", ms);
      task.progress(3, 3, "three");
      return "counted";
    });
  };
  const reports = (token: unknown) => [
    { progressToken: token, progress: 1, total: 3, message: "one" },
    { progressToken: token, progress: 2.5 },
    { progressToken: token, progress: 3, total: 3, message: "three" },
  ];

  it(
    "of a plain call reaches who asked for it, growing each time, before the result",
    withHost({ tools }, async ({ rpc, clock }) => {
      for (const token of ["token-1", 0, ""]) {
        const meta = { progressToken: token };
        const call = rpc.request("tools/call", { name: "counts", arguments: { ms: 10 } }, { meta });
        await until(() => clock.pending >= 2, "the handler to rest");
        await clock.advance(10);
        const { notifications, message } = await call;
        assert.equal(textOf(message["result"]), "counted");
        assert.deepEqual(
          notifications,
          reports(token).map((params) => ({ jsonrpc: "2.0", method: "notifications/progress", params })),
        );
      }
    }),
  );

  it(
    "of a plain call that nobody asked for goes nowhere",
    withHost({ tools }, async ({ rpc }) => {
      const params = { name: "counts", arguments: { ms: 0 } };
      const { headers, message, notifications } = await rpc.request("tools/call", params);
      assert.equal(headers.get("content-type"), "application/json");
      assert.equal(textOf(message["result"]), "counted");
      assert.deepEqual(notifications, []);
    }),
  );

  it(
    "stops with the answer: what comes once there is a task is the task's",
    withHost({ tools }, async ({ rpc, clock }) => {
      const meta = { progressToken: "t" };
      const call = rpc.request("tools/call", { name: "counts", arguments: { ms: 60_000 } }, { meta });
      await until(() => clock.pending >= 2, "the handler to rest");
      await clock.advance(50);
      const { notifications, message } = await call;
      const { resultType, taskId, statusMessage } = message["result"] as JsonObject;
      assert.deepEqual([resultType, statusMessage], ["task", "2.5"]);
      assert.deepEqual(
        notifications.map(({ params }) => params),
        reports("t").slice(0, 2),
      );
      await clock.advance(60_000);
      assert.equal((await rpc.get(String(taskId))).status, "completed");
    }),
  );
});

describe("a plain call that asks", () => {
  const Name = z.object({ name: z.string().min(2) });
  const tools = (host: Host) => {
    host.tool("greets", { inputSchema: z.object({ hello: z.string() }) }, async ({ hello }, task) => {
      task.progress(1, 2);
      const { name } = await task.elicit("Name?", Name);
      task.progress(2, 2);
      await task.elicitUrl("Agree?", "https://example.com/terms");
      const { content } = await task.sample({ messages: [], maxTokens: 10 });
      const roots = await task.roots();
      return `${hello}, ${name}! ${JSON.stringify(content)} ${roots.map(({ uri }) => uri).join()}`;
    });
    host.tool("echoes", {}, async (_input, task) => (await task.roots()).map(({ uri }) => uri).join());
  };
  const args = { hello: "Hello" };

  it(
    "goes through as many rounds as it asks, each with a requestState of its own and with the progress of its round",
    withHost({ tools, client: PLAIN }, async ({ rpc }) => {
      const answers: JsonObject[] = [
        accept({ name: "Ann" }),
        accept(),
        { role: "assistant", content: { type: "text", text: "Hi" }, model: "a-model" },
        { roots: [{ uri: "file:///home" }] },
      ];
      const methods: unknown[] = [];
      const states = new Set<unknown>();
      const progress: unknown[] = [];
      let params: JsonObject = { name: "greets", arguments: args };
      for (const [round, answer] of answers.entries()) {
        const { message, notifications } = await rpc.request("tools/call", params, { meta: { progressToken: round } });
        const result = message["result"] as JsonObject;
        assert.equal(result["resultType"], "input_required");
        const { requestState } = result;
        const inputRequests = result["inputRequests"] as Record<string, JsonObject>;
        const key = onlyKey(inputRequests);
        methods.push(inputRequests[key]?.["method"]);
        progress.push(...notifications.map((notification) => notification["params"]));
        states.add(requestState);
        params = { name: "greets", arguments: args, requestState, inputResponses: { [key]: answer } };
      }
      const result = await rpc.result("tools/call", params);
      assert.equal(textOf(result), 'Hello, Ann! {"type":"text","text":"Hi"} file:///home');
      assert.deepEqual(methods, ["elicitation/create", "elicitation/create", "sampling/createMessage", "roots/list"]);
      assert.equal(states.size, answers.length);
      assert.deepEqual(progress, [
        { progressToken: 0, progress: 1, total: 2 },
        { progressToken: 1, progress: 2, total: 2 },
      ]);
    }),
  );

  it(
    "refuses an answer that does not fit, says why, and takes a better one under the same requestState",
    withHost({ tools, client: PLAIN }, async ({ rpc }) => {
      const first = await rpc.call("greets", args);
      const key = onlyKey(first["inputRequests"] as object);
      const retry = (answer: unknown) => ({
        name: "greets",
        arguments: args,
        requestState: first["requestState"],
        inputResponses: { [key]: answer },
      });
      const wrong = [
        [accept({ name: "A" }), /name/],
        [accept({}), /name/],
        [accept(), /content/],
        [{ action: "perhaps" }, /action/],
        [{}, /action/],
        ["yes", /not an object/],
      ] as const;
      for (const [answer, reason] of wrong) {
        const error = await rpc.error("tools/call", retry(answer));
        assert.equal(error.code, -32602, JSON.stringify(answer));
        assert.match(error.message, new RegExp(`^The answer to "${key}" was refused: `));
        assert.match(error.message, reason);
      }
      const second = await rpc.result("tools/call", retry(accept({ name: "Ann", unasked: 1 })));
      assert.equal(second["resultType"], "input_required");
    }),
  );

  it(
    "ends as the tool's error when the person declines or dismisses the question",
    withHost({ tools, client: PLAIN }, async ({ rpc }) => {
      for (const [action, word] of [
        ["decline", "declined"],
        ["cancel", "dismissed"],
      ]) {
        const first = await rpc.call("greets", args);
        const result = await rpc.result("tools/call", {
          name: "greets",
          arguments: args,
          requestState: first["requestState"],
          inputResponses: { [onlyKey(first["inputRequests"] as object)]: { action } },
        });
        assert.equal(result["isError"], true);
        assert.equal(textOf(result), `The question was ${word}: Name?`);
      }
    }),
  );

  it(
    "is asked about the same arguments however they are spelt, and about no others",
    withHost({ tools, client: PLAIN }, async ({ rpc }) => {
      const first = await rpc.call("echoes", { a: 1, b: { c: [1, 2], d: null } });
      const retry = (given: JsonObject) => ({
        name: "echoes",
        arguments: given,
        requestState: first["requestState"],
        inputResponses: { [onlyKey(first["inputRequests"] as object)]: { roots: [{ uri: "file:///same" }] } },
      });
      for (const other of [{ a: 1 }, { a: 1, b: { c: [2, 1], d: null } }, { a: "1", b: { c: [1, 2], d: null } }, {}]) {
        assert.equal((await rpc.error("tools/call", retry(other))).code, -32602);
      }
      const result = await rpc.result("tools/call", retry({ b: { d: null, c: [1, 2] }, a: 1 }));
      assert.equal(textOf(result), "file:///same");
    }),
  );

  it("is given up when no answer comes in time: its handler's signal fires", async () => {
    const left = gate<unknown>();
    await withHost(
      {
        client: PLAIN,
        options: { roundTtlMs: 5_000 },
        tools: (host) =>
          host.tool("waits", {}, async (_input, task) => {
            task.signal.addEventListener("abort", () => left.open(task.signal.reason));
            await task.roots();
            return "never";
          }),
      },
      async ({ rpc, clock }) => {
        await rpc.call("waits");
        await clock.advance(4_999);
        assert.equal(clock.pending >= 1, true);
        await clock.advance(1);
        assert.match(String(await left.opened), /not answered in time/);
      },
    )();
  });

  it(
    "keeps asking by rounds where the tool says so, and becomes a task when it says begin",
    withHost(
      {
        client: { capabilities: TASKS_AND_QUESTIONS },
        tools: (host) =>
          host.tool("later", { task: { inlineWithinMs: Infinity } }, async (_input, task) => {
            const { name } = await task.elicit("Name?", Name);
            await task.begin();
            const roots = await task.roots();
            return `${name}: ${roots.length}`;
          }),
      },
      async ({ rpc }) => {
        const first = await rpc.call("later");
        assert.equal(first["resultType"], "input_required");
        const task = await rpc.result("tools/call", {
          name: "later",
          arguments: {},
          requestState: first["requestState"],
          inputResponses: { [onlyKey(first["inputRequests"] as object)]: accept({ name: "Ann" }) },
        });
        assert.equal(task["resultType"], "task");
        const taskId = String(task["taskId"]);
        await rpc.update(taskId, { [onlyKey(await rpc.questions(taskId))]: { roots: [] } });
        assert.equal(textOf(((await rpc.get(taskId)) as { result: unknown }).result), "Ann: 0");
      },
    ),
  );
});

describe("a client that goes", () => {
  // Deno tells of a client that has gone only once there is a response, be it the beginning of a stream.
  const waits = runningOn() === "deno" ? ["after a first progress"] : ["without a word", "after a first progress"];
  for (const wait of waits) {
    it(`before its plain call is answered, ${wait}, cancels it: the handler's signal fires`, async () => {
      const started = gate();
      const left = gate<unknown>();
      await withHost(
        {
          tools: (host) =>
            host.tool("hangs", { task: "forbidden" }, async (_input, task) => {
              task.signal.addEventListener("abort", () => left.open(task.signal.reason));
              if (wait !== "without a word") task.progress(1);
              started.open();
              await new Promise(() => {});
              return "never";
            }),
        },
        async ({ rpc }) => {
          const abort = new AbortController();
          const meta = { progressToken: "t" };
          const call = rpc.request("tools/call", { name: "hangs" }, { signal: abort.signal, meta });
          await started.opened;
          abort.abort();
          await assert.rejects(call);
          assert.match(String(await left.opened), /request was cancelled/);
        },
      )();
    });
  }

  it("after its call became a task changes nothing: the work outlives the request", async () => {
    const go = gate();
    const signals: AbortSignal[] = [];
    await withHost(
      {
        tools: (host) =>
          host.tool("works", { task: "required" }, async (_input, task) => {
            signals.push(task.signal);
            await go.opened;
            return "done all the same";
          }),
      },
      async ({ rpc }) => {
        const abort = new AbortController();
        const response = await rpc.send("tools/call", { name: "works" }, { signal: abort.signal });
        const { message } = await readReply(response);
        abort.abort();
        const { taskId } = message["result"] as { taskId: string };
        // Another request goes by, which gives the abort every chance to arrive.
        assert.equal((await rpc.get(taskId)).status, "working");
        go.open();
        await until(() => signals.length === 1, "the handler");
        assert.equal(signals[0]?.aborted, false);
        assert.equal((await rpc.get(taskId)).status, "completed");
      },
    )();
  });

  it("may come back as a new client and find its task by the id", async () => {
    const go = gate();
    await withHost(
      {
        tools: (host) =>
          host.tool("works", { task: "required" }, async () => {
            await go.opened;
            return "kept";
          }),
      },
      async ({ rpc }) => {
        const { taskId } = await rpc.task("works");
        go.open();
        const other = rpc.as({ capabilities: { ...TASKS, sampling: {} } });
        for (let times = 0; times < 3; times += 1) {
          assert.equal(textOf(((await other.get(taskId)) as { result: unknown }).result), "kept");
        }
      },
    )();
  });
});
