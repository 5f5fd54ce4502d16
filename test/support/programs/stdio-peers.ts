// The peers' host on stdin and stdout, until its client goes. The `address` tool serves it over HTTP as well.
import type { Served } from "../../../src/mod.ts";
import { serve } from "../../../src/mod.ts";
import { createPeerHost } from "../peer-tools.ts";

const host = createPeerHost();
let served: Promise<Served> | undefined;
host.tool("address", { task: "forbidden" }, async () => {
  served ??= serve(host, { port: 0 });
  return (await served).url;
});
await host.stdio().closed;
await (await served)?.close();
