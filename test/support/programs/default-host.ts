// A host as a module's default export: what `bun run` and `deno serve` take.
import { createHost } from "../../../src/mod.ts";

const host = createHost({ name: "default-host", version: "1.0.0" });
host.tool("quick", {}, () => "done");
host.tool("external", { task: "required" }, (_input, task) => task.external());

export default host;
