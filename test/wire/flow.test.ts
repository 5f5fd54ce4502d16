// The message flow that the Tasks specification tells, from the call to the result, over HTTP and byte for byte.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { withHost } from "../support/hosting.ts";
import { REVISION, SERVER_INFO_KEY, TASKS } from "../support/rpc.ts";
import { gate } from "../support/until.ts";

const CREATED_AT = Date.UTC(2025, 10, 25, 10, 30);
const META = { [SERVER_INFO_KEY]: { name: "test-host", version: "1.2.3" } };

describe("the specification's message flow", () => {
  const greets = gate();
  const options = { ttlMs: 3_600_000, pollIntervalMs: 5_000 };
  it(
    "goes from the call over a question to the result",
    withHost(
      {
        now: CREATED_AT,
        options,
        client: { capabilities: { ...TASKS, elicitation: {} } },
        tools: (host) =>
          host.tool("hello_world", { task: "required" }, async (_input, task) => {
            await task.sleep("think", 1_000);
            const { name } = await task.elicit("Please enter your name.", z.object({ name: z.string() }));
            await greets.opened;
            return { content: [{ type: "text", text: `Hello, ${name}!` }], isError: false };
          }),
      },
      async ({ rpc, clock }) => {
        const call = await rpc.request("tools/call", { name: "hello_world", arguments: {} }, { id: 2 });
        const { taskId } = call.message["result"] as { taskId: string };
        const task = {
          taskId,
          createdAt: "2025-11-25T10:30:00.000Z",
          lastUpdatedAt: "2025-11-25T10:30:00.000Z",
          ttlMs: 3_600_000,
          pollIntervalMs: 5_000,
          _meta: META,
        };
        assert.deepEqual(call.message, {
          jsonrpc: "2.0",
          id: 2,
          result: { resultType: "task", ...task, status: "working" },
        });

        const get = async (id: number) => (await rpc.request("tasks/get", { taskId }, { id })).message;
        assert.deepEqual(await get(3), {
          jsonrpc: "2.0",
          id: 3,
          result: { resultType: "complete", ...task, status: "working" },
        });

        await clock.advance(1_000);
        const asked = await get(4);
        const { inputRequests } = asked["result"] as { inputRequests: Record<string, unknown> };
        const [key] = Object.keys(inputRequests);
        assert.ok(key !== undefined);
        assert.deepEqual(asked, {
          jsonrpc: "2.0",
          id: 4,
          result: {
            resultType: "complete",
            ...task,
            lastUpdatedAt: "2025-11-25T10:30:01.000Z",
            status: "input_required",
            inputRequests: {
              [key]: {
                method: "elicitation/create",
                params: {
                  mode: "form",
                  message: "Please enter your name.",
                  requestedSchema: {
                    $schema: "https://json-schema.org/draft/2020-12/schema",
                    type: "object",
                    properties: { name: { type: "string" } },
                    required: ["name"],
                  },
                },
              },
            },
          },
        });
        assert.deepEqual(await get(5), { ...asked, id: 5 });

        const inputResponses = { [key]: { action: "accept", content: { name: "Luca" } } };
        assert.deepEqual((await rpc.request("tasks/update", { taskId, inputResponses }, { id: 6 })).message, {
          jsonrpc: "2.0",
          id: 6,
          result: { resultType: "complete", _meta: META },
        });
        assert.deepEqual(await get(7), {
          jsonrpc: "2.0",
          id: 7,
          result: { resultType: "complete", ...task, lastUpdatedAt: "2025-11-25T10:30:01.000Z", status: "working" },
        });

        greets.open();
        await clock.advance(1);
        assert.deepEqual(await get(8), {
          jsonrpc: "2.0",
          id: 8,
          result: {
            resultType: "complete",
            ...task,
            lastUpdatedAt: "2025-11-25T10:30:01.000Z",
            status: "completed",
            result: {
              resultType: "complete",
              content: [{ type: "text", text: "Hello, Luca!" }],
              isError: false,
            },
          },
        });
      },
    ),
  );

  it(
    "names what a client lacks that does not know tasks",
    withHost(
      { tools: (host) => host.tool("only_tasks", { task: "required" }, () => "done") },
      async ({ rpc }) => {
        const params = { name: "only_tasks", arguments: {} };
        const reply = await rpc.request("tools/call", params, { id: 1, capabilities: {} });
        assert.equal(reply.status, 400);
        assert.deepEqual(reply.message, {
          jsonrpc: "2.0",
          id: 1,
          error: {
            code: -32021,
            message: "Missing required client capability",
            data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
          },
        });
      },
    ),
  );

  it(
    "says that the server knows tasks when it is discovered",
    withHost({}, async ({ rpc }) => {
      const { capabilities, supportedVersions } = await rpc.result("server/discover");
      assert.deepEqual((capabilities as { extensions: unknown }).extensions, { "io.modelcontextprotocol/tasks": {} });
      assert.ok((supportedVersions as string[]).includes(REVISION));
    }),
  );

  it(
    "notifies of an ended task just as tasks/get tells of it",
    withHost(
      {
        options,
        tools: (host) =>
          host.tool("operate", { task: "required" }, async (_input, task) => {
            await task.sleep("operate", 600_000);
            return { content: [{ type: "text", text: "Operation completed successfully." }], isError: false };
          }),
      },
      async ({ rpc, clock }) => {
        const { taskId } = await rpc.task("operate");
        const { events, acknowledged } = await rpc.listen({ taskIds: [taskId] }, { id: "listen-1" });
        const subscription = { "io.modelcontextprotocol/subscriptionId": "listen-1" };
        assert.deepEqual(acknowledged, { notifications: { taskIds: [taskId] }, _meta: subscription });
        await clock.advance(600_000);
        const { resultType, _meta, ...task } = await rpc.result("tasks/get", { taskId });
        assert.equal(resultType, "complete");
        assert.deepEqual(_meta, META);
        assert.equal(task["status"], "completed");
        const [first, last, response] = await events.rest();
        assert.equal((first?.["params"] as { status?: string } | undefined)?.status, "working");
        assert.deepEqual(last, {
          jsonrpc: "2.0",
          method: "notifications/tasks",
          params: { ...task, _meta: subscription },
        });
        assert.deepEqual(response, {
          jsonrpc: "2.0",
          id: "listen-1",
          result: { resultType: "complete", _meta: { ...META, ...subscription } },
        });
      },
    ),
  );

  it(
    "refuses to listen to tasks for a client that does not know them",
    withHost({}, async ({ rpc }) => {
      const body = { notifications: { taskIds: ["786512e2-9e0d-44bd-8f29-789f320fe840"] } };
      const reply = await rpc.request("subscriptions/listen", body, { id: 12, capabilities: { elicitation: {} } });
      assert.equal(reply.status, 400);
      assert.deepEqual(reply.message, {
        jsonrpc: "2.0",
        id: 12,
        error: {
          code: -32021,
          message: "Missing required client capability",
          data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
        },
      });
    }),
  );

  it(
    "says of an unknown task that it was not found, and of an expired one that it has expired",
    withHost(
      {
        options: { ttlMs: 60_000, retainMs: 1_000, tombstoneMs: 60_000 },
        tools: (host) => host.tool("sleepy", { task: "required" }, (_input, task) => task.sleep("long", 10 ** 9)),
      },
      async ({ rpc, clock }) => {
        const { taskId } = await rpc.task("sleepy");
        const get = async (id: string) => (await rpc.request("tasks/get", { taskId: id }, { id: 70 })).message;
        assert.deepEqual(await get("786512e2-9e0d-44bd-8f29-789f320fe840"), {
          jsonrpc: "2.0",
          id: 70,
          error: { code: -32602, message: "Failed to retrieve task: Task not found" },
        });
        await clock.advance(61_000);
        assert.deepEqual(await get(taskId), {
          jsonrpc: "2.0",
          id: 70,
          error: { code: -32602, message: "Failed to retrieve task: Task has expired" },
        });
      },
    ),
  );
});
