// The server that the conformance suite is run against: `PORT=3000 node test/conformance/server.ts`; PORT=0 takes any
// free port. It runs on Node, Bun and Deno.

import process from "node:process";
import { createHost, serve } from "../../src/mod.ts";
import { everythingOptions, registerEverything } from "./everything.ts";
import { addTaskTools } from "./task-tools.ts";

const host = createHost({
  name: "errand-conformance",
  version: "1.0.0",
  serverOptions: everythingOptions,
  setup: (server) => registerEverything(server, { notify: host.notify }),
});
addTaskTools(host);

const { url } = await serve(host, { port: Number(process.env["PORT"] ?? 3000) });
console.log(`listening on ${url}`);
