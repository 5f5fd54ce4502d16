// References: what is in them and what is not, whose they are, and what is remembered by them.
import * as fc from "fast-check";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, it } from "node:test";
import { InvalidReferenceError, createTaskClient } from "../../src/client/mod.ts";
import { runProgram } from "../support/child.ts";
import { DifficultServer } from "../support/difficult-server.ts";
import { expectOutcome, form, named, textOf, untilOver, withDifficult } from "../support/following.ts";
import { runs } from "../support/soak.ts";
import { patiently, until } from "../support/until.ts";

const SECOND = 1_000;

/** A reference of one's own making. */
function made(content: unknown, prefix = "errand1_"): string {
  return prefix + Buffer.from(typeof content === "string" ? content : JSON.stringify(content)).toString("base64url");
}

/** What a reference says. */
function read(reference: string): { [key: string]: unknown } {
  assert.match(reference, /^errand1_[\w-]+$/);
  return JSON.parse(Buffer.from(reference.slice("errand1_".length), "base64url").toString()) as { [key: string]: unknown };
}

describe("a reference", () => {
  it(
    "says the server, the task, the tool and what was answered",
    withDifficult({ door: "over HTTP" }, async ({ server, begin, clock, target }) => {
      const { pending, taskId } = await begin({ mode: "poll", input: { form: (_params, { key }) => named(key) } });
      assert.deepEqual(read(pending.reference()), { server: target, taskId, tool: "work", answered: [] });
      server.ask(taskId, { one: form(), two: form() });
      await clock.advance(SECOND);
      await until(() => server.answers.length === 2, "the answers");
      await until(() => (read(pending.reference())["answered"] as string[]).length === 2, "the ledger");
      assert.deepEqual(new Set(read(pending.reference())["answered"] as string[]), new Set(["one", "two"]));
      pending.detach();
      assert.deepEqual(new Set(read(pending.reference())["answered"] as string[]), new Set(["one", "two"]));
    }),
  );

  it("has no credentials in it", async () => {
    const url = "https://ann:s3cret@example.test/mcp?api_key=s3cret#s3cret";
    for (const target of [url, new URL(url), { url, headers: { authorization: "Bearer s3cret" } }]) {
      const client = createTaskClient(target);
      const pending = client.follow("t");
      const reference = pending.reference();
      pending.detach();
      assert.deepEqual(read(reference), { server: "https://example.test/mcp", taskId: "t", answered: [] });
      assert.ok(!Buffer.from(reference.slice(8), "base64url").includes("s3cret"));
      await client.close();
    }
  });

  it(
    "is refused to a call that is no task, or not yet",
    withDifficult({}, async ({ client }) => {
      const inline = client.beginCallTool({ name: "inline" });
      assert.throws(() => inline.reference(), TypeError);
      await inline.result();
      assert.throws(() => inline.reference(), TypeError);
    }),
  );

  for (const door of ["in process", "over stdio"] as const) {
    it(
      `goes by the server's name ${door}`,
      withDifficult({ door }, async ({ server, client, clock, begin }) => {
        const { pending, taskId } = await begin({ mode: "poll" });
        const reference = pending.reference();
        assert.equal(read(reference)["server"], "difficult");
        pending.detach();
        const again = client.resume(reference, { mode: "poll" });
        server.complete(taskId);
        await untilOver(clock, again.outcome());
        assert.equal(textOf(await again.outcome()), "done");

        const foreign = client.resume(made({ server: "somebody else", taskId }), { mode: "poll" });
        const { error } = expectOutcome(await foreign.outcome(), "failed");
        assert.ok(error instanceof InvalidReferenceError);
        assert.match(error.message, /somebody else/);
      }),
    );
  }

  it(
    "of another server is refused before anything is sent",
    withDifficult({ door: "over HTTP" }, async ({ server, client, target }) => {
      const foreign = made({ server: "https://example.test/mcp", taskId: "t", answered: [] });
      assert.throws(() => client.resume(foreign), (error) => {
        assert.ok(error instanceof InvalidReferenceError);
        assert.equal(error.code, "INVALID_REFERENCE");
        assert.match(error.message, /example\.test/);
        return true;
      });
      // Not a mere other way to get in to the same one.
      server.make("t");
      server.complete("t");
      const other = createTaskClient(`${target as string}?token=new`);
      const outcome = await other.resume(made({ server: target, taskId: "t", answered: [] })).outcome();
      assert.equal(textOf(outcome), "done");
      await other.close();
      assert.equal(server.count("tasks/get"), 1);
    }),
  );

  const invalid: [name: string, reference: unknown, message: RegExp][] = [
    ["of a newer version", made({ taskId: "t" }, "errand2_"), /another version/],
    ["that is nothing", undefined, /it is none/],
    ["that is a number", 7, /it is none/],
    ["that is empty", "", /it is none/],
    ["that is a task's id", "786512e2-9e0d-44bd-8f29-789f320fe840", /it is none/],
    ["with nothing in it", "errand1_", /damaged/],
    ["that is cut short", made({ server: "https://example.test/mcp", taskId: "t", answered: [] }).slice(0, -9), /damaged/],
    ["that is no Base64", "errand1_%%%%", /damaged/],
    ["that is no JSON", made("{taskId:"), /damaged/],
    ["that is null", made("null"), /damaged/],
    ["that is a list", made([]), /damaged/],
    ["without a task", made({ server: "x" }), /damaged/],
    ["whose task is no text", made({ taskId: 7 }), /damaged/],
    ["whose task is empty", made({ taskId: "" }), /damaged/],
    ["whose ledger is none", made({ taskId: "t", answered: "one" }), /damaged/],
    ["whose server is none", made({ taskId: "t", server: {} }), /damaged/],
  ];
  for (const [name, reference, message] of invalid) {
    it(
      `${name} is refused at once`,
      withDifficult({}, async ({ server, client, pass }) => {
        assert.throws(
          () => client.resume(reference as string),
          (error) => error instanceof InvalidReferenceError && message.test(error.message),
        );
        await pass(0);
        assert.equal(server.received.length, 0);
      }),
    );
  }

  it(
    "that is whatever text is refused or taken, and harms nothing",
    withDifficult({}, async ({ client }) => {
      const texts = fc.oneof(fc.string(), fc.string().map((text) => made(text)), fc.json().map((json) => made(json)));
      fc.assert(
        fc.property(texts, (text) => {
          try {
            client.resume(text).detach();
          } catch (error) {
            assert.ok(error instanceof InvalidReferenceError, String(error));
          }
        }),
        runs(500, 3),
      );
    }),
  );
});

