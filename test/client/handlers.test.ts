// What handlers of questions can rely on.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { InputHandlerError } from "../../src/client/mod.ts";
import { expectOutcome, form, named, withDifficult } from "../support/following.ts";

const elicitation = (params: object) => ({ method: "elicitation/create", params });

describe("the params of a question", () => {
  it(
    "are the server's, with their types",
    withDifficult({}, async ({ server, begin, pass }) => {
      const asked: string[] = [];
      const { pending, taskId } = await begin({
        mode: "poll",
        input: {
          form: ({ message, requestedSchema }) => {
            asked.push(message.toUpperCase(), ...Object.keys(requestedSchema.properties), ...(requestedSchema.required ?? []));
            return named("Ann");
          },
          url: ({ url }) => {
            asked.push(new URL(url).host);
            return { action: "accept" };
          },
        },
      });
      server.ask(taskId, { f: form(), u: elicitation({ mode: "url", message: "Pay", url: "https://pay.example/1" }) });
      await pass(1_000);
      assert.deepEqual(asked, ["YOUR NAME?", "name", "name", "pay.example"]);
      pending.detach();
    }),
  );

  const malformed: [what: string, question: { method: string; params: object }, says: RegExp][] = [
    ["a form without a message", elicitation({ requestedSchema: { properties: {} } }), /malformed: message/],
    ["a form without a schema", elicitation({ message: "Name?" }), /malformed: requestedSchema/],
    ["a form without fields", elicitation({ message: "Name?", requestedSchema: {} }), /malformed: requestedSchema\.properties/],
    ["a page without a URL", elicitation({ mode: "url", message: "Pay" }), /malformed: url/],
  ];
  for (const [what, question, says] of malformed) {
    it(
      `are checked: ${what} reaches no handler, and ends the wait`,
      withDifficult({}, async ({ server, begin, pass }) => {
        const handler = () => assert.fail("no handler runs");
        const { pending, taskId } = await begin({ mode: "poll", input: { form: handler, url: handler } });
        server.ask(taskId, { "the key": question });
        await pass(1_000);
        const { error } = expectOutcome(await pending.outcome(), "failed");
        assert.ok(error instanceof InputHandlerError);
        assert.equal(error.key, "the key");
        assert.match(error.message, says);
      }),
    );
  }
});
