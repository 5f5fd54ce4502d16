// Who may do what: the auth hook, and that another's task is like none at all.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OAuthError, OAuthErrorCode, requireBearerAuth } from "@modelcontextprotocol/server";
import type { AuthInfo } from "@modelcontextprotocol/server";
import type { Host, JsonObject } from "../../src/mod.ts";
import { createHost } from "../../src/mod.ts";
import { takeReports, withHost } from "../support/hosting.ts";
import type { Rpc } from "../support/rpc.ts";
import { Rpc as Client, onlyKey, textOf } from "../support/rpc.ts";

const UNKNOWN = "786512e2-9e0d-44bd-8f29-789f320fe840";

/** Tokens of `client:user`, good for an hour, but for one that is not. */
const auth = requireBearerAuth({
  requiredScopes: ["tasks"],
  verifier: {
    verifyAccessToken: async (token): Promise<AuthInfo> => {
      const [clientId, sub] = token.split(":");
      if (clientId === undefined || sub === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, "Unknown");
      const expiresAt = Math.floor(Date.now() / 1_000) + (sub === "late" ? -1 : 3_600);
      return { token, clientId, scopes: sub === "guest" ? [] : ["tasks"], expiresAt, extra: { sub } };
    },
  },
});

const tools = (host: Host) => {
  host.tool("whoami", {}, (_input, task) => String(task.principal));
  host.tool("external", { task: "required" }, (_input, task) => task.external());
  host.tool("asks", { task: "required" }, async (_input, task) => String((await task.roots()).length));
  host.tool("asks_inline", { task: "forbidden" }, async (_input, task) => {
    return `${(await task.roots()).length} for ${task.principal}`;
  });
};

/** A client with a token. */
const as = (rpc: Rpc, token: string) => rpc.as({ headers: { authorization: `Bearer ${token}` } });

describe("the auth hook", () => {
  it(
    "refuses with its own response whoever has no good token, on every method",
    withHost({ tools, options: { auth } }, async ({ rpc }) => {
      const cases = [
        [rpc, 401, "invalid_token"],
        [as(rpc, "nonsense"), 401, "invalid_token"],
        [as(rpc, "app:late"), 401, "invalid_token"],
        [as(rpc, "app:guest"), 403, "insufficient_scope"],
        [rpc.as({ headers: { authorization: "Basic YTpi" } }), 401, "invalid_token"],
      ] as const;
      for (const [client, status, code] of cases) {
        for (const [method, params] of Object.entries({
          "tools/call": { name: "whoami" },
          "tools/list": {},
          "tasks/get": { taskId: UNKNOWN },
          "subscriptions/listen": { notifications: { taskIds: [UNKNOWN] } },
        })) {
          const reply = await client.request(method, params);
          assert.equal(reply.status, status, method);
          assert.equal(reply.message["error"], code);
          assert.match(String(reply.headers.get("www-authenticate")), /^Bearer /);
        }
      }
    }),
  );

  it(
    "gives the principal: by default the token's subject with its client, or as the host says",
    withHost({ tools, options: { auth } }, async ({ rpc }) => {
      assert.equal(textOf(await as(rpc, "app:ann").call("whoami")), '["app","ann"]');
    }),
  );

  it(
    "gives the principal that the host makes of it",
    withHost(
      { tools, options: { auth, principal: ({ extra }) => String(extra?.["sub"]) } },
      async ({ rpc }) => {
        assert.equal(textOf(await as(rpc, "app:ann").call("whoami")), "ann");
        // The same person with another program.
        const { taskId } = await as(rpc, "app:ann").task("external");
        assert.equal((await as(rpc, "web:ann").get(taskId)).status, "working");
      },
    ),
  );

  const broken: { [what: string]: [() => AuthInfo, RegExp] } = {
    "that throws": [
      () => {
        throw new Error("the secret store is down");
      },
      /^-: the secret store is down$/,
    ],
    "that says nothing": [() => undefined as unknown as AuthInfo, /^-: auth gives who it is, or the response/],
    "that says no by null": [() => null as unknown as AuthInfo, /^-: auth gives who it is, or the response/],
  };
  for (const [what, [auth, report]] of Object.entries(broken)) {
    it(
      `${what} refuses the request, without its insides, and tells the host's author`,
      withHost({ tools, options: { auth } }, async ({ rpc, reported }) => {
        const { error: log } = console;
        const logged: unknown[] = [];
        console.error = (...args: unknown[]) => logged.push(...args);
        try {
          const { status, message } = await rpc.request("tools/call", { name: "whoami" });
          assert.equal(status, 500);
          assert.deepEqual(message, { jsonrpc: "2.0", error: { code: -32603, message: "Internal error" }, id: null });
        } finally {
          console.error = log;
        }
        assert.match(takeReports(reported).join(), report);
        assert.deepEqual(logged, []);
      }),
    );
  }

  it(
    "comes after the checks of Host and Origin",
    withHost({ tools, options: { auth } }, async ({ rpc }) => {
      const headers = { origin: "https://evil.example", authorization: "Bearer app:ann" };
      assert.equal((await rpc.request("tools/list", {}, { headers })).status, 403);
    }),
  );

  it("may be one's own, in front of the bare endpoint", async () => {
    const host = createHost({ name: "behind", version: "1" });
    tools(host);
    const authInfo = (name: string): AuthInfo => ({ token: "t", clientId: name, scopes: [] });
    const of = (name: string) => new Client({ fetch: (request) => host.handle(request, { authInfo: authInfo(name) }) });
    assert.equal(textOf(await of("ann").call("whoami")), '["ann"]');
    const { taskId } = await of("ann").task("external");
    assert.equal((await of("ann").get(taskId)).status, "working");
    assert.equal((await of("bea").error("tasks/get", { taskId })).code, -32602);
    await host.close();
  });
});

