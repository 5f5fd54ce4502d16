// The peers' tools on stdin and stdout.
import { createHost } from "../../../src/mod.ts";
import { addPeerTools } from "../peers.ts";

const host = createHost({ name: "peer-host", version: "1.0.0", pollIntervalMs: 20 });
addPeerTools(host);
host.stdio();
