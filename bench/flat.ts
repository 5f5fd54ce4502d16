import type { Runtime } from "../scripts/lib/runtimes.mjs";
import { startChild, withChildren } from "./lib/child.ts";
import type { Report, Row } from "./lib/report.ts";
import type { Sizes } from "./sizes.ts";

type Times = Record<string, number>;

/** The operation that is Errand's peer: a look-up without it. */
const BARE = "get from a bare Map";

/** What an operation costs among more and more live tasks, each number of them in a process of its own. */
export async function flat(runtime: Runtime, { flat: { live, operations, rounds } }: Sizes): Promise<Report> {
  const measured: { count: number; times: Times }[] = [];
  for (const count of live) {
    const times = await withChildren({ child: startChild(runtime, "flat.child.ts", [String(count)]) }, ({ child }) =>
      child.ask<Times>("measure", { operations, rounds }),
    );
    measured.push({ count, times });
  }
  const [fewest, most] = [measured[0], measured.at(-1)];
  if (fewest === undefined || most === undefined) throw new RangeError("There is no number of live tasks.");
  const growth = Object.keys(fewest.times).flatMap((operation) =>
    measured.map(({ count, times }): Row => {
      const value = times[operation] ?? Number.NaN;
      const ratio = value / (fewest.times[operation] ?? Number.NaN);
      const aim = count === most.count && operation !== BARE && { aim: "flat" };
      return { what: `${operation}, ${count} tasks`, value, unit: "µs", ratio, peer: `${fewest.count} tasks`, ...aim };
    }),
  );
  // Where memory is slower the larger it is, both are.
  const value = most.times["get"] ?? Number.NaN;
  const ratio = value / (most.times[BARE] ?? Number.NaN);
  const peer = `a bare Map of ${most.count}`;
  const besides: Row = { what: `get, ${most.count} tasks`, value, unit: "µs", ratio, peer };
  return { name: "flat", title: "An operation among live tasks", rows: [...growth, besides] };
}
