// Fixtures of the `tasks-*` scenarios, with Errand's own tools.

import { z } from "zod";
import { ProtocolError } from "../../src/mod.ts";
import type { Host } from "../../src/mod.ts";

/** Adds the seven tools that the Tasks scenarios call. */
export function addTaskTools(host: Host): void {
  host.tool(
    "greet",
    { description: "Greets; never a task", inputSchema: z.object({ name: z.string() }), task: "forbidden" },
    ({ name }) => `Hello, ${name}!`,
  );
  host.tool(
    "slow_compute",
    {
      description: "Takes as long as it is told to; a task when that is long",
      inputSchema: z.object({ seconds: z.number(), label: z.string() }),
      task: "optional",
    },
    async ({ seconds, label }, task) => {
      await task.sleep("compute", seconds * 1000);
      return `Computed ${label} in ${seconds} s`;
    },
  );
  host.tool("failing_job", { description: "Ends with a tool's error", task: "required" }, async (_input, task) => {
    await task.sleep("work", 1000);
    return { content: [{ type: "text", text: "The job failed, as it always does" }], isError: true };
  });
  host.tool(
    "protocol_error_job",
    { description: "Ends with a protocol's error", task: { mode: "optional", inlineWithinMs: 0 } },
    () => {
      throw new ProtocolError(-32000, "The job broke, as it always does");
    },
  );
  host.tool(
    "confirm_delete",
    { description: "Asks before it deletes", inputSchema: z.object({ filename: z.string() }), task: "optional" },
    async ({ filename }, task) => {
      const { confirm } = await task.elicit(`Delete ${filename}?`, z.object({ confirm: z.boolean() }));
      return confirm ? `Deleted ${filename}` : `Kept ${filename}`;
    },
  );
  host.tool("multi_input", { description: "Asks two things at once", task: "optional" }, async (_input, task) => {
    const [{ name }, { confirm }] = await Promise.all([
      task.elicit("What is your name?", z.object({ name: z.string() })),
      task.elicit("Shall it go on?", z.object({ confirm: z.boolean() })),
    ]);
    return `${name} said ${confirm ? "yes" : "no"}`;
  });
  host.tool(
    "test_tool_with_task",
    { description: "Asks first, then becomes a task", task: { mode: "required", inlineWithinMs: Infinity } },
    async (_input, task) => {
      const { name } = await task.elicit("What is your name?", z.object({ name: z.string() }));
      await task.begin();
      return `Hello, ${name}!`;
    },
  );
}
