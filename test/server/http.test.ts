// The endpoint: where it is, whom it lets in, how it mounts, and that it agrees with the SDK on everything odd.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { TASKS_EXTENSION, createHost, createTasks, serve } from "../../src/mod.ts";
import type { Host, JsonObject } from "../../src/mod.ts";
import { runningOn } from "../../scripts/lib/runtimes.mjs";
import { withHost } from "../support/hosting.ts";
import {
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  REVISION,
  Rpc,
  TASKS,
  VERSION_KEY,
  envelope,
  onlyKey,
  readReply,
  textOf,
} from "../support/rpc.ts";
import { patiently, until } from "../support/until.ts";

const tools = (host: Host) => {
  host.tool("quick", {}, () => "done");
  host.tool("external", { task: "required" }, (_input, task) => task.external());
};

describe("the endpoint", () => {
  it(
    "is at /mcp, and nothing is elsewhere",
    withHost({ tools }, async ({ rpc, served }) => {
      assert.equal(served.url, `http://127.0.0.1:${served.port}/mcp`);
      assert.equal(textOf(await rpc.call("quick")), "done");
      for (const path of ["/", "/mcp/", "/mcp/x", "/MCP"]) {
        const response = await new Rpc(served.url.replace("/mcp", path)).send("tools/call", { name: "quick" });
        assert.equal(response.status, 404, path);
        await response.body?.cancel();
      }
    }),
  );

  it(
    "may be elsewhere",
    withHost({ tools, options: { path: "/api/v1/tools" } }, async ({ served }) => {
      const base = `http://127.0.0.1:${served.port}`;
      assert.equal(served.url, `${base}/api/v1/tools`);
      assert.equal(textOf(await new Rpc(served.url).call("quick")), "done");
      assert.equal((await new Rpc(`${base}/mcp`).send("tools/list")).status, 404);
    }),
  );

  it(
    "takes POST alone, and says so",
    withHost({ tools }, async ({ served }) => {
      for (const method of ["GET", "DELETE", "PUT", "PATCH"]) {
        const response = await fetch(served.url, { method, headers: { accept: "text/event-stream" } });
        assert.equal(response.status, 405, method);
        await response.body?.cancel();
      }
    }),
  );

  it(
    "never makes a session, whatever a client of an older revision asks for",
    withHost({ tools }, async ({ rpc }) => {
      const headers = { "mcp-session-id": "mine", "last-event-id": "7" };
      const { headers: answered, message } = await rpc.request("tools/call", { name: "quick" }, { headers });
      assert.equal(answered.get("mcp-session-id"), null);
      assert.equal(textOf(message["result"]), "done");
    }),
  );

  it(
    "answers 404 and -32601 to a method that it does not have",
    withHost({ tools }, async ({ rpc }) => {
      const { status, message } = await rpc.request("tools/forget", {}, { id: "x" });
      assert.deepEqual([status, message["id"], (message["error"] as JsonObject)["code"]], [404, "x", -32601]);
    }),
  );

  it(
    "takes many calls at once, each answered with its own",
    withHost(
      { tools: (host) => host.tool("echo", {}, (_input, task) => task.taskId) },
      async ({ rpc }) => {
        const replies = await Promise.all(
          Array.from({ length: 100 }, (_, at) => rpc.request("tools/call", { name: "echo" }, { id: at })),
        );
        assert.deepEqual(
          replies.map(({ message }) => message["id"]),
          replies.map((_, at) => at),
        );
        assert.equal(new Set(replies.map(({ message }) => textOf(message["result"]))).size, 100);
      },
    ),
  );
});

/** Sends a request whose Host header is what it says, which `fetch` does not let one do everywhere. */
async function statusFor(port: number, headers: { [name: string]: string }): Promise<number | undefined> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: envelope() } });
  const request = httpRequest({
    port,
    host: "127.0.0.1",
    path: "/mcp",
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": "tools/list",
      "content-length": Buffer.byteLength(body),
      ...headers,
    },
  });
  request.end(body);
  const [response] = (await once(request, "response")) as [{ statusCode?: number; resume(): void }];
  response.resume();
  return response.statusCode;
}