describe("another's task", () => {
  const everybody = { tools, options: { auth } };

  it(
    "is answered like one that does not exist, on every method and to the letter",
    withHost(everybody, async ({ rpc }) => {
      const ann = as(rpc, "app:ann");
      const { taskId } = await ann.task("asks");
      const key = onlyKey(await ann.questions(taskId));
      const strangers = ["app:bea", "web:ann", "APP:ann", 'app:ann"]', "ann:app"];
      for (const stranger of strangers.map((token) => as(rpc, token))) {
        for (const [method, more] of Object.entries({
          "tasks/get": {},
          "tasks/update": { inputResponses: { [key]: { roots: [] } } },
          "tasks/cancel": {},
        })) {
          const theirs = await stranger.request(method, { taskId, ...more }, { id: 1 });
          const nobodys = await stranger.request(method, { taskId: UNKNOWN, ...more }, { id: 1 });
          assert.deepEqual([theirs.status, theirs.message], [nobodys.status, nobodys.message]);
          assert.equal((theirs.message["error"] as JsonObject)["code"], -32602);
        }
        const { acknowledged, events } = await stranger.listen({ taskIds: [taskId] });
        assert.deepEqual(acknowledged.notifications, {});
        assert.equal((await events.rest()).length, 1);
      }
      assert.equal(onlyKey(await ann.questions(taskId)), key, "nobody changed anything");
    }),
  );

  it(
    "stays out of the acknowledgement and the stream of who may see others",
    withHost(everybody, async ({ rpc, host }) => {
      const ann = as(rpc, "app:ann");
      const bea = as(rpc, "app:bea");
      const { taskId: anns } = await ann.task("external");
      const { taskId: beas } = await bea.task("external");
      const { acknowledged, events } = await bea.listen({ taskIds: [anns, beas, UNKNOWN] });
      assert.deepEqual(acknowledged.notifications, { taskIds: [beas] });
      await host.task(anns).status("for Ann alone");
      await host.task(anns).complete();
      await host.task(beas).complete();
      const about = (await events.rest()).slice(0, -1).map(({ params }) => (params as JsonObject)["taskId"]);
      assert.deepEqual([...new Set(about)], [beas]);
    }),
  );

  it(
    "is hidden even when it has expired",
    withHost(
      { tools, options: { auth, ttlMs: 1_000, retainMs: 1, tombstoneMs: 60_000 } },
      async ({ rpc, clock }) => {
        const { taskId } = await as(rpc, "app:ann").task("external");
        await clock.advance(1_100);
        assert.match((await as(rpc, "app:ann").error("tasks/get", { taskId })).message, /has expired$/);
        assert.match((await as(rpc, "app:bea").error("tasks/get", { taskId })).message, /not found$/);
      },
    ),
  );

  it(
    "is hidden from whoever comes without any authentication",
    withHost({ tools }, async ({ host, rpc }) => {
      const authInfo: AuthInfo = { token: "t", clientId: "ann", scopes: [] };
      const ann = new Client({ fetch: (request) => host.handle(request, { authInfo }) });
      const { taskId } = await ann.task("external");
      assert.equal((await rpc.error("tasks/get", { taskId })).code, -32602);
      const open = await rpc.task("external");
      assert.equal((await ann.error("tasks/get", { taskId: open.taskId })).code, -32602);
    }),
  );

  it(
    "cannot be answered for in a plain call's round either",
    withHost(everybody, async ({ rpc }) => {
      const ann = as(rpc, "app:ann");
      const first = await ann.call("asks_inline");
      const retry = {
        name: "asks_inline",
        arguments: {},
        requestState: first["requestState"],
        inputResponses: { [onlyKey(first["inputRequests"] as object)]: { roots: [] } },
      };
      const stolen = await as(rpc, "app:bea").error("tools/call", retry);
      assert.deepEqual([stolen.code, stolen.message], [-32602, "Invalid or expired requestState"]);
      assert.equal(textOf(await ann.result("tools/call", retry)), '0 for ["app","ann"]');
    }),
  );

  it(
    "counts for its own principal's quota alone",
    withHost({ tools, options: { auth, limits: { tasksPerPrincipal: 2 } } }, async ({ rpc }) => {
      const ann = as(rpc, "app:ann");
      await ann.task("external");
      await ann.task("external");
      assert.deepEqual(await ann.error("tools/call", { name: "external" }), {
        code: -32603,
        message: "You have as many tasks as you may. Try again later.",
        data: { reason: "quota_exceeded", retryable: true },
      });
      await as(rpc, "app:bea").task("external");
    }),
  );
});

