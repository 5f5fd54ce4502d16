// Faults that other implementations had about whose a task is, turned round.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Host, JsonObject } from "../../src/mod.ts";
import { memory } from "../../src/mod.ts";
import { gate, until } from "../support/until.ts";
import { takeReports, withHost } from "../support/hosting.ts";
import type { Rpc } from "../support/rpc.ts";
import { accept, onlyKey, textOf } from "../support/rpc.ts";

/** Who is who by a header, as if a token had been verified. */
function auth(request: Request): AuthInfo {
  return { token: "t", clientId: request.headers.get("x-who") ?? "nobody", scopes: [] };
}

const Name = z.object({ name: z.string() });

const tools = (host: Host) => {
  host.tool("asks", { task: "required" }, async (_input, task) => (await task.elicit("Who?", Name)).name);
  host.tool("asks_inline", { task: "forbidden" }, async (_input, task) => (await task.elicit("Who?", Name)).name);
};

function who(name: string): { headers: Record<string, string> } {
  return { headers: { "x-who": name } };
}

/** Everything that a client can do with an id, as what it is told. */
async function tryAll(rpc: Rpc, taskId: string): Promise<unknown[]> {
  const told: unknown[] = [];
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    const params: JsonObject = method === "tasks/update" ? { taskId, inputResponses: { "elicit-1": accept() } } : { taskId };
    const { status, message, headers } = await rpc.request(method, params);
    told.push([method, status, message["error"], [...headers.keys()].filter((name) => name !== "date").toSorted()]);
  }
  const { acknowledged, events } = await rpc.listen({ taskIds: [taskId] });
  told.push(acknowledged.notifications, (await events.rest()).length);
  return told;
}

describe("a foreign principal", () => {
  it(
    "gets not-found on every method, word for word as for an id that never was (typescript-sdk#1486)",
    withHost({ tools, options: { auth } }, async ({ rpc, clock, host }) => {
      const ada = rpc.as(who("ada"));
      const bob = rpc.as(who("bob"));
      const { taskId } = await ada.task("asks");
      await until(() => host.sizes.taken === 0, "the question");
      const unknown = await tryAll(bob, "x".repeat(taskId.length));
      assert.deepEqual(await tryAll(bob, taskId), unknown);
      const [got] = unknown as [unknown[]];
      assert.deepEqual(got.slice(1, 3), [200, { code: -32602, message: "Failed to retrieve task: Task not found" }]);
      assert.equal((await ada.get(taskId)).status, "input_required", "nothing happened to it");
      // Nor does its end, its expiry or its tombstone tell.
      await ada.cancel(taskId);
      assert.deepEqual(await tryAll(bob, taskId), unknown);
      await clock.advance(3_600_000 + 60_000);
      assert.match((await ada.error("tasks/get", { taskId })).message, /Task has expired$/);
      assert.deepEqual(await tryAll(bob, taskId), unknown);
      await clock.advance(3_600_000);
      assert.deepEqual(await tryAll(ada, taskId), unknown, "in the end it is like any other to all");
    }),
  );

  it(
    "cannot go on with another's call by its requestState, nor use it up",
    withHost({ tools, options: { auth } }, async ({ rpc, host }) => {
      const ada = rpc.as(who("ada"));
      const asked = await ada.call("asks_inline");
      const requestState = asked["requestState"] as string;
      const inputResponses = { [onlyKey(asked["inputRequests"] as object)]: accept({ name: "Ada" }) };
      const params = { name: "asks_inline", arguments: {}, requestState, inputResponses };
      const bob = await rpc.as(who("bob")).error("tools/call", params);
      const forged = await ada.error("tools/call", { ...params, requestState: `${requestState.slice(1)}x` });
      assert.deepEqual(bob, forged);
      assert.equal(bob.code, -32602);
      assert.equal(textOf(await ada.result("tools/call", params)), "Ada");
      assert.equal((await ada.error("tools/call", params)).code, -32602, "it works once");
      assert.equal(host.sizes.rounds, 0);
    }),
  );
});

