import { setTimeout } from "node:timers/promises";
import type { Runtime } from "../scripts/lib/runtimes.mjs";
import type { Child } from "./lib/child.ts";
import { startChild, withChildren } from "./lib/child.ts";
import type { Report, Row } from "./lib/report.ts";
import { median, quantile } from "./lib/statistics.ts";
import type { Sizes } from "./sizes.ts";

type Way = "auto" | "poll" | "ext-tasks";
type Counts = Record<string, number>;

interface Followed {
  /** Requests while the tasks were made, while nothing happened to them, and until all results were there. */
  readonly requests: Readonly<Record<"making" | "idle" | "ending", Counts>>;
  /** Of the client's heap for each task, and of its processor's time while they were open. */
  readonly bytes: number;
  readonly microseconds: number;
  /** Milliseconds from each task's end to its result. */
  readonly delays: readonly number[];
  /** Why each of the tasks that gave no result was given up. */
  readonly lost: readonly string[];
}

type Collected = Pick<Followed, "delays" | "lost">;

/** How many calls are under way at once, while the tasks are made. */
const CALLS = 32;

/** Many tasks followed at once on one connection, against the official extension package on the same server. */
export async function follow(runtime: Runtime, { follow: size }: Sizes): Promise<Report> {
  const { tasks, pollMs, idleMs, endingMs } = size;
  const measure = (server: Child, way: Way) =>
    withChildren({ client: startChild(runtime, "follow.child.ts", [way]) }, async ({ client }): Promise<Followed> => {
      await client.ask("connect", { url: await server.ask<string>("start") });
      // What is made once, by the first tasks, is no task's weight.
      await client.ask("follow", { tasks: Math.ceil(tasks / 10), calls: CALLS });
      await server.ask("finish", { overMs: endingMs / 10 });
      await client.ask("collect");
      await server.ask("asked");
      await client.ask("follow", { tasks, calls: CALLS });
      // Until the last of them are listened to.
      await setTimeout(Math.min(idleMs, 500));
      const bytes = await client.ask<number>("weigh");
      const before = await client.ask<number>("cpu");
      const making = await server.ask<Counts>("asked");
      await setTimeout(idleMs);
      const microseconds = ((await client.ask<number>("cpu")) - before) / tasks;
      const idle = await server.ask<Counts>("asked");
      const ended = server.ask("finish", { overMs: endingMs });
      const collected = await client.ask<Collected>("collect");
      await ended;
      const ending = await server.ask<Counts>("asked");
      return { requests: { making, idle, ending }, bytes, microseconds, ...collected };
    });

  return withChildren({ server: startChild(runtime, "follow.server.ts", [String(pollMs)]) }, async ({ server }) => {
    const peer = await measure(server, "ext-tasks");
    const auto = await measure(server, "auto");
    const poll = await measure(server, "poll");
    const rows = (name: string, followed: Followed): Row[] => {
      const row = (what: string, unit: string, of: (one: Followed) => number): Row => {
        const value = of(followed);
        return { what: `${name}: ${what}`, value, unit, ratio: value / of(peer), peer: "ext-tasks" };
      };
      const asked = (phases: readonly Counts[], methods: readonly string[]) =>
        phases.flatMap((counts) => methods.map((method) => counts[method] ?? 0)).reduce((a, b) => a + b, 0) / tasks;
      const [get, both] = [["tasks/get"], ["tasks/get", "subscriptions/listen"]];
      return [
        row(`tasks/get while idle for ${idleMs} ms`, "requests/task", ({ requests: { idle } }) => asked([idle], get)),
        row("tasks/get in all", "requests/task", ({ requests }) => asked(Object.values(requests), get)),
        row("with subscriptions/listen", "requests/task", ({ requests }) => asked(Object.values(requests), both)),
        row("heap of the client", "bytes/task", ({ bytes }) => bytes),
        row("the client's processor time while idle", "µs/task", ({ microseconds }) => microseconds),
        row("from a task's end to its result, median", "ms", ({ delays }) => median(delays)),
        row("from a task's end to its result, p99", "ms", ({ delays }) => quantile(delays, 0.99)),
      ];
    };
    const lost = (name: string, { lost: [reason, ...others] }: Followed) =>
      reason === undefined ? "" : `\n  ${name} lost ${others.length + 1} tasks: ${reason}`;
    const losses = lost("Errand listening", auto) + lost("Errand polling", poll) + lost("ext-tasks", peer);
    return {
      name: "follow",
      title: `Tasks followed at once on one connection, whose server wants ${pollMs} ms between two polls${losses}`,
      rows: [
        ...rows(`Errand listening, ${tasks} tasks`, auto),
        ...rows(`Errand polling, ${tasks} tasks`, poll),
        ...rows(`ext-tasks, ${tasks} tasks`, peer),
      ],
    };
  });
}
