// A host's tasks in its registry: listed while they are open, and told of once they are stored.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { DetailedTask, Host, JsonObject, TaskEntry, TaskStore } from "../../src/mod.ts";
import { createHost, createRegistry, createTasks, memory } from "../../src/mod.ts";
import { FakeClock, turn } from "../support/clock.ts";
import { withHost } from "../support/hosting.ts";
import { LinkedPeer } from "../support/linked.ts";
import { Rpc, accept, onlyKey } from "../support/rpc.ts";
import { until } from "../support/until.ts";

const tools = (host: Host) => {
  host.tool("quick", {}, () => "done");
  host.tool("external", { task: "required" }, (_input, task) => task.external());
  host.tool("asks", { task: "required" }, async (_input, task) => {
    const { name } = await task.elicit("Who?", z.object({ name: z.string() }));
    task.status(`greeting ${name}`);
    return `Hello, ${name}`;
  });
};

/** Notes what a registry tells, each as the task's status and what it says. */
function noted(entries: TaskEntry[]): string[] {
  return entries.map(({ task }) => [task.status, task.statusMessage].filter(Boolean).join(" "));
}

/** A store that does something otherwise than another. */
function changed(inner: TaskStore, otherwise: Partial<TaskStore>): TaskStore {
  return {
    create: (record, quota) => inner.create(record, quota),
    get: (taskId) => inner.get(taskId),
    put: (task) => inner.put(task),
    delete: (taskId) => inner.delete(taskId),
    due: (now, limit) => inner.due(now, limit),
    nextDue: () => inner.nextDue(),
    count: () => inner.count(),
    close: () => inner.close(),
    ...otherwise,
  };
}

describe("a host's registry", () => {
  it(
    "tells of a task's creation, its changes and its end, and lists it meanwhile",
    withHost({ tools }, async ({ host, rpc }) => {
      const told: TaskEntry[] = [];
      const end = host.registry.watch((entry) => told.push(entry));
      await rpc.call("quick");
      assert.deepEqual([told, host.registry.list()], [[], []]);
      const { taskId } = await rpc.task("asks");
      assert.deepEqual(noted(told), ["working", "input_required"]);
      const [listed] = host.registry.list();
      const task = await rpc.get(taskId);
      const { resultType: _type, _meta, ...plain } = task as unknown as JsonObject;
      assert.deepEqual(listed, { role: "hosted", tool: "asks", task: plain });
      assert.deepEqual(told[1], listed);
      await rpc.update(taskId, { [onlyKey(await rpc.questions(taskId))]: accept({ name: "Ann" }) });
      await until(() => told.at(-1)?.task.status === "completed", "the end");
      assert.deepEqual(noted(told).slice(2, 4), ["working", "working greeting Ann"]);
      assert.deepEqual(host.registry.list(), []);
      end();
      const count = told.length;
      await rpc.task("external");
      assert.equal(told.length, count);
      assert.deepEqual(host.registry.list().map(({ tool }) => tool), ["external"]);
    }),
  );

  it(
    "says whom a task belongs to",
    withHost(
      {
        tools,
        options: {
          auth: () => ({ token: "t", clientId: "c", scopes: [], extra: { sub: "ann" } }),
          principal: ({ extra }) => String(extra?.["sub"]),
        },
      },
      async ({ host, rpc }) => {
        const told: TaskEntry[] = [];
        host.registry.watch((entry) => told.push(entry));
        await rpc.cancel((await rpc.task("external")).taskId);
        assert.deepEqual(
          told.map(({ principal, task }) => [principal, task.status]),
          [
            ["ann", "working"],
            ["ann", "cancelled"],
          ],
        );
      },
    ),
  );

  it("tells what is stored and nothing else, and never before", async () => {
    const inner = memory();
    const stored = new Map<string, string>();
    const store = changed(inner, {
      create: async (record, quota) => {
        await inner.create(record, quota);
        await turn(1);
        stored.set(record.taskId, record.status);
      },
      put: async (record) => {
        if (record.status === "cancelled" && stored.get(record.taskId) !== "tried") {
          stored.set(record.taskId, "tried");
          throw new Error("full");
        }
        await inner.put(record);
        await turn(1);
        stored.set(record.taskId, record.status);
      },
    });
    const errors: unknown[] = [];
    const clock = new FakeClock();
    const host = createHost({ name: "h", version: "1", store, clock, onError: (error) => errors.push(error) });
    tools(host);
    const told: string[] = [];
    host.registry.watch(({ task }) => {
      assert.equal(stored.get(task.taskId), task.status);
      told.push(task.status);
    });
    const rpc = new Rpc(host);
    const { taskId } = await rpc.task("external");
    await rpc.error("tasks/cancel", { taskId });
    assert.deepEqual(told, ["working"]);
    await clock.advance(1_000);
    await until(() => told.length === 2, "the end to be stored");
    assert.deepEqual(told, ["working", "cancelled"]);
    assert.match(String(errors[0]), /full/);
    await host.close();
  });

  it("tells of tasks woken from the store, and of those that expire there", async () => {
    const store = memory();
    const clock = new FakeClock();
    // A process that is gone: its store stays.
    const kept = changed(store, { close: () => Promise.resolve() });
    const first = createHost({ name: "h", version: "1", store: kept, clock, ttlMs: 60_000 });
    tools(first);
    const ids = [(await new Rpc(first).task("external")).taskId, (await new Rpc(first).task("external")).taskId];
    await first.close();

    const registry = createRegistry();
    const host = createHost({ name: "h", version: "1", store, clock, ttlMs: 60_000, registry });
    assert.equal(host.registry, registry);
    tools(host);
    const told: [string, DetailedTask["status"]][] = [];
    registry.watch(({ task }) => told.push([task.taskId, task.status]));
    const [cancelled = "", expired = ""] = ids;
    await host.task(cancelled).status("woken");
    assert.deepEqual(registry.list().map(({ task }) => task.taskId), [cancelled]);
    await new Rpc(host).cancel(cancelled);
    await clock.advance(60_000);
    assert.deepEqual(told, [
      [cancelled, "working"],
      [cancelled, "cancelled"],
      [expired, "failed"],
    ]);
    await host.close();
  });

  it("is shared: by hosts, and by servers that were there already", async () => {
    const registry = createRegistry();
    const hosts = ["one", "other"].map((name) => createHost({ name, version: "1", registry }));
    const tasks = createTasks({ registry });
    assert.equal(tasks.registry, registry);
    const peers = hosts.map((host) => {
      tools(host);
      return new LinkedPeer(host);
    });
    const told: string[] = [];
    registry.watch(({ task }) => told.push(task.status));
    for (const peer of peers) await peer.task("external");
    assert.equal(registry.list().length, 2);
    await hosts[0]?.close();
    assert.equal(registry.list().length, 1);
    await hosts[1]?.close();
    await tasks.close();
    assert.deepEqual(registry.list(), []);
    assert.equal(createTasks().registry.list().length, 0);
    // Work elsewhere goes on when a host closes.
    assert.deepEqual(told, ["working", "working"]);
  });

  it(
    "is harmed by no listener, and harms no task",
    withHost({ tools }, async ({ host, rpc }) => {
      host.registry.watch(() => {
        throw new Error("cannot");
      });
      const { taskId } = await rpc.task("external");
      await host.task(taskId).complete("done");
      assert.equal((await rpc.get(taskId)).status, "completed");
    }),
  );
});
