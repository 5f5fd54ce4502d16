import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connected, serving } from "../support/examples.ts";

const order = (item: string, quantity: number) => ({ name: "order", arguments: { item, quantity } });

describe("the order, a machine", () => {
  const url = serving("order.ts");

  it("ships a small order without a question", () =>
    connected(url(), async (client) => {
      const { structuredContent } = await client.callTool(order("lamp", 2));
      assert.deepEqual(structuredContent, { status: "shipped", total: 70, note: "" });
    }));

  it("waits for a person's approval of a large one, and tells where it is", async () => {
    const asked: string[] = [];
    const told: string[] = [];
    await connected(
      url(),
      async (client) => {
        const { structuredContent } = await client.callTool(order("chair", 40), {
          onTaskStatus: ({ status, statusMessage }) => void told.push(`${status}: ${statusMessage}`),
        });
        assert.deepEqual(structuredContent, { status: "shipped", total: 4800, note: "Approved by a person." });
      },
      {
        form: ({ message }) => {
          asked.push(message);
          return { action: "accept", content: { approve: true } };
        },
      },
    );
    assert.deepEqual(asked, ["Approve 40 × chair for 4800 €?"]);
    assert.ok(told.includes("input_required: waiting for approval"), told.join("\n"));
    assert.ok(told.includes("working: packing 40 boxes"), told.join("\n"));
  });

  it("refuses an order that is not approved, or out of stock", () =>
    connected(url(), async (client) => {
      const { structuredContent: declined } = await client.callTool(order("desk", 3));
      assert.deepEqual(declined, { status: "refused", total: 1440, note: "Not approved." });
      const { structuredContent: missing } = await client.callTool(order("lamp", 501));
      assert.deepEqual(missing, { status: "refused", total: 17535, note: "There are not that many in stock." });
    }));
});
