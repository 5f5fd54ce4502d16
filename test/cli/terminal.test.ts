// The command line in a terminal, with somebody at the keys.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { describe, it } from "node:test";
import { z } from "zod";
import type { Host, InputRequest, JsonObject, Served } from "../../src/mod.ts";
import { createHost, createTaskClient, serve } from "../../src/mod.ts";
import { CTRL_C, CTRL_D, InTerminal, errand } from "../support/cli.ts";
import type { TerminalOptions } from "../support/cli.ts";
import { until } from "../support/until.ts";

const FIELDS = {
  to: { type: "string", format: "email", title: "Address", description: "Where it is sent" },
  copies: { type: "integer", minimum: 1, maximum: 5, default: 2 },
  urgent: { type: "boolean" },
  colour: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g", title: "Green" }] },
  parts: { type: "array", items: { type: "string", enum: ["a", "b", "c"] }, minItems: 1 },
  note: { type: "string" },
} as const;

const form = (message: string, properties: JsonObject, required: readonly string[]): InputRequest => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties, required } },
});

interface Scene {
  readonly host: Host;
  readonly url: string;
  /** The ids of the tasks there are, in their order. */
  readonly taskIds: string[];
  /** Starts the command line in a terminal; it is ended with the test. */
  at(args: readonly string[], options?: TerminalOptions): InTerminal;
}

/** A test with a host in this process, and as many terminals as it wants. */
function withTerminal(test: (scene: Scene) => Promise<void>): () => Promise<void> {
  return async () => {
    const taskIds: string[] = [];
    const host = createHost({ name: "orders", version: "1.0.0", pollIntervalMs: 50 });
    host
      .tool("held", { task: "required" }, (_input, task) => {
        taskIds.push(task.taskId);
        return task.external();
      })
      .tool("asks", { task: "required" }, async (_input, task) => {
        taskIds.push(task.taskId);
        const { name } = await task.elicit("What is your name?", z.object({ name: z.string().min(2) }));
        return `Hello, ${name}`;
      })
      .tool("orders", {}, async (_input, task) => {
        const { order } = await task.ask({ order: form("What shall it be?", FIELDS, ["to", "urgent", "colour", "parts"]) });
        return JSON.stringify(order);
      })
      .tool("asks_twice", { task: "required" }, async (_input, task) => {
        const name = z.object({ name: z.string() });
        const [one, two] = await Promise.all([task.elicit("The first?", name), task.elicit("The second?", name)]);
        return `${one.name} and ${two.name}`;
      })
      .tool("page", { inputSchema: z.object({ url: z.string() }), task: "required" }, async ({ url }, task) => {
        const { answer } = await task.ask({
          answer: { method: "elicitation/create", params: { mode: "url", message: "Log in", url, elicitationId: "1" } },
        });
        return `The answer: ${JSON.stringify(answer)}`;
      })
      .tool("hangs", { task: "forbidden" }, () => new Promise(() => {}));
    const served: Served = await serve(host, { port: 0 });
    const terminals: InTerminal[] = [];
    try {
      await test({
        host,
        url: served.url,
        taskIds,
        at: (args, options) => {
          const terminal = new InTerminal(args, options);
          terminals.push(terminal);
          return terminal;
        },
      });
    } finally {
      for (const terminal of terminals) terminal.kill();
      await served.close();
    }
  };
}

/** The id of the only task, once there is one. */
async function onlyTask({ taskIds }: Scene): Promise<string> {
  await until(() => taskIds.length > 0, "a task");
  return String(taskIds[0]);
}

/** The command that goes on waiting, as the screen tells it. */
function waitArgs(terminal: InTerminal): string[] {
  const [, reference] = /errand wait (errand1_\S+)/.exec(terminal.text) ?? [];
  assert.ok(reference !== undefined, `There is no reference:\n${terminal.screen}`);
  return ["wait", reference];
}

