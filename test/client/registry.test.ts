// One registry for the tasks that a process hosts and those that it follows on other servers.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TaskEntry } from "../../src/client/mod.ts";
import { createTaskClient } from "../../src/client/mod.ts";
import { createHost, createRegistry } from "../../src/mod.ts";
import { turn } from "../support/clock.ts";
import { expectOutcome, form, named, textOf, withDifficult } from "../support/following.ts";
import { gate } from "../support/until.ts";

const SECOND = 1_000;

/** What an entry says, in short. */
function short({ role, task, tool, server }: TaskEntry): string {
  return [role, task.taskId, task.status, task.statusMessage, tool, server].filter((part) => part !== undefined).join(" ");
}

describe("the registry of a client", () => {
  it(
    "lists the tasks that are followed, with their tool and server, until they end or are left",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      assert.deepEqual(client.registry.list(), []);
      const one = await begin({ mode: "poll" });
      const two = await begin({ mode: "auto" });
      server.make("known");
      const known = client.follow("known", { mode: "poll" });
      await pass(SECOND);
      assert.deepEqual(client.registry.list().map(short), [
        "followed task-1 working work difficult",
        "followed task-2 working work difficult",
        "followed known working difficult",
      ]);
      server.complete(one.taskId);
      await pass(SECOND);
      two.pending.detach();
      assert.deepEqual(client.registry.list().map(short), ["followed known working difficult"]);
      known.detach();
      assert.deepEqual(client.registry.list(), []);
    }),
  );

  it(
    "tells every change once, the last one included, to all who watch",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      const heard: string[] = [];
      const unwatch = client.registry.watch((entry) => heard.push(short(entry)));
      client.registry.watch(() => assert.fail("a listener that throws"));
      const late: string[] = [];
      const { pending, taskId } = await begin({ mode: "poll", input: { form: () => named("Ann") } });
      await pass(2 * SECOND);
      client.registry.watch((entry) => late.push(short(entry)));
      server.change(taskId, { statusMessage: "half" });
      await pass(2 * SECOND);
      server.ask(taskId, { q: form() });
      await pass(2 * SECOND);
      server.complete(taskId);
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
      const changes = [
        "followed task-1 working half work difficult",
        "followed task-1 input_required half work difficult",
        "followed task-1 working half work difficult",
        "followed task-1 completed half work difficult",
      ];
      assert.deepEqual(heard, ["followed task-1 working work difficult", ...changes]);
      assert.deepEqual(late, changes);
      unwatch();
      const other = await begin({ mode: "poll" });
      server.complete(other.taskId);
      await pass(SECOND);
      await other.pending.outcome();
      assert.equal(heard.length, 5);
    }),
  );

  it(
    "has nothing of a call that is answered inline, and nothing more once the client is closed",
    withDifficult({}, async ({ client, begin }) => {
      const heard: string[] = [];
      client.registry.watch((entry) => heard.push(short(entry)));
      await client.callTool({ name: "inline" });
      assert.deepEqual(heard, []);
      await begin({ mode: "poll" });
      assert.equal(client.registry.list().length, 1);
      await client.close();
      assert.deepEqual(client.registry.list(), []);
    }),
  );

  it(
    "may be shared with a host and other clients: one stream covers all",
    withDifficult({}, async ({ server, clock, target }) => {
      const registry = createRegistry();
      const end = gate();
      const host = createHost({ name: "own", version: "1.0.0", registry, clock, onError: () => {} });
      host.tool("hosted", { task: "required" }, async (_input, task) => {
        task.status("at it");
        await end.opened;
        return "hosted too";
      });
      const followed = createTaskClient(target, { registry, clock });
      const own = createTaskClient(host, { registry, clock });
      assert.equal(host.registry, registry);
      assert.equal(followed.registry, registry);
      const heard: string[] = [];
      registry.watch(({ role, task, tool }) => heard.push(`${role} ${tool} ${task.status}`));

      const one = followed.beginCallTool({ name: "work" }, { mode: "poll" });
      await one.created;
      const two = own.beginCallTool({ name: "hosted" }, { mode: "auto" });
      await two.created;
      await clock.advance(500);
      const list = registry.list().map(({ role, tool }) => `${role} ${tool}`);
      assert.deepEqual(list.toSorted(), ["followed hosted", "followed work", "hosted hosted"]);

      end.open();
      server.complete("task-1");
      await clock.advance(5 * SECOND);
      assert.equal(textOf(await one.outcome()), "done");
      assert.equal(textOf(await two.outcome()), "hosted too");
      assert.deepEqual(
        heard.filter((words) => words.endsWith("completed")).toSorted(),
        ["followed hosted completed", "followed work completed", "hosted hosted completed"],
      );
      assert.deepEqual(registry.list().filter(({ role }) => role === "followed"), []);
      await followed.close();
      await own.close();
      await host.close();
      assert.deepEqual(registry.list(), []);
    }),
  );

  it(
    "tells of a task's failure and cancellation",
    withDifficult({}, async ({ server, client, begin, pass }) => {
      const heard: string[] = [];
      client.registry.watch((entry) => heard.push(short(entry)));
      const failed = await begin({ mode: "auto" });
      const cancelled = await begin({ mode: "auto" });
      await pass(SECOND);
      server.change(failed.taskId, { status: "failed", error: { code: -1, message: "no" } });
      const cancelling = cancelled.pending.cancel();
      await turn(3);
      await cancelling;
      await pass(SECOND);
      expectOutcome(await failed.pending.outcome(), "failed");
      expectOutcome(await cancelled.pending.outcome(), "cancelled");
      assert.deepEqual(heard.slice(2), [
        "followed task-1 failed work difficult",
        "followed task-2 cancelled work difficult",
      ]);
    }),
  );
});
