// The command line without a terminal, as scripts run it.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { after, before, describe, it } from "node:test";
import { z } from "zod";
import type { Host, Served } from "../../src/mod.ts";
import { ProtocolError, createHost, serve } from "../../src/mod.ts";
import { Running, errand, run } from "../support/cli.ts";

const TOKEN = "t0ken-of-ann";
const program = fileURLToPath(new URL("../support/programs/cli-host.ts", import.meta.url));
const server = errand(["serve", "--stdio", program]);

let host: Host;
let served: Served;
const seen: { readonly authorization: string | null; readonly tenant: string | null }[] = [];

before(async () => {
  host = createHost({
    name: "cli",
    version: "1.0.0",
    pollIntervalMs: 50,
    auth: (request) => {
      const { headers } = request;
      seen.push({ authorization: headers.get("authorization"), tenant: headers.get("x-tenant") });
      if (headers.get("x-tenant") === "locked") return new Response("not yours", { status: 401 });
      return { token: "", clientId: "anybody", scopes: [] };
    },
  });
  host
    .tool(
      "quick",
      { description: "Gives back\nwhat it got", inputSchema: z.object({ a: z.number(), b: z.string().optional() }) },
      ({ a }) => `got ${a}`,
    )
    .tool("structured", { outputSchema: z.object({ a: z.number() }) }, () => ({ a: 1 }))
    .tool("blocks", {}, () => ({
      content: [
        { type: "text", text: "\u001b[31mred\u001b[0m\r\nline" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "resource_link", uri: "file:///a.txt", name: "a" },
        { type: "resource", resource: { uri: "file:///b.txt", text: "of a resource" } },
      ],
    }))
    .tool("nothing", {}, () => {})
    .tool("external", { task: "required" }, (_input, task) => task.external())
    .tool("tool_error", {}, () => ({ isError: true, content: [{ type: "text", text: "no such \u001b[1myear" }] }))
    .tool("fails", { task: "required" }, () => {
      throw new ProtocolError(-32050, "the disk\u0007 is full", { retryable: true });
    })
    .tool("asks", { task: "required" }, async (_input, task) => {
      const { name } = await task.elicit("What is your name?", z.object({ name: z.string() }));
      return `Hello, ${name}`;
    })
    .tool("samples", { task: "required" }, async (_input, task) => {
      await task.sample({ messages: [], maxTokens: 1 });
    })
    .tool("steps", { task: "required" }, async (_input, task) => {
      task.status("one");
      await task.sleep("a while", 100);
      return "stepped";
    })
    .tool("large", {}, () => "line\n".repeat(200_000));
  served = await serve(host, { port: 0 });
});
after(() => served.close());

/** The reference that a text names, and the id of its task. */
function referenceIn(text: string): { reference: string; taskId: string } {
  const [reference = "", payload = ""] = /errand1_([\w-]+)/.exec(text) ?? [];
  const { taskId } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { taskId: string };
  return { reference, taskId };
}

const lines = (text: string) => text.trimEnd().split("\n");