describe("resuming", () => {
  it(
    "asks nothing again that was answered, and asks what is new",
    withDifficult({ door: "over HTTP" }, async ({ server, begin, clock, target }) => {
      const { pending, taskId } = await begin({ mode: "poll", input: { form: () => named("Ann") } });
      server.ask(taskId, { one: form() });
      await clock.advance(SECOND);
      await until(() => (read(pending.reference())["answered"] as string[]).length === 1, "the ledger");
      const reference = pending.reference();
      pending.detach();

      const other = createTaskClient(target, { clock });
      server.ask(taskId, { one: form(), two: form() });
      const asked: string[] = [];
      const again = other.resume(reference, { mode: "poll", input: { form: (_params, { key }) => (asked.push(key), named("Bob")) } });
      await until(() => server.answers.length === 2, "the answer");
      assert.deepEqual(asked, ["two"]);
      await until(() => (read(again.reference())["answered"] as string[]).length === 2, "the ledger");
      assert.deepEqual(read(again.reference())["answered"], ["one", "two"]);
      assert.equal(read(again.reference())["tool"], "work");
      const { inputRequests: _, ...task } = server.task(taskId);
      server.tasks.set(taskId, task);
      server.complete(taskId);
      await untilOver(clock, again.outcome());
      assert.equal(textOf(await again.outcome()), "done");
      await other.close();
    }),
  );

  it(
    "does not end for a question that was answered, though nobody answers here",
    withDifficult({}, async ({ server, client, pass }) => {
      server.make("t");
      server.ask("t", { one: form() });
      const pending = client.resume(made({ server: "difficult", taskId: "t", answered: ["one"] }), { mode: "poll" });
      await pass(2 * SECOND);
      assert.equal(pending.task?.status, "input_required");
      server.complete("t");
      await pass(SECOND);
      assert.equal(textOf(await pending.outcome()), "done");
    }),
  );

  it(
    "a task that is gone is an error, and never one that works",
    withDifficult({}, async ({ server, client, pass }) => {
      const pending = client.resume(made({ taskId: "gone" }));
      await pass(SECOND);
      const { error, task } = expectOutcome(await pending.outcome(), "failed");
      assert.deepEqual([error.code, error.rpcCode, task], ["REQUEST_FAILED", -32602, undefined]);
      await assert.rejects(pending.created, error);
      assert.equal(server.count("tasks/get"), 1);
    }),
  );

  it("goes on in another process, with the ledger", async () => {
    const server = new DifficultServer({ pollIntervalMs: 100 });
    try {
      await patiently(async () => {
        const { url } = await server.http();
        const client = createTaskClient(url, { input: { form: () => named("Ann") } });
        const pending = client.beginCallTool({ name: "work" });
        const taskId = String((await pending.created)?.taskId);
        server.ask(taskId, { one: form() });
        await until(() => server.answers.length === 1, "the first answer");
        await until(() => (read(pending.reference())["answered"] as string[]).length === 1, "the ledger");
        const reference = pending.reference();
        await client.close();
        await until(() => server.open === 0, "the first client to be gone");

        // A server that shows for a while what was answered.
        server.ask(taskId, { one: form(), two: form() });
        server.on("tasks/update", (exchange) => {
          server.usual(exchange);
          server.complete(taskId, "resumed");
        });
        const { code, output } = await runProgram("resume", [url, reference]);
        assert.equal(code, 0, output);
        assert.deepEqual(JSON.parse(output), {
          asked: ["two"],
          status: "completed",
          result: { content: [{ type: "text", text: "resumed" }] },
        });
        assert.deepEqual(server.answers.map(({ key }) => key), ["one", "two"]);
      });
    } finally {
      await server.close();
    }
    assert.deepEqual(server.complaints, []);
  });
});
