import type { Runtime } from "../scripts/lib/runtimes.mjs";
import { startChild, withChildren } from "./lib/child.ts";
import type { Report, Row } from "./lib/report.ts";
import type { Sizes } from "./sizes.ts";

interface Made {
  readonly bytes: number;
  readonly perSecond: number;
}

/** Heap of a task that lives and does nothing, and how fast such tasks are made, each way in a process of its own. */
export async function heap(runtime: Runtime, { heap: { tasks, requests } }: Sizes): Promise<Report> {
  const make = (way: string, count: number) =>
    withChildren({ child: startChild(runtime, "heap.child.ts", [way]) }, ({ child }) =>
      child.ask<Made>("make", { tasks: count }),
    );
  const actor = await make("xstate", tasks);
  const rows = (what: string, made: Made, aim?: string): Row[] => [
    {
      what,
      value: made.bytes,
      unit: "bytes/task",
      ratio: made.bytes / actor.bytes,
      peer: "bare XState actor",
      ...(aim !== undefined && { aim }),
    },
    {
      what: `${what}: made`,
      value: made.perSecond,
      unit: "tasks/s",
      ratio: made.perSecond / actor.perSecond,
      peer: "bare XState actor",
    },
  ];
  const aim = "under 6 000 bytes";
  return {
    name: "heap",
    title: `Heap of each of ${tasks} live idle tasks`,
    rows: [
      ...rows("a handler that waits", await make("handler", tasks), aim),
      ...rows("an external task", await make("external", tasks), aim),
      ...rows(`a handler that waits, called by request (${requests})`, await make("requests", requests), aim),
      ...rows("bare XState actor", actor),
    ],
  };
}