describe("the checks of Host and Origin", () => {
  it(
    "let in by default who names this machine, from whatever port and page of it",
    withHost({ tools }, async ({ served: { port } }) => {
      for (const host of ["127.0.0.1", `127.0.0.1:${port}`, "localhost:1", "[::1]", "LOCALHOST"]) {
        assert.equal(await statusFor(port, { host }), 200, host);
      }
      for (const origin of ["http://localhost:5173", "https://127.0.0.1", "http://[::1]:80"]) {
        assert.equal(await statusFor(port, { origin }), 200, origin);
      }
    }),
  );

  it(
    "keep everybody else out by default, with 403 and an error that has no id",
    withHost({ tools }, async ({ served: { port }, rpc, direct }) => {
      for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil", "0.0.0.0", "1.2.3.4:80"]) {
        assert.equal(await statusFor(port, { host }), 403, host);
      }
      for (const origin of ["https://evil.example", "null", "file://", "http://localhost.evil.example", "nonsense"]) {
        assert.equal(await statusFor(port, { origin }), 403, origin);
      }
      for (const headers of [{ origin: "https://evil.example" }, { host: "evil.example" }]) {
        const { status, message } = await direct.request("tools/list", {}, { headers });
        assert.equal(status, 403);
        assert.equal(message["id"], null);
        assert.equal(typeof (message["error"] as JsonObject)["message"], "string");
      }
      // The fast path is behind the same checks.
      const { taskId } = await rpc.task("external");
      const headers = { origin: "https://evil.example" };
      const filter = { notifications: { taskIds: [taskId] } };
      assert.equal((await rpc.request("tasks/get", { taskId }, { headers })).status, 403);
      assert.equal((await rpc.request("subscriptions/listen", filter, { headers })).status, 403);
    }),
  );

  it(
    "take the names they are given instead",
    withHost({ tools, options: { allowedHosts: ["mcp.example.com", "[::1]"] } }, async ({ served: { port } }) => {
      const origin = "https://mcp.example.com";
      assert.equal(await statusFor(port, { host: "mcp.example.com:8443" }), 200);
      assert.equal(await statusFor(port, { host: "mcp.example.com", origin }), 200);
      assert.equal(await statusFor(port, { host: "localhost" }), 403);
      assert.equal(await statusFor(port, { host: "mcp.example.com", origin: "http://localhost" }), 403);
    }),
  );

  it(
    "may let pages of another site in",
    withHost({ tools, options: { allowedOrigins: ["app.example.com"] } }, async ({ served: { port } }) => {
      assert.equal(await statusFor(port, { origin: "https://app.example.com:444" }), 200);
      assert.equal(await statusFor(port, { origin: "http://localhost" }), 403);
      assert.equal(await statusFor(port, { host: "app.example.com" }), 403);
    }),
  );

  it(
    "of Host may be off, while Origin stays checked",
    withHost({ tools, options: { allowedHosts: "any" } }, async ({ served: { port } }) => {
      assert.equal(await statusFor(port, { host: "anything.example" }), 200);
      assert.equal(await statusFor(port, { host: "anything.example", origin: "https://anything.example" }), 403);
    }),
  );

  it(
    "may both be off",
    withHost({ tools, options: { allowedHosts: "any", allowedOrigins: "any" } }, async ({ served: { port } }) => {
      assert.equal(await statusFor(port, { host: "anything.example", origin: "null" }), 200);
    }),
  );
});

