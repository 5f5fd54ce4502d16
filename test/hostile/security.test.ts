// What the review for security asked.
import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { describe, it } from "node:test";
import { z } from "zod";
import type { Host, InputRequest, JsonObject } from "../../src/mod.ts";
import { createHost } from "../../src/mod.ts";
import { withHost } from "../support/hosting.ts";
import { Rpc, accept, onlyKey, textOf } from "../support/rpc.ts";
import { until } from "../support/until.ts";

const tools = (host: Host) => {
  host.tool("quick", { task: "required" }, () => "done");
};

describe("the checks of Host and Origin", () => {
  const host = createHost({ name: "a", version: "1" });
  const statusOf = async (headers: Record<string, string>) =>
    (await new Rpc(host).send("server/discover", {}, { headers })).status;

  it("see through every spelling of another's name", async () => {
    const names = [
      "evil.example",
      "localhost.",
      "localhost.evil.example",
      "127.0.0.1.evil.example",
      "127.0.0.2",
      "0.0.0.0",
      "localhost@evil.example",
      "localhost:3000@evil.example",
      "evil.example#localhost",
      "evil.example#@localhost",
      "evil.example/@localhost",
      "evil.example\\@localhost",
      "evil.example?localhost",
      "[::1].evil.example",
      "[::]",
      "[::2]",
      "[::ffff:127.0.0.1]",
      "[::1%25eth0]",
      "::1",
      "localhost:port",
      "localhost:99999",
      "local host",
      "xn--localhost-",
      "localhost,evil.example",
      "http://localhost",
      "",
    ];
    for (const name of names) assert.equal(await statusOf({ host: name }), 403, `Host: ${name}`);
    const origins = ["http://localhost.", "http://[::2]", "//localhost", "http://", "javascript:localhost"];
    for (const origin of [...origins, "null", "file:///localhost", "data:localhost", "http://evil.example:80/localhost"]) {
      assert.equal(await statusOf({ origin }), 403, `Origin: ${origin}`);
    }
  });

  it("know this machine by every spelling of its name", async () => {
    for (const name of ["localhost", "LocalHost:1", "127.0.0.1:65535", "127.0.0.1.", "[::1]", "[::1]:80", "[0:0:0:0:0:0:0:1]:8080"]) {
      assert.equal(await statusOf({ host: name }), 200, `Host: ${name}`);
    }
    for (const origin of ["http://LOCALHOST:5173", "https://[::1]", "http://127.0.0.1:1"]) {
      assert.equal(await statusOf({ origin }), 200, `Origin: ${origin}`);
    }
  });

  it("take the author's names in any case", async () => {
    const named = createHost({ name: "a", version: "1", allowedHosts: ["MCP.Example.com"] });
    for (const name of ["mcp.example.com", "MCP.EXAMPLE.COM:443"]) {
      const response = await new Rpc(named).send("server/discover", {}, { headers: { host: name } });
      assert.equal(response.status, 200, name);
    }
    await named.close();
  });
});

