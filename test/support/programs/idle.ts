// Leaves a host behind with all it can hold, and does nothing more: the process has to end by itself. With "served" the
// host was served over HTTP for a while and is closed; with "dropped" nothing is closed at all.
import { createHost, serve } from "../../../src/mod.ts";
import { Rpc } from "../rpc.ts";
import { patiently } from "../until.ts";

const mode = process.argv.at(-1);
const host = createHost({ name: "idle", version: "1.0.0", keepAliveMs: 20, pollIntervalMs: 50 });
host
  .tool("external", { task: "required" }, (_input, task) => task.external())
  .tool("sleeps", { task: "required" }, async (_input, task) => task.sleep("long", 3_600_000))
  .tool("hangs", { task: "required" }, async (_input, task) => {
    task.signal.addEventListener("abort", () => {});
    await new Promise(() => {});
  })
  .tool("asks", { task: "forbidden" }, async (_input, task) => (await task.roots()).length.toString());

const served = mode === "served" ? await serve(host, { port: 0 }) : undefined;
const rpc = new Rpc(served?.url ?? host);
const taskIds: string[] = [];
for (const tool of ["external", "sleeps", "hangs"]) taskIds.push((await rpc.task(tool)).taskId);
await rpc.call("asks");
const { events } = await rpc.listen({ taskIds, toolsListChanged: true });
for (const _ of taskIds) await events.next();

// Nothing here holds the process meanwhile but the patience.
await patiently(async () => {
  for (let signsOfLife = 0; signsOfLife < 5; ) {
    if ((await events.frame())?.kind === "comment") signsOfLife += 1;
  }
});
if (served !== undefined) await served.close();