describe("mounting", () => {
  it("puts the endpoint into an app that is there already, under a path or not", async () => {
    const host = createHost({ name: "mounted", version: "1" });
    tools(host);
    const app = new Hono();
    app.get("/", (c) => c.text("the rest of the app"));
    app.route("/", host.app);
    app.route("/nested", host.app);
    app.all("/own", (c) => host.handle(c.req.raw));
    const served = await serve({ fetch: (request) => app.fetch(request), close: () => host.close() }, { port: 0 });
    try {
      const base = `http://127.0.0.1:${served.port}`;
      for (const path of ["/mcp", "/nested/mcp", "/own"]) {
        const rpc = new Rpc(`${base}${path}`);
        assert.equal(textOf(await rpc.call("quick")), "done");
        const { taskId } = await rpc.task("external");
        const { events } = await rpc.listen({ taskIds: [taskId] });
        await events.next();
        await rpc.cancel(taskId);
        assert.equal((await events.rest()).length, 2);
      }
      assert.equal(await (await fetch(`${base}/`)).text(), "the rest of the app");
    } finally {
      await served.close();
    }
  });

  it("without the checks leaves them to the app", async () => {
    const host = createHost({ name: "mounted", version: "1" });
    tools(host);
    const rpc = new Rpc({ fetch: (request) => host.handle(request) }, { headers: { host: "public.example" } });
    assert.equal(textOf(await rpc.call("quick")), "done");
    await host.close();
  });

  it("needs no server at all: a request in, a response out", async () => {
    const host = createHost({ name: "alone", version: "1" });
    tools(host);
    const rpc = new Rpc(host);
    assert.equal(textOf(await rpc.call("quick")), "done");
    const { taskId } = await rpc.task("external");
    await host.task(taskId).complete("done elsewhere");
    assert.equal((await rpc.get(taskId)).status, "completed");
    await host.close();
  });
});

describe("serve", () => {
  it("says where it serves, on IPv6 too", async () => {
    const host = createHost({ name: "six", version: "1" });
    tools(host);
    const served = await serve(host, { port: 0, hostname: "::1", path: "/mcp" });
    assert.equal(served.url, `http://[::1]:${served.port}/mcp`);
    assert.equal(textOf(await new Rpc(served.url).call("quick")), "done");
    await served.close();
  });

  it("rejects when the port is taken, and leaves nothing behind", async () => {
    const host = createHost({ name: "a", version: "1" });
    const served = await serve(host, { port: 0 });
    await assert.rejects(serve(createHost({ name: "b", version: "1" }), { port: served.port }));
    await served.close();
    const again = await serve(createHost({ name: "c", version: "1" }), { port: served.port });
    await again.close();
  });

  it("refuses a port that is none", async () => {
    const host = createHost({ name: "a", version: "1" });
    for (const port of [-1, 65_536, 1.5, Number.NaN, "80" as unknown as number]) {
      await assert.rejects(serve(host, { port }), /port takes a number from 0 to 65535/);
    }
    await host.close();
  });

  it("closes in good order: streams end with their result, and what was answered goes out whole", async () => {
    const host = createHost({ name: "a", version: "1" });
    tools(host);
    const big = "x".repeat(3_000_000);
    host.tool("big", {}, () => big);
    const served = await serve(host, { port: 0 });
    const rpc = new Rpc(served.url);
    const { taskId } = await rpc.task("external");
    const { events } = await rpc.listen({ taskIds: [taskId], toolsListChanged: true });
    await events.next();
    // The head of the response is here, its body is on the way.
    const response = await rpc.send("tools/call", { name: "big" });
    const closing = served.close();
    assert.equal(textOf((await readReply(response)).message["result"]), big);
    const messages = await events.rest();
    assert.ok("result" in (messages.at(-1) ?? {}));
    await closing;
    await assert.rejects(fetch(served.url, { method: "POST" }));
  });

  it("does not wait for ever for a reader that never reads to the end", async () => {
    const served = await serve(
      {
        fetch: () =>
          new Response(
            new ReadableStream({
              pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
            }),
          ),
      },
      { port: 0 },
    );
    const socket = connect(served.port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    await once(socket, "readable");
    await patiently(() => served.close());
    socket.destroy();
    await once(socket, "close");
  });
});

describe("a client that breaks off", () => {
  it(
    "in the middle of its request does no harm, and nobody hears of it",
    withHost({ tools }, async ({ rpc, served }) => {
      const { error: log } = console;
      const logged: unknown[] = [];
      console.error = (...args: unknown[]) => logged.push(...args);
      try {
        const head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
        for (const rest of ["Content-Length: 1000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{", ""]) {
          const socket = connect(served.port, "127.0.0.1");
          await once(socket, "connect");
          socket.write(head + rest);
          // The server answers others meanwhile, and so has seen what came.
          await rpc.call("quick");
          socket.destroy();
          await once(socket, "close");
          await rpc.call("quick");
        }
      } finally {
        console.error = log;
      }
      assert.deepEqual(logged, []);
    }),
  );
});

const MISSING = {
  jsonrpc: "2.0",
  id: 1,
  error: {
    code: -32021,
    message: "Missing required client capability",
    data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
  },
};

/** The same server twice over: as the SDK serves it, and with the fast path in front. */
async function withBoth(test: (given: { sdk: Rpc; fast: Rpc; taskId: string }) => Promise<void>): Promise<void> {
  const tasks = createTasks();
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "both", version: "1" }, { capabilities: { tools: { listChanged: true } } });
    server.registerTool("asks", {}, (ctx) => {
      void tasks.context(ctx)?.roots().catch(() => {});
      return new Promise(() => {});
    });
    return tasks.adopt(server, { asks: "required" });
  });
  const wrapped = tasks.wrap(handler);
  const sdk = new Rpc({ fetch: (request) => handler.fetch(request) });
  const fast = new Rpc({ fetch: (request) => wrapped.fetch(request) });
  const { taskId } = await fast.task("asks");
  try {
    await patiently(() => test({ sdk, fast, taskId }));
  } finally {
    await wrapped.close();
  }
}