describe("an answer", () => {
  const LONG = 300_000;
  /** What makes a regular expression that is not careful go astray. */
  const spiteful = [
    `${"a".repeat(LONG)}!`,
    `a@${"a.".repeat(LONG / 2)}`,
    `${"a.".repeat(LONG / 2)}@a`,
    `a@${"a-".repeat(LONG / 2)}`,
    `http://${"a".repeat(LONG)}`,
    `http://a?${"%".repeat(LONG)}`,
    "1".repeat(LONG),
    `2026-01-01T00:00:00.${"0".repeat(LONG)}`,
    ":".repeat(LONG),
    "0:".repeat(LONG / 2),
    " ".repeat(LONG),
    "\ud800".repeat(LONG / 10),
  ];

  it("costs no more than its length, whatever the form asks for", async () => {
    // Nobody gives what is asked for last, so that the question stays open.
    const form = z.object({
      email: z.email().optional(),
      url: z.url().optional(),
      day: z.iso.date().optional(),
      at: z.iso.datetime().optional(),
      last: z.enum(["given"]),
    });
    const formats = ["email", "uri", "date", "date-time"];
    const raw: InputRequest = {
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "?",
        requestedSchema: {
          type: "object",
          properties: {
            ...Object.fromEntries(formats.map((format) => [format, { type: "string", format }])),
            last: { type: "string" },
          },
          required: ["last"],
        },
      },
    };
    await withHost(
      {
        tools: (host) => {
          host.tool("form", { task: "required" }, async (_input, task) => JSON.stringify(await task.elicit("?", form)));
          host.tool("raw", { task: "required" }, async (_input, task) => JSON.stringify(await task.ask({ q: raw })));
        },
      },
      async ({ direct, host }) => {
        for (const tool of ["form", "raw"]) {
          const { taskId } = await direct.task(tool);
          await until(() => host.sizes.taken === 0, "the question");
          const key = onlyKey(await direct.questions(taskId));
          for (const text of spiteful) {
            for (const field of tool === "raw" ? formats : Object.keys(form.shape)) {
              const inputResponses = { [key]: accept({ [field]: text }) };
              const started = performance.now();
              await direct.error("tasks/update", { taskId, inputResponses });
              const took = performance.now() - started;
              assert.ok(took < 1_000, `${field} = ${text.slice(0, 12)}… took ${took} ms`);
            }
          }
        }
      },
    )();
  });

  it(
    "that is wrong in many ways is refused in few words",
    withHost(
      { tools: (host) => host.tool("roots", { task: "required" }, async (_input, task) => `${(await task.roots()).length}`) },
      async ({ rpc, host }) => {
        const { taskId } = await rpc.task("roots");
        await until(() => host.sizes.taken === 0, "the question");
        const key = onlyKey(await rpc.questions(taskId));
        for (const root of [{ uri: 1 }, { uri: "x".repeat(100) }, 5]) {
          const roots = Array.from({ length: 8_000 }, () => root);
          const error = await rpc.error("tasks/update", { taskId, inputResponses: { [key]: { roots } } });
          assert.equal(error.code, -32602);
          assert.match(error.message, /and 7995 more$/);
          assert.ok(JSON.stringify(error).length < 5_000);
        }
      },
    ),
  );
});

describe("names that objects have already", () => {
  it("are names like any other, in arguments, answers and questions, and pollute nothing", async () => {
    const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":"x","hasOwnProperty":0}';
    await withHost(
      {
        tools: (host) =>
          host.tool("asks", { inputSchema: z.looseObject({}) }, async (input, task) => {
            const answers = await task.ask({
              ["__proto__"]: { method: "roots/list" },
              constructor: { method: "roots/list" },
              toString: { method: "roots/list" },
            });
            return JSON.stringify([Object.keys(input), Object.entries(answers).map(([name, { roots }]) => [name, roots])]);
          }),
      },
      async ({ direct }) => {
        const { taskId } = await direct.task("asks", JSON.parse(evil) as JsonObject);
        const keys = Object.keys(await direct.questions(taskId));
        const roots = keys.map((_key, at) => [{ uri: `file:///${at}` }]);
        const inputResponses = JSON.parse(evil) as JsonObject;
        keys.forEach((key, at) => (inputResponses[key] = { roots: roots[at] }));
        await direct.update(taskId, inputResponses);
        const task = await direct.get(taskId);
        assert.equal(task.status, "completed");
        const [given, answers] = JSON.parse(textOf((task as { result: unknown }).result)) as [string[], unknown[]];
        assert.ok(given.includes("constructor") && given.includes("toString"));
        assert.deepEqual(answers, [["__proto__", roots[0]], ["constructor", roots[1]], ["toString", roots[2]]]);
        assert.equal(({} as { polluted?: unknown }).polluted, undefined);
      },
    )();
  });
});

describe("what comes back", () => {
  it(
    "has none of the request in its headers",
    withHost({ tools }, async ({ rpc }) => {
      const { taskId } = await rpc.task("quick");
      const plain = await rpc.request("tasks/get", { taskId });
      const names = (headers: Headers) => [...headers.keys()].filter((name) => name !== "content-length").toSorted();
      for (const id of ["a\r\nset-cookie: b=c", "\u0000", "é\u2028"]) {
        const odd = await rpc.request("tasks/get", { taskId }, { id });
        assert.equal(odd.message["id"], id);
        assert.deepEqual(names(odd.headers), names(plain.headers));
        const { events, response } = await rpc.listen({ taskIds: [taskId] }, { id });
        assert.equal(response.headers.get("set-cookie"), null);
        assert.equal((await events.rest()).length, 2, "an event stream is cut by no line break of the client's");
      }
    }),
  );
});