describe("a principal that cannot be told", () => {
  it(
    "refuses the request, on every method, and tells the host's author",
    withHost(
      {
        tools,
        options: {
          auth,
          principal: () => {
            throw new Error("no principal today");
          },
        },
      },
      async ({ rpc, reported }) => {
        const ann = as(rpc, "app:ann");
        for (const [method, params] of Object.entries({
          "tools/call": { name: "whoami" },
          "tasks/get": { taskId: UNKNOWN },
          "tasks/cancel": { taskId: UNKNOWN },
          "subscriptions/listen": { notifications: { taskIds: [UNKNOWN] } },
        })) {
          assert.deepEqual(await ann.error(method, params), { code: -32603, message: "Internal error" }, method);
          assert.match(takeReports(reported).join(), /no principal today$/);
        }
      },
    ),
  );

  it(
    "or is no text refuses the request too, rather than to take it for nobody's",
    withHost(
      { tools, options: { auth, principal: () => undefined as unknown as string } },
      async ({ rpc, reported }) => {
        const ann = as(rpc, "app:ann");
        assert.equal((await ann.error("tools/call", { name: "whoami" })).code, -32603);
        assert.equal((await ann.error("tasks/get", { taskId: UNKNOWN })).code, -32603);
        assert.deepEqual(
          takeReports(reported).map((report) => /principal/.test(report)),
          [true, true],
        );
      },
    ),
  );
});