describe("the fast path agrees with the SDK", () => {
  const meta = envelope();
  const info = { name: "n", version: "1" };
  /** How each odd request differs from a plain one. `taskId` stands for a task's id. */
  const odd: { [what: string]: { body?: JsonObject; params?: JsonObject; meta?: JsonObject; headers?: Headered } } = {
    "nothing odd": {},
    "a string id": { body: { id: "x" } },
    "an empty id": { body: { id: "" } },
    "a negative id": { body: { id: -1 } },
    "a fraction for an id": { body: { id: 1.5 } },
    "an unsafe integer for an id": { body: { id: 2 ** 53 } },
    "null for an id": { body: { id: null } },
    "an object for an id": { body: { id: {} } },
    "a boolean for an id": { body: { id: true } },
    "no id": { body: { id: undefined } },
    "no version": { body: { jsonrpc: undefined } },
    "version 1.0": { body: { jsonrpc: "1.0" } },
    "a number for a version": { body: { jsonrpc: 2 } },
    "more fields": { body: { more: 1 } },
    "a result as well": { body: { result: {} } },
    "no parameters": { body: { params: undefined } },
    "an array for parameters": { body: { params: [] } },
    "null for parameters": { body: { params: null } },
    "a number for a method": { body: { method: 7 } },
    "another method": { body: { method: "tools/list" } },
    "no task id": { params: { taskId: undefined } },
    "a number for a task id": { params: { taskId: 7 }, headers: { "mcp-name": "7" } },
    "an empty task id": { params: { taskId: "" }, headers: { "mcp-name": "" } },
    "an unknown task id": { params: { taskId: "nobody" }, headers: { "mcp-name": "nobody" } },
    "a padded name": { headers: { "mcp-name": " taskId " } },
    "a foreign name": { headers: { "mcp-name": "somebody" } },
    "no name": { headers: { "mcp-name": undefined } },
    "a broken Base64 name": { headers: { "mcp-name": "=?base64?%%%?=" } },
    "no method header": { headers: { "mcp-method": undefined } },
    "another method header": { headers: { "mcp-method": "tools/list" } },
    "a method header in capitals": { headers: { "mcp-method": "TASKS/GET" } },
    "no version header": { headers: { "mcp-protocol-version": undefined } },
    "an older version header": { headers: { "mcp-protocol-version": "2025-11-25" } },
    "an unknown version header": { headers: { "mcp-protocol-version": "2099-01-01" } },
    "an older version in the envelope": { meta: { [VERSION_KEY]: "2025-11-25" } },
    "a number for a version in the envelope": { meta: { [VERSION_KEY]: 7 } },
    "no version in the envelope": { meta: { [VERSION_KEY]: undefined } },
    "no capabilities": { meta: { [CAPABILITIES_KEY]: undefined } },
    "null for capabilities": { meta: { [CAPABILITIES_KEY]: null } },
    "an array for capabilities": { meta: { [CAPABILITIES_KEY]: [] } },
    "no capabilities at all": { meta: { [CAPABILITIES_KEY]: {} } },
    "a boolean for an extension": { meta: { [CAPABILITIES_KEY]: { extensions: { [TASKS_EXTENSION]: true } } } },
    "an array for extensions": { meta: { [CAPABILITIES_KEY]: { extensions: [] } } },
    "capabilities with depth": { meta: { [CAPABILITIES_KEY]: { ...TASKS, roots: { listChanged: true } } } },
    "a string for a capability": { meta: { [CAPABILITIES_KEY]: { ...TASKS, sampling: "yes" } } },
    "a string for roots.listChanged": { meta: { [CAPABILITIES_KEY]: { ...TASKS, roots: { listChanged: "yes" } } } },
    "no client": { meta: { [CLIENT_INFO_KEY]: undefined } },
    "null for a client": { meta: { [CLIENT_INFO_KEY]: null } },
    "a client without a version": { meta: { [CLIENT_INFO_KEY]: { name: "n" } } },
    "a number for a client's title": { meta: { [CLIENT_INFO_KEY]: { ...info, title: 7 } } },
    "a client with a site": { meta: { [CLIENT_INFO_KEY]: { ...info, websiteUrl: "https://example.com" } } },
    "a client with icons that are none": { meta: { [CLIENT_INFO_KEY]: { ...info, icons: "none" } } },
    "a progress token": { meta: { progressToken: "p" } },
    "a progress token that is none": { meta: { progressToken: {} } },
    "a log level": { meta: { "io.modelcontextprotocol/logLevel": "debug" } },
    "a log level that is none": { meta: { "io.modelcontextprotocol/logLevel": "shout" } },
    "a trace": { meta: { traceparent: "00-0-0-0" } },
    "request state": { params: { requestState: "s" } },
    "request state that is none": { params: { requestState: 7 } },
    "text for a content type": { headers: { "content-type": "text/plain" } },
    "no content type": { headers: { "content-type": undefined } },
    "a content type with a charset": { headers: { "content-type": "Application/JSON; charset=utf-8" } },
    "a JSON-like content type": { headers: { "content-type": "application/json-patch+json" } },
    "no accept header": { headers: { accept: undefined } },
    "an accept header for pages": { headers: { accept: "text/html" } },
  };
  type Headered = { [name: string]: string | undefined };

  const methods: { [method: string]: JsonObject } = {
    "tasks/get": {},
    "tasks/update": { inputResponses: {} },
    "tasks/cancel": {},
  };

  async function ask(rpc: Rpc, method: string, taskId: string, how: (typeof odd)[string]): Promise<unknown> {
    const params = { taskId, ...methods[method], ...how.params, _meta: { ...meta, ...how.meta } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params, ...how.body });
    const headers: Headered = {
      "mcp-protocol-version": REVISION,
      "mcp-method": method,
      "mcp-name": taskId,
      ...how.headers,
    };
    if (headers["mcp-name"]?.trim() === "taskId") headers["mcp-name"] = ` ${taskId} `;
    const response = await rpc.post(body, { headers });
    if (response.body === null || response.status === 202) return [response.status];
    const { status, message } = await readReply(response);
    return [status, message];
  }

  for (const method of Object.keys(methods)) {
    // A cancelled task answers everything alike, which would tell less: cancelling is compared on unknown tasks.
    it(`on ${method}, however it is put`, () =>
      withBoth(async ({ sdk, fast, taskId }) => {
        const id = method === "tasks/cancel" ? "nobody" : taskId;
        const differ: unknown[] = [];
        for (const [what, how] of Object.entries(odd)) {
          const [ours, sdks] = [await ask(fast, method, id, how), await ask(sdk, method, id, how)];
          if (!isDeepStrictEqual(ours, sdks)) differ.push([what, ours, sdks]);
        }
        assert.deepEqual(differ, []);
      }));
  }

  it("on a task that is cancelled, and one that was", () =>
    withBoth(async ({ sdk, fast, taskId }) => {
      assert.deepEqual(await ask(fast, "tasks/cancel", taskId, {}), await ask(sdk, "tasks/cancel", taskId, {}));
      assert.deepEqual(await ask(fast, "tasks/get", taskId, {}), await ask(sdk, "tasks/get", taskId, {}));
    }));

  it("on answers, fitting and not", () =>
    withBoth(async ({ sdk, fast, taskId }) => {
      const key = onlyKey(await fast.questions(taskId));
      const wrong = [
        { [key]: { roots: "none" } },
        { [key]: {} },
        { [key]: null },
        { [key]: "text" },
        { [key]: { method: "x" } },
        { [key]: { result: {}, roots: 7 } },
        { other: null },
        {},
        null,
        [],
        7,
        undefined,
      ];
      for (const inputResponses of wrong) {
        const how = { params: { inputResponses } };
        const answers = [await ask(fast, "tasks/update", taskId, how), await ask(sdk, "tasks/update", taskId, how)];
        // The reason why an answer does not fit may be told in other words.
        const [ours, sdks] = answers.map((answer): unknown => {
          const json = JSON.stringify(answer).replaceAll(/"(message|reason)":"([^"\\]|\\.)*"/g, '"$1":""');
          return JSON.parse(json);
        });
        assert.deepEqual(ours, sdks, JSON.stringify(inputResponses));
      }
      assert.equal(onlyKey(await fast.questions(taskId)), key, "it is still open");
      const right = { params: { inputResponses: { [key]: { roots: [] } } } };
      assert.deepEqual(await ask(fast, "tasks/update", taskId, right), await ask(sdk, "tasks/update", taskId, right));
    }));

  it("on bodies that are no message", () =>
    withBoth(async ({ sdk, fast }) => {
      const plain = { jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId: "nobody", _meta: meta } };
      const bodies = ["", " ", "{", "null", "7", '"text"', "[]", "[1]", "{}", "\uFEFF{}", "\u0000"];
      bodies.push(JSON.stringify([plain]), JSON.stringify([plain, plain]), `${JSON.stringify(plain)}x`);
      bodies.push(JSON.stringify({ jsonrpc: "2.0", id: 1, result: {} }), `\uFEFF${JSON.stringify(plain)}`);
      bodies.push(JSON.stringify(plain).replace('"id":1', '"id":1,"id":2'), JSON.stringify(plain).replace("1", "1e0"));
      const headers = { "mcp-protocol-version": REVISION, "mcp-method": "tasks/get", "mcp-name": "nobody" };
      for (const [at, body] of bodies.entries()) {
        const answers = await Promise.all(
          [fast, sdk].map(async (rpc) => {
            const response = await rpc.post(body, { headers });
            return [response.status, await response.text()];
          }),
        );
        assert.deepEqual(answers[0], answers[1], `body ${at}: ${body}`);
      }
      const broken = new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
      const answers = await Promise.all(
        [fast, sdk].map(async (rpc) => {
          const response = await rpc.post(broken, { headers });
          return [response.status, await response.text()];
        }),
      );
      assert.deepEqual(answers[0], answers[1]);
    }));

  it("on listening, but for what tasks add to it", () =>
    withBoth(async ({ sdk, fast }) => {
      const filters = [undefined, null, 7, [], {}, { toolsListChanged: "yes" }, { resourceSubscriptions: "all" }];
      for (const notifications of filters) {
        const [ours, sdks] = await Promise.all(
          [fast, sdk].map((rpc) => rpc.request("subscriptions/listen", { notifications }, { id: 1 })),
        );
        assert.deepEqual([ours?.status, ours?.message], [sdks?.status, sdks?.message], JSON.stringify(notifications));
        assert.deepEqual(ours?.notifications, sdks?.notifications);
      }
      const differ: unknown[] = [];
      for (const [what, how] of Object.entries(odd)) {
        if (what === "nothing odd" || how.params !== undefined || how.headers?.["mcp-name"] !== undefined) continue;
        const listen = async (rpc: Rpc, notifications: JsonObject) => {
          const params = { notifications, _meta: { ...meta, ...how.meta } };
          const message = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params, ...how.body };
          const headers = { "mcp-protocol-version": REVISION, "mcp-method": "subscriptions/listen", ...how.headers };
          const response = await rpc.post(JSON.stringify(message), { headers });
          if (response.body === null || response.status === 202) return [response.status];
          const reply = await readReply(response);
          return [reply.status, reply.message, reply.notifications.length];
        };
        const ours = await listen(fast, { taskIds: ["nobody"] });
        const sdks = await listen(sdk, {});
        const expected = what === "no capabilities at all" ? [400, MISSING, 0] : sdks;
        if (!isDeepStrictEqual(ours, expected)) differ.push([what, ours, expected]);
      }
      assert.deepEqual(differ, []);
    }));
});