describe("errand call", () => {
  it("prints the result of a call that is answered inline, and nothing else", async () => {
    const done = await run(["call", served.url, "quick", '{"a":4}']);
    assert.deepEqual(done, { code: 0, stdout: "got 4\n", stderr: "" });
    assert.equal((await run(["call", served.url, "quick", "-"], { input: '{"a":\n5}' })).stdout, "got 5\n");
  });

  it("prints every kind of content, without what a terminal would obey", async () => {
    const { stdout } = await run(["call", served.url, "blocks"]);
    assert.equal(stdout, "red\nline\n[image, image/png, 3 bytes]\n[resource_link, a, file:///a.txt]\nof a resource\n");
    assert.deepEqual(JSON.parse((await run(["call", served.url, "structured"])).stdout), { a: 1 });
    assert.equal((await run(["call", served.url, "nothing"])).stdout, "\n");
  });

  it("tells how a task goes on, line by line, and how to go on elsewhere", async () => {
    const { code, stdout, stderr } = await run(["call", served.url, "steps"]);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "stepped\n" });
    const [first = "", ...more] = lines(stderr);
    assert.match(first, /^To go on elsewhere: errand wait errand1_/);
    assert.equal(more.at(-1), "completed");
    assert.match(more.join("\n"), /^working/);
  });

  it("tells programs how it goes on and ended, as JSON", async () => {
    const { code, stdout, stderr } = await run(["call", served.url, "steps", "--json"]);
    assert.equal(code, 0);
    const told = lines(stderr).map((line) => JSON.parse(line));
    const { reference, taskId } = referenceIn(String(told[0].reference));
    assert.deepEqual(new Set(told.map(({ task }) => `${task.taskId} ${task.status}`)), new Set([`${taskId} working`]));
    const [object, ...none] = lines(stdout).map((line) => JSON.parse(line));
    assert.deepEqual(none, []);
    assert.deepEqual(object, { status: "completed", taskId, result: object.result });
    assert.equal(object.result.content[0].text, "stepped");
    assert.ok(reference.length > 0);
  });

  it("ends with 1 where the tool reports an error", async () => {
    const done = await run(["call", served.url, "tool_error"]);
    assert.deepEqual(done, { code: 1, stdout: "", stderr: "errand: The tool reported an error: no such year\n" });
    const json = await run(["call", served.url, "tool_error", "--json"]);
    assert.equal(json.code, 1);
    assert.match(json.stdout, /^\{"status":"completed","result":\{[^\n]*"text":"no such \\u001b\[1myear"[^\n]*\}\n$/);
  });

  it("ends with 3 where the task or a request fails", async () => {
    const failed = await run(["call", served.url, "fails"]);
    assert.deepEqual([failed.code, failed.stdout], [3, ""]);
    assert.equal(lines(failed.stderr).at(-1), "errand: The task failed: the disk is full (-32050)");
    const { stdout } = await run(["call", served.url, "fails", "--json"]);
    const error = { code: "TASK_FAILED", rpcCode: -32050, message: "the disk\u0007 is full", data: { retryable: true } };
    assert.deepEqual(JSON.parse(stdout).error, error);

    const unknown = await run(["call", served.url, "no_such_tool"]);
    assert.deepEqual([unknown.code, unknown.stderr], [3, "errand: Tool no_such_tool not found (-32602)\n"]);
    const nobody = await run(["call", "http://127.0.0.1:1/mcp", "quick"]);
    assert.equal(nobody.code, 3);
    assert.match(nobody.stderr, /^errand: There was no answer: [^\n]+ See that the server runs, and is where you say\.\n$/);
    const noServer = await run(["call", "quick", "--", "/no/such/program"]);
    assert.equal(noServer.code, 3);
    assert.match(noServer.stderr, /^errand: There was no answer: [^\n]*ENOENT[^\n]+\n$/);
    const ended = await run(["call", "quick", "--", "false"]);
    assert.equal(ended.stderr, "errand: There was no answer: The command ended before it answered: false. Its stderr may say why.\n");
  });

  it("ends with 5 where it asks what nobody can answer", async () => {
    const asked = await run(["call", served.url, "asks"]);
    assert.equal(asked.code, 5);
    assert.match(asked.stderr, /\nerrand: Nobody here can answer what it asks\. In a terminal: errand wait errand1_\S+ \(It asks: "What is your name\?"\)\n$/);
    const sampled = await run(["call", served.url, "samples", "--json"]);
    assert.equal(sampled.code, 5);
    const { status, reference, inputRequests } = JSON.parse(sampled.stdout);
    assert.equal(status, "input_required");
    assert.ok(referenceIn(reference).taskId.length > 0);
    assert.deepEqual(Object.values<{ method: string }>(inputRequests).map(({ method }) => method), ["sampling/createMessage"]);
  });

  it("ends with 6 at its time limit, and the task goes on", async () => {
    const { code, stderr } = await run(["call", served.url, "external", "--timeout", "2s"]);
    assert.equal(code, 6);
    assert.match(stderr, /\nerrand: It was not done within 2s, and goes on\. To wait for it: errand wait errand1_\S+\n$/);
    const { reference, taskId } = referenceIn(stderr);
    await host.task(taskId).complete("late");
    assert.equal((await run(["wait", reference])).stdout, "late\n");
  });

  it("leaves the task at once with --detach, for errand wait", async () => {
    const { code, stdout, stderr } = await run(["call", served.url, "external", "--detach"]);
    assert.deepEqual([code, stderr], [0, ""]);
    const { reference, taskId } = referenceIn(stdout);
    assert.equal(stdout, `${reference}\n`);
    const waiting = new Running(["wait", reference, "--mode", "poll", "--json"]);
    await waiting.until('"working"');
    await host.task(taskId).complete("waited for");
    assert.equal(await waiting.end(), 0);
    assert.equal(JSON.parse(waiting.stdout).result.content[0].text, "waited for");

    const json = JSON.parse((await run(["call", served.url, "external", "--detach", "--json"])).stdout);
    assert.deepEqual([json.status, json.taskId], ["detached", referenceIn(json.reference).taskId]);
    // What is answered inline, or fails, is not left.
    assert.equal((await run(["call", served.url, "quick", '{"a":1}', "--detach"])).stdout, "got 1\n");
    assert.equal((await run(["call", served.url, "no_such_tool", "--detach"])).code, 3);
  });

  it("leaves the task when it is interrupted", async () => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const running = new Running(["call", served.url, "external"]);
      await running.until("working");
      running.signal(signal);
      assert.equal(await running.end(), 130);
      const { taskId } = referenceIn(running.stderr);
      assert.match(running.stderr, /\nerrand: The task was left\. It goes on\. To wait for it: errand wait errand1_\S+\n$/);
      await host.task(taskId).complete("done");
    }
  });

  it("sends a bearer token, and shows it to nobody", async () => {
    seen.length = 0;
    const env = { ERRAND_TOKEN: TOKEN };
    const { code, stdout, stderr } = await run(["call", served.url, "steps", "--header", "x-tenant: ann"], { env });
    assert.equal(code, 0);
    assert.deepEqual(new Set(seen.map((one) => `${one.authorization} ${one.tenant}`)), new Set([`Bearer ${TOKEN} ann`]));
    const refused = await run(["call", served.url, "quick", "--header", "x-tenant: locked"], { env });
    assert.equal(refused.code, 3);
    assert.match(refused.stderr, /^errand: [^\n]*401[^\n]* ERRAND_TOKEN\.\n$/);
    for (const text of [stdout, stderr, refused.stderr]) {
      assert.ok(!text.includes(TOKEN));
      const [, payload = ""] = /errand1_([\w-]+)/.exec(text) ?? [];
      assert.ok(!Buffer.from(payload, "base64url").toString().includes(TOKEN));
    }
    seen.length = 0;
    await run(["call", served.url, "quick", "--header", "Authorization: Basic x"], { env });
    assert.equal(seen[0]?.authorization, "Basic x");
  });

  it("minds no reader that goes away", async () => {
    const running = new Running(["call", served.url, "large"]);
    running.closeStdout();
    assert.deepEqual([await running.end(), running.stderr], [0, ""]);
  });

  it("runs a server as a command, in the environment but for the token", async () => {
    const env = { ERRAND_TEST: "kept", ERRAND_TOKEN: TOKEN };
    const after = await run(["call", "environment", "--", ...server], { env });
    assert.deepEqual([after.code, after.stdout], [0, "kept undefined\n"]);
    const before = await run(["call", "--", ...server, "--", "quick", '{"a":7}'], { env });
    assert.deepEqual([before.code, before.stdout], [0, "got 7\n"]);
  });
});

