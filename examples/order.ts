// An order that waits for approval: an XState machine as a tool. Its states are the task's progress, what it emits asks
// and tells, its output is the result. A small order is quick and answered inline; a large one becomes a task.
//
//   node examples/order.ts
//   node src/cli/main.ts call http://127.0.0.1:3000/mcp order '{"item":"chair","quantity":40}'

import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { assign, emit, fromPromise, setup } from "xstate";
import { z } from "zod";
import type { TaskAnswerEvent, TaskEmitted } from "../src/mod.ts";
import { createHost, serve } from "../src/mod.ts";

const PRICES: Record<string, number> = { chair: 120, desk: 480, lamp: 35 };
/** Orders over this are approved by a person. */
const APPROVAL_FROM = 1_000;

const order = z.object({ item: z.enum(["chair", "desk", "lamp"]), quantity: z.int().positive() });
const outcome = z.object({ status: z.enum(["shipped", "refused"]), total: z.number(), note: z.string() });
const approval = z.object({ approve: z.boolean().default(true) });

const reserveStock = fromPromise(async ({ input }: { input: z.infer<typeof order> }) => {
  await delay(20);
  if (input.quantity > 500) throw new Error("out of stock");
});

const orderMachine = setup({
  types: {
    input: {} as z.infer<typeof order>,
    context: {} as z.infer<typeof order> & { total: number; note: string },
    events: {} as TaskAnswerEvent,
    emitted: {} as TaskEmitted,
    output: {} as z.infer<typeof outcome>,
  },
  actors: { reserveStock },
  guards: {
    isLarge: ({ context }) => context.total > APPROVAL_FROM,
    isApproved: ({ event }) =>
      event.type === "task.answer" && event.action === "accept" && approval.parse(event.content).approve,
  },
  actions: {
    askForApproval: emit(({ context }) => ({
      type: "task.elicit" as const,
      name: "approval",
      message: `Approve ${context.quantity} × ${context.item} for ${context.total} €?`,
      schema: approval,
    })),
    tellPacking: emit(({ context: { quantity } }) => ({
      type: "task.status" as const,
      message: `packing ${quantity} boxes`,
    })),
  },
}).createMachine({
  id: "order",
  context: ({ input }) => ({ ...input, total: (PRICES[input.item] ?? 0) * input.quantity, note: "" }),
  initial: "reserving stock",
  states: {
    "reserving stock": {
      invoke: {
        src: "reserveStock",
        input: ({ context }) => context,
        onDone: [{ guard: "isLarge", target: "waiting for approval" }, { target: "packing" }],
        onError: { target: "refused", actions: assign({ note: "There are not that many in stock." }) },
      },
    },
    "waiting for approval": {
      entry: "askForApproval",
      on: {
        "task.answer": [
          { guard: "isApproved", target: "packing", actions: assign({ note: "Approved by a person." }) },
          { target: "refused", actions: assign({ note: "Not approved." }) },
        ],
      },
    },
    packing: { entry: "tellPacking", after: { 50: "shipped" } },
    shipped: { type: "final", output: "shipped" },
    refused: { type: "final", output: "refused" },
  },
  output: ({ context: { total, note }, event }) => ({
    status: outcome.shape.status.parse(event.output),
    total,
    note,
  }),
});

const host = createHost({ name: "orders", version: "1.0.0" });
host.tool(
  "order",
  { description: "Orders furniture", inputSchema: order, outputSchema: outcome },
  orderMachine,
);

const { url } = await serve(host, { port: Number(process.env["PORT"] ?? 3000) });
console.log(`Orders are taken at ${url}`);