describe("a client of an older revision", () => {
  it(
    "gets plain results, in a session of one request",
    withHost({ tools }, async ({ served, rpc }) => {
      const post = async (method: string, params: JsonObject) => {
        const response = await rpc.post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
        return (await readReply(response)).message;
      };
      const clientInfo = { name: "old", version: "1" };
      const { result } = await post("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
      assert.equal((result as JsonObject)["protocolVersion"], "2025-11-25");
      assert.equal(textOf((await post("tools/call", { name: "quick", arguments: {} }))["result"]), "done");
      const required = await post("tools/call", { name: "external", arguments: {} });
      assert.equal((required["error"] as JsonObject)["code"], -32021);
      assert.ok(served.port > 0);
    }),
  );

  it(
    "that cannot be asked is told so, and nothing hangs",
    withHost(
      { tools: (host) => host.tool("asks", {}, async (_input, task) => JSON.stringify(await task.roots())) },
      async ({ rpc }) => {
        const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "asks", arguments: {} } };
        const { message } = await readReply(await rpc.post(JSON.stringify(body)));
        assert.equal((message["error"] as JsonObject)["code"], -32021);
      },
    ),
  );
});

/** Collects garbage, where the runtime lets a test do so. */
function garbageCollector(): (() => void) | undefined {
  switch (runningOn()) {
    case "bun":
      return () => (globalThis as unknown as { Bun: { gc(force: boolean): void } }).Bun.gc(true);
    case "node":
      setFlagsFromString("--expose-gc");
      return runInNewContext("gc") as () => void;
    case "deno":
      return undefined;
  }
}

const collect = garbageCollector();
if (collect !== undefined) {
  describe("a task", () => {
    it(
      "holds on to nothing of the request that made it",
      withHost({ tools }, async ({ host }) => {
        let collected = 0;
        const registry = new FinalizationRegistry(() => (collected += 1));
        const rpc = new Rpc({
          fetch: (request) => {
            registry.register(request, undefined);
            return host.fetch(request);
          },
        });
        const count = 20;
        const tasks = await Promise.all(Array.from({ length: count }, () => rpc.task("external")));
        // The very last may still be on some stack.
        await until(() => {
          collect();
          return collected >= count - 2;
        }, "the requests to be collected");
        for (const { taskId } of tasks) await host.task(taskId).complete();
      }),
    );
  });
}
