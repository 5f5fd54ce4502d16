// How the official peers answer what a task asks: one question after another, several at once, and of every kind.
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { DetailedTask, InputRequest, JsonObject } from "../../src/mod.ts";
import type { Peer, PeerServer } from "../support/peers.ts";
import { begin, cancel, get, polled, transports, update } from "../support/peers.ts";
import { textOf } from "../support/rpc.ts";
import type { Answers, Session } from "../support/sessions.ts";
import { ANSWERS, openSession } from "../support/sessions.ts";
import { patiently } from "../support/until.ts";

type Asking = Extract<DetailedTask, { status: "input_required" }>;
type Completed = Extract<DetailedTask, { status: "completed" }>;

const isCompleted = (task: DetailedTask): task is Completed => task.status === "completed";

/** Waits until a task asks so many questions at once. */
const asking = (peer: Peer, taskId: string, questions: number) =>
  polled(
    peer,
    taskId,
    (task): task is Asking => task.status === "input_required" && Object.keys(task.inputRequests).length === questions,
  );

/** What the application answers to a question. */
function answerTo({ method, params }: InputRequest): JsonObject {
  const kinds: Record<string, unknown> = { "sampling/createMessage": "sampling", "roots/list": "roots" };
  const what = kinds[method] ?? params?.["message"];
  const answer = typeof what === "string" ? ANSWERS[what] : undefined;
  assert.ok(answer !== undefined, `${method}: ${String(what)}`);
  return answer;
}

/** The open questions of a task, each with its key and its answer. */
const answersTo = ({ inputRequests }: Asking): [string, JsonObject][] =>
  Object.entries(inputRequests).map(([key, request]) => [key, answerTo(request)]);

for (const [transport, start] of Object.entries(transports)) {
  describe(`questions to the official client, over ${transport}`, () => {
    let server: PeerServer;
    let peer: Peer;

    before(async () => {
      server = await start();
      peer = await server.connect();
    });
    after(() => server.close());

    const resultOf = async (taskId: string) => textOf((await polled(peer, taskId, isCompleted)).result);

    it("one after the other, each under a key of its own", async () => {
      const { taskId } = await begin(peer, "asks_twice");
      const first = await asking(peer, taskId, 1);
      await update(peer, taskId, Object.fromEntries(answersTo(first)));
      const second = await polled(
        peer,
        taskId,
        (task): task is Asking =>
          task.status === "input_required" &&
          Object.keys(task.inputRequests).every((key) => !Object.hasOwn(first.inputRequests, key)),
      );
      await update(peer, taskId, Object.fromEntries(answersTo(second)));
      assert.equal(await resultOf(taskId), "Ann of Oslo");
    });

    it("several at once, answered one by one", async () => {
      const { taskId } = await begin(peer, "asks_both");
      const [one, other] = answersTo(await asking(peer, taskId, 2));
      assert.ok(one !== undefined && other !== undefined);
      await update(peer, taskId, Object.fromEntries([other]));
      const rest = await get(peer, taskId);
      assert.ok(rest.status === "input_required");
      assert.deepEqual(Object.keys(rest.inputRequests), [one[0]]);
      await update(peer, taskId, Object.fromEntries([one]));
      assert.equal(await resultOf(taskId), "Ann of Oslo");
    });

    it("of every kind, answered in one update", async () => {
      const { taskId } = await begin(peer, "asks_all_kinds");
      await update(peer, taskId, Object.fromEntries(answersTo(await asking(peer, taskId, 3))));
      assert.equal(await resultOf(taskId), "Ann, a-model, file:///home/ann");
    });

    it("declined, which the tool's result says", async () => {
      const { taskId } = await begin(peer, "asks");
      const [[key] = []] = answersTo(await asking(peer, taskId, 1));
      await update(peer, taskId, { [String(key)]: { action: "decline" } });
      const { result } = await polled(peer, taskId, isCompleted);
      assert.equal(result.isError, true);
      assert.equal(textOf(result), "The question was declined: Name?");
    });

    it("answered wrongly, which leaves them open", async () => {
      const { taskId } = await begin(peer, "asks");
      const [[key, right] = []] = answersTo(await asking(peer, taskId, 1));
      assert.ok(key !== undefined);
      const wrong = { action: "accept", content: { name: 7 } };
      await assert.rejects(update(peer, taskId, { [key]: wrong }), { code: -32602 });
      assert.equal((await get(peer, taskId)).status, "input_required");
      await update(peer, taskId, { [key]: right });
      assert.equal(await resultOf(taskId), "Hello, Ann");
    });

    it("withdrawn when the task is cancelled", async () => {
      const { taskId } = await begin(peer, "asks");
      const answers = Object.fromEntries(answersTo(await asking(peer, taskId, 1)));
      await cancel(peer, taskId);
      const task = await get(peer, taskId);
      assert.equal(task.status, "cancelled");
      assert.equal("inputRequests" in task, false);
      // An answer that comes too late is taken, and changes nothing.
      await update(peer, taskId, answers);
      assert.equal((await get(peer, taskId)).status, "cancelled");
    });
  });

  describe(`questions to the official ext-tasks session, over ${transport}`, () => {
    let server: PeerServer;
    let peer: Peer;
    let session: Session | undefined;

    before(async () => {
      server = await start();
      peer = await server.connect();
    });
    afterEach(() => session?.close());
    after(() => server.close());

    /** Calls a tool and drives it to its end, with an application that answers as given. */
    const call = async (name: string, answers?: Answers) => {
      session = openSession(peer, answers);
      const execution = await session.callTool(name);
      assert.equal(execution.kind, "task");
      const { outcome } = await patiently(() => execution.settle());
      return { result: resultFromTaskOutcome(outcome) as JsonObject, session };
    };
    const words = ({ asked }: Session) => asked.map(({ what }) => what);

    it("one after the other", async () => {
      const { result, session: done } = await call("asks_twice");
      assert.equal(textOf(result), "Ann of Oslo");
      assert.deepEqual(words(done), ["Name?", "Where do you live, Ann?"]);
    });

    it("several at once", async () => {
      const { result, session: done } = await call("asks_both");
      assert.equal(textOf(result), "Ann of Oslo");
      assert.deepEqual(words(done).toSorted(), ["City?", "Name?"]);
    });

    it("of every kind", async () => {
      const { result, session: done } = await call("asks_all_kinds");
      assert.equal(textOf(result), "Ann, a-model, file:///home/ann");
      assert.deepEqual(words(done).toSorted(), ["Name?", "roots", "sampling"]);
    });

    it("declined, which the tool's result says", async () => {
      const { result } = await call("asks", {});
      assert.equal(result["isError"], true);
      assert.equal(textOf(result), "The question was declined: Name?");
    });
  });
}
