import type { Runtime } from "../scripts/lib/runtimes.mjs";
import { startChild, withChildren } from "./lib/child.ts";
import type { Report } from "./lib/report.ts";
import { median, medianRatio } from "./lib/statistics.ts";
import type { Sizes } from "./sizes.ts";

const ways = ["plain", "inline", "task", "sdk"] as const;
type Way = (typeof ways)[number];

/** A call that becomes a task, one answered inline, and the SDK's own, against the same tool plain: in turn. */
export async function toolCall(runtime: Runtime, { call: { calls, rounds } }: Sizes): Promise<Report> {
  const times: Record<Way, number[]> = { plain: [], inline: [], task: [], sdk: [] };
  await withChildren({ child: startChild(runtime, "tool-call.child.ts") }, async ({ child }) => {
    // The first round warms everything up.
    for (let round = 0; round <= rounds; round += 1) {
      for (const way of ways) {
        const time = await child.ask<number>("time", { way, calls });
        if (round > 0) times[way].push(time);
      }
    }
  });
  const row = (way: Way, what: string) => ({
    what,
    value: median(times[way]),
    unit: "µs/call",
    ratio: medianRatio(times[way], times.plain),
    peer: "plain",
  });
  return {
    name: "tool-call",
    title: "A tool call, by fetch in process",
    rows: [
      row("task", "becomes a task (required)"),
      row("inline", "answered inline (optional)"),
      row("plain", "plain (forbidden)"),
      row("sdk", "the SDK's own tool"),
    ],
  };
}