describe("a call in a terminal", () => {
  it(
    "shows how it goes on in one line, and then the result alone",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "held"], { columns: 60 });
      const task = scene.host.task(await onlyTask(scene));
      await task.progress(1, 3, "reading");
      await terminal.sees(/^\d+s working: reading \(1\/3\)$/m);
      // Longer than the terminal is wide.
      await task.progress(2, 3, `writing ${"x".repeat(100)}`);
      await terminal.sees(/^\d+s working: writing x+$/m);
      assert.equal(terminal.screen.trim().split("\n").length, 1, terminal.screen);
      // The time goes on by itself.
      await terminal.sees(/^[1-9]s working: writing/m);
      await task.complete("It is done");
      assert.equal(await terminal.end(), 0);
      assert.equal(terminal.screen.trim(), "It is done");
    }),
  );

  it(
    "asks for each field of a form until it fits",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "orders"]);
      await terminal.sees("? What shall it be?");
      await terminal.sees("  Where it is sent");
      await terminal.answer("Address (email): ", "ann");
      await terminal.sees(/Invalid email.*Ctrl-D/);
      await terminal.answer(/Address \(email\): ann\n[^]*Address \(email\): $/, "ann@example.com");
      await terminal.answer(/copies \(whole number, 1 to 5\) \[2\]: $/, "9");
      await terminal.answer(/<=5[^]*\n {2}copies \(whole number, 1 to 5\) \[2\]: $/, "");
      await terminal.answer(/urgent \(y\/n\): $/, "y");
      await terminal.sees("  1) Red\n  2) Green");
      await terminal.answer(/colour \(one of these\): $/, "Green");
      await terminal.answer(/parts \(some of these, with commas, at least 1 of them\): $/, "");
      await terminal.answer(/This is required[^]*\n {2}parts [^\n]*: $/, "a, 3");
      await terminal.answer(/note \(optional\): $/, "");
      assert.equal(await terminal.end(), 0);
      const content = { to: "ann@example.com", copies: 2, urgent: true, colour: "g", parts: ["a", "c"] };
      assert.ok(terminal.text.includes(JSON.stringify({ action: "accept", content })), terminal.screen);
    }),
  );

  it(
    "lets a person decline or dismiss a question, or change their mind",
    withTerminal(async (scene) => {
      const leave = /Decline \(d\), dismiss the question \(x\), or go on answering \(Enter\)\? $/;
      const declining = scene.at(["call", scene.url, "asks"]);
      await declining.sees(/name \(at least 2 characters\): $/);
      declining.press(CTRL_D);
      await declining.answer(leave, "");
      await declining.sees(/\(Enter\)\?\n {2}name \(at least 2 characters\): $/);
      declining.press(CTRL_D);
      await declining.answer(/name[^\n]*:\n[^\n]*\(Enter\)\?\n {2}name[^\n]*:\n[^\n]*\(Enter\)\? $/, "d");
      assert.equal(await declining.end(), 1);
      assert.match(declining.text, /The tool reported an error: The question was declined/);

      const dismissing = scene.at(["call", scene.url, "asks"]);
      await dismissing.sees(/name \(at least 2 characters\): $/);
      dismissing.press(CTRL_D);
      await dismissing.answer(leave, "x");
      assert.equal(await dismissing.end(), 1);
      assert.match(dismissing.text, /The tool reported an error: The question was dismissed/);
    }),
  );

  it(
    "asks one question after another",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "asks_twice"]);
      await terminal.answer(/\? The first\?\n {2}name: $/, "Ann");
      await terminal.answer(/\? The second\?\n {2}name: $/, "Bob");
      assert.equal(await terminal.end(), 0);
      assert.match(terminal.text, /Ann and Bob/);
    }),
  );

  it(
    "shows a page to open and asks whether to, and opens none",
    withTerminal(async (scene) => {
      const page = (url: string) => ["call", scene.url, "page", JSON.stringify({ url })];
      // Its host is written with other letters than it seems.
      const terminal = scene.at(page("https://ex\u0430mple.com/login?id=1"));
      await terminal.sees("asks you to open a page at xn--exmple-4nf.com:\n  https://xn--exmple-4nf.com/login?id=1");
      await terminal.answer(/Do you agree\? \(y\/n\) $/, "what?");
      await terminal.answer(/what\?\n[^\n]*Do you agree\? \(y\/n\) $/, "y");
      assert.equal(await terminal.end(), 0);
      assert.match(terminal.text, /The answer: \{"action":"accept"\}/);

      const refusing = scene.at(page("https://example.com/"));
      await refusing.answer(/Do you agree\? \(y\/n\) $/, "n");
      await refusing.sees('The answer: {"action":"decline"}');
      const strange = scene.at(page("file:///etc/passwd"));
      await strange.sees('The answer: {"action":"decline"}');
    }),
  );

  it(
    "takes a question back that is over",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "asks"]);
      await terminal.sees(/name \(at least 2 characters\): $/);
      terminal.press("An");
      await terminal.sees(/characters\): An$/);
      const client = createTaskClient(scene.url);
      await client.cancelTask(await onlyTask(scene));
      await client.close();
      assert.equal(await terminal.end(), 4);
      assert.match(terminal.screen, /name \(at least 2 characters\): An\nerrand: The call was cancelled\./);
    }),
  );

  it(
    "obeys nothing that a server says",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "held"]);
      // oxlint-disable-next-line no-control-regex -- what is looked for
      const obeyed = /\u001b\[2J|\u001b\]|[\u0007\u0080-\u009f\u202e]/;
      const evil = "\u001b[2J\u001b]0;owned\u0007\u009b31m evil \u202e";
      const task = scene.host.task(await onlyTask(scene));
      await task.status(evil);
      await terminal.sees(/working: .*evil$/m);
      const asked = task.ask(form(evil, { [`a${evil}`]: { type: "string", title: evil, enum: [evil, "b"] } }, []));
      await terminal.answer(/evil \(one of these, optional\): $/, "b");
      await asked;
      await task.complete(evil);
      assert.equal(await terminal.end(), 0);
      assert.doesNotMatch(terminal.raw, obeyed);
    }),
  );

  it(
    "has colours unless NO_COLOR is set",
    withTerminal(async (scene) => {
      // oxlint-disable-next-line no-control-regex -- what is looked for
      const colours = /\u001b\[\d+m/;
      const plain = scene.at(["call", scene.url, "asks"], { env: { NO_COLOR: "1" } });
      await plain.answer(/name \(at least 2 characters\): $/, "Ann");
      assert.equal(await plain.end(), 0);
      assert.doesNotMatch(plain.raw, colours);
      const coloured = scene.at(["call", scene.url, "asks"], { env: { NO_COLOR: "" } });
      await coloured.answer(/name \(at least 2 characters\): $/, "Ann");
      assert.equal(await coloured.end(), 0);
      assert.match(coloured.raw, colours);
    }),
  );

  it(
    "asks nothing where input or --json leaves nobody to ask",
    withTerminal(async (scene) => {
      const piped = scene.at(["call", scene.url, "asks", "-"], { shell: "echo '{}' | $" });
      assert.equal(await piped.end(), 5);
      const json = scene.at(["call", scene.url, "asks", "--json"]);
      assert.equal(await json.end(), 5);
      assert.match(json.text, /"status":"input_required"/);
      const again = scene.at(waitArgs(piped));
      await again.answer(/name \(at least 2 characters\): $/, "Ann");
      assert.equal(await again.end(), 0);
      assert.match(again.text, /Hello, Ann/);
    }),
  );
});

