import type { Runtime } from "../scripts/lib/runtimes.mjs";
import { startChild, withChildren } from "./lib/child.ts";
import type { Report } from "./lib/report.ts";
import type { Sizes } from "./sizes.ts";

type Times = Record<string, number>;

/** What an operation costs among more and more live tasks, each number of them in a process of its own. */
export async function flat(runtime: Runtime, { flat: { live, operations, rounds } }: Sizes): Promise<Report> {
  const measured: { count: number; times: Times }[] = [];
  for (const count of live) {
    const times = await withChildren({ child: startChild(runtime, "flat.child.ts", [String(count)]) }, ({ child }) =>
      child.ask<Times>("measure", { operations, rounds }),
    );
    measured.push({ count, times });
  }
  const [fewest] = measured;
  if (fewest === undefined) throw new RangeError("There is no number of live tasks to measure at.");
  return {
    name: "flat",
    title: "An operation among live tasks",
    rows: Object.entries(fewest.times).flatMap(([operation, least]) =>
      measured.map(({ count, times }, index) => {
        const value = times[operation] ?? Number.NaN;
        return {
          what: `${operation}, ${count} tasks`,
          value,
          unit: "µs",
          ratio: value / least,
          peer: `${fewest.count} tasks`,
          ...(index === measured.length - 1 && { aim: "flat" }),
        };
      }),
    ),
  };
}