describe("errand tools", () => {
  it("lists the tools, with their arguments", async () => {
    const { code, stdout } = await run(["tools", served.url]);
    assert.equal(code, 0);
    assert.ok(stdout.startsWith("quick { a: number, b?: string }\n  Gives back\n  what it got\nstructured\n"), stdout);
    const json = JSON.parse((await run(["tools", "--json", "--", ...server])).stdout);
    assert.deepEqual(json.tools.map(({ name }: { name: string }) => name).slice(0, 2), ["quick", "asks"]);
  });
});

describe("errand cancel", () => {
  it("cancels a task, or says what became of it", async () => {
    const { reference, taskId } = referenceIn((await run(["call", served.url, "external", "--detach"])).stdout);
    const waiting = new Running(["wait", reference]);
    await waiting.until("working");
    const cancelled = await run(["cancel", reference]);
    assert.deepEqual(cancelled, { code: 0, stdout: "", stderr: "The task was cancelled.\n" });
    assert.equal(await waiting.end(), 4);
    assert.deepEqual(JSON.parse((await run(["cancel", reference, "--json"])).stdout), { status: "cancelled", taskId });

    const done = referenceIn((await run(["call", served.url, "external", "--detach"])).stdout);
    await host.task(done.taskId).complete("done");
    assert.equal((await run(["cancel", done.reference])).stderr, "The task had completed before.\n");
    // The same server by another of its names.
    const elsewhere = served.url.replace("127.0.0.1", "localhost");
    assert.equal((await run(["cancel", done.reference, elsewhere])).stderr, "The task had completed before.\n");
    const other = await run(["wait", done.reference, elsewhere]);
    assert.deepEqual([other.code, lines(other.stderr).length], [2, 1], other.stderr);
    assert.match(other.stderr, /^errand: The reference cannot be used: it is for /);
  });
});