describe("Ctrl-C during a call", () => {
  const menu = /Interrupted\. Leave the task running \(d\), cancel it \(c\), or go on \(Enter\)\? $/;

  it(
    "can leave the task, which another command goes on waiting for",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "held"]);
      await terminal.sees("working");
      terminal.press(CTRL_C);
      await terminal.answer(menu, "d");
      assert.equal(await terminal.end(), 130);
      assert.match(terminal.text, /The task was left\. It goes on\. To wait for it: errand wait errand1_/);

      const again = scene.at(waitArgs(terminal));
      await again.sees("working");
      await scene.host.task(await onlyTask(scene)).complete("done after all");
      assert.equal(await again.end(), 0);
      assert.equal(again.screen.trim(), "done after all");
    }),
  );

  it(
    "can go on, or cancel the task",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "held"]);
      await terminal.sees("working");
      // What is typed meanwhile is nobody's answer.
      terminal.press(`c\r${CTRL_C}`);
      await terminal.answer(menu, "");
      await scene.host.task(await onlyTask(scene)).status("still there");
      await terminal.sees(/\d+s working: still there$/);
      terminal.press(CTRL_C);
      await terminal.answer(menu, "c");
      assert.equal(await terminal.end(), 4);
      assert.match(terminal.screen, /errand: The call was cancelled\./);
    }),
  );

  it(
    "leaves the task at once when it is pressed again",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "held"]);
      await terminal.sees("working");
      terminal.press(CTRL_C);
      await terminal.sees(menu);
      terminal.press(CTRL_C);
      assert.equal(await terminal.end(), 130);
      waitArgs(terminal);
    }),
  );

  it(
    "interrupts a question, which is asked again",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "asks"]);
      await terminal.sees(/name \(at least 2 characters\): $/);
      terminal.press(`Bo${CTRL_C}`);
      await terminal.answer(menu, "");
      await terminal.answer(/go on \(Enter\)\?\n {2}name \(at least 2 characters\): $/, "Ann");
      assert.equal(await terminal.end(), 0);
      assert.match(terminal.text, /Hello, Ann/);
    }),
  );

  it(
    "tells the end of a task that ends meanwhile",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "held"]);
      await terminal.sees("working");
      terminal.press(CTRL_C);
      await terminal.sees(menu);
      await scene.host.task(await onlyTask(scene)).complete("done meanwhile");
      assert.equal(await terminal.end(), 0);
      assert.match(terminal.screen, /done meanwhile\n$/);
    }),
  );

  it(
    "gives up a call that is no task",
    withTerminal(async (scene) => {
      const terminal = scene.at(["call", scene.url, "hangs"]);
      await terminal.sees("calling");
      terminal.press(CTRL_C);
      await terminal.answer(/Interrupted\. Give the call up \(c\), or go on \(Enter\)\? $/, "c");
      assert.equal(await terminal.end(), 4);
    }),
  );

  it(
    "is no interrupt of a server that was run as a command",
    withTerminal(async (scene) => {
      const program = fileURLToPath(new URL("../support/programs/cli-host.ts", import.meta.url));
      const terminal = scene.at(["call", "asks", "--", ...errand(["serve", "--stdio", program])]);
      await terminal.sees(/name: $/);
      terminal.press(CTRL_C);
      await terminal.answer(menu, "");
      await terminal.answer(/go on \(Enter\)\?\n {2}name: $/, "Ann");
      assert.equal(await terminal.end(), 0);
      assert.match(terminal.text, /Hello, Ann/);
    }),
  );
});
