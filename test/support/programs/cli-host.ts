// What the tests of the command line serve: a module that exports a host, or with `ERRAND_TEST_EXPORT` something else.
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createHost } from "../../../src/mod.ts";

console.log("a word of the module's own");

const host = createHost({ name: "cli-host", version: "1.0.0", onError: (error) => console.error(error) });
host
  .tool("quick", { inputSchema: z.object({ a: z.number() }) }, ({ a }) => `got ${a}`)
  .tool("asks", { task: "required" }, async (_input, task) => {
    const { name } = await task.elicit("What is your name?", z.object({ name: z.string() }));
    return `Hello, ${name}`;
  })
  .tool("environment", {}, () => `${process.env["ERRAND_TEST"]} ${process.env["ERRAND_TOKEN"]}`)
  .tool("takes_a_moment", { task: "required" }, async (_input, task) => {
    // Not even a signal ends this: only its time, or its process.
    task.status("at work");
    await delay(500);
    return "done";
  })
  .tool("never_ends", { task: "required" }, async (_input, task) => {
    task.status("at work");
    await new Promise((resolve) => setTimeout(resolve, 3_600_000));
    return "never";
  });

const exports: Record<string, unknown> = {
  maker: async () => host,
  fetch: { fetch: (request: Request) => host.fetch(request) },
  nothing: { name: "no host" },
};
export default exports[process.env["ERRAND_TEST_EXPORT"] ?? ""] ?? host;