describe("a quota", () => {
  it(
    "is per principal, and a create that fails for it leaves nothing (fast-mcp-scala#89)",
    withHost({ tools, options: { auth, limits: { tasksPerPrincipal: 3 } } }, async ({ rpc, host, clock }) => {
      const ada = rpc.as(who("ada"));
      for (let made = 0; made < 3; made += 1) await ada.task("asks");
      await until(() => host.sizes.taken === 0, "the questions");
      const before = host.sizes;
      for (let tries = 0; tries < 20; tries += 1) {
        const error = await ada.error("tools/call", { name: "asks", arguments: {} });
        assert.deepEqual(error.data, { reason: "quota_exceeded", retryable: true });
      }
      assert.deepEqual(host.sizes, before);
      await rpc.as(who("bob")).task("asks");
      // What makes room is the end of a task's life, not of its work.
      await clock.advance(3_600_000 + 60_000);
      await ada.task("asks");
    }),
  );
});

describe("a quota that many reach at once", () => {
  const store = memory();
  it(
    "lets as many through as it says, each principal's by itself, and the others leave nothing (fast-mcp-scala#89)",
    withHost({ tools, options: { auth, store, limits: { tasksPerPrincipal: 3 } } }, async ({ rpc, host }) => {
      const callers = Array.from({ length: 20 }, (_none, at) => (at % 2 === 0 ? "ada" : "bob"));
      const answers = await Promise.all(
        callers.map((name) => rpc.as(who(name)).request("tools/call", { name: "asks", arguments: {} })),
      );
      const made = callers.filter((_name, at) => answers[at]?.message["result"] !== undefined);
      assert.deepEqual(made.toSorted(), ["ada", "ada", "ada", "bob", "bob", "bob"]);
      await until(() => host.sizes.taken === 0, "the questions");
      const { live, runs, waiting } = host.sizes;
      assert.deepEqual([live, runs, waiting, await store.count()], [6, 6, 0, 6]);
    }),
  );
});

describe("the handler in the background", () => {
  it("sees the creating principal, long after its request (openchrome#911)", async () => {
    const seen: unknown[] = [];
    const go = gate();
    await withHost(
      {
        options: { auth },
        tools: (host) =>
          host.tool("looks", { task: "required" }, async (_input, task) => {
            seen.push(task.principal);
            await go.opened;
            seen.push(task.principal);
            await task.elicit("Who?", Name);
            seen.push(task.principal);
          }),
      },
      async ({ rpc, host }) => {
        const ada = rpc.as(who("ada"));
        const [{ taskId }] = await Promise.all([ada.task("looks"), rpc.as(who("bob")).task("looks")]);
        go.open();
        await until(() => seen.length === 4, "the handlers to go on");
        await until(() => host.sizes.taken === 0, "the questions");
        const key = onlyKey(await ada.questions(taskId));
        await ada.update(taskId, { [key]: accept({ name: "Ada" }) });
        await until(() => seen.length === 5, "the answer to arrive");
      },
    )();
    const [ada, bob] = ['["ada"]', '["bob"]'];
    for (const pair of [seen.slice(0, 2), seen.slice(2, 4)]) assert.deepEqual(new Set(pair), new Set([ada, bob]));
    assert.equal(seen[4], ada);
  });
});

describe("an error from within", () => {
  it(
    "tells a client nothing of the server's insides",
    withHost(
      {
        tools: (host) =>
          host.tool("breaks", {}, () => {
            throw new Error("password=hunter2 in /srv/secret.ts");
          }),
      },
      async ({ rpc, reported }) => {
        const { message } = await rpc.request("tools/call", { name: "breaks", arguments: {} });
        assert.deepEqual(message["error"], { code: -32603, message: "Internal error" });
        assert.deepEqual(takeReports(reported), ["breaks: password=hunter2 in /srv/secret.ts"]);
      },
    ),
  );
});
