// The host that the fuzz pelts, on stdin and stdout. Its `sizes` tool tells what it holds, and what broke in it.
import { targetHost } from "../../hostile/target.ts";
import { watchForNoise } from "../../hostile/quiet.ts";

const { noises } = watchForNoise();
const host = targetHost({ ttlMs: 1_000, retainMs: 10, tombstoneMs: 10, roundTtlMs: 1_000, inlineWithinMs: 5 });
host.tool("sizes", { task: "forbidden" }, () => JSON.stringify({ sizes: host.sizes, noises }));
host.stdio();
