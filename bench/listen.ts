import type { Runtime } from "../scripts/lib/runtimes.mjs";
import type { Child } from "./lib/child.ts";
import { startChild, withChildren } from "./lib/child.ts";
import type { Report, Row } from "./lib/report.ts";
import { median, medianRatio, quantile } from "./lib/statistics.ts";
import type { Sizes } from "./sizes.ts";

type Server = "errand" | "hono";

interface Crowd {
  /** Milliseconds from the handler's last line to the last listener's message. */
  readonly last: number;
  /** Microseconds of the server's processor time for each listener. */
  readonly cpu: number;
}

/** How many milliseconds lie between the ends of two tasks. */
const EVERY_MS = 3;

/** From a handler's last line to the message a listener has on the other side of loopback HTTP. */
export async function listen(runtime: Runtime, { listen: { tasks, listeners, rounds } }: Sizes): Promise<Report> {
  const started = {
    errand: startChild(runtime, "listen.server.ts", ["errand"]),
    hono: startChild(runtime, "listen.server.ts", ["hono"]),
    client: startChild("node", "lib/http-client.child.ts"),
  };
  return withChildren(started, async ({ client, ...servers }) => {
    const hear = async (server: Child, count: number, each: number): Promise<{ delays: number[]; cpu: number }> => {
      const url = await server.ask<string>("start");
      const taskIds: string[] = [];
      for (let index = 0; index < count; index += 1) taskIds.push(await client.ask<string>("call", { url }));
      await client.ask("listen", { url, taskIds, listeners: each });
      const before = await server.ask<number>("cpu");
      await server.ask("finish", { everyMs: EVERY_MS });
      const delays = await client.ask<number[]>("collect");
      return { delays, cpu: (await server.ask<number>("cpu")) - before };
    };

    const alone: Record<Server, number[]> = { errand: [], hono: [] };
    const crowd: Record<Server, Crowd[]> = { errand: [], hono: [] };
    // The first round warms the servers up.
    for (let round = 0; round <= rounds; round += 1) {
      for (const server of ["errand", "hono"] as const) {
        const one = await hear(servers[server], Math.ceil(tasks / rounds), 1);
        const many = await hear(servers[server], 1, listeners);
        if (round === 0) continue;
        alone[server].push(...one.delays);
        crowd[server].push({ last: Math.max(...many.delays), cpu: many.cpu / listeners });
      }
    }

    const rows = (server: Server, name: string): Row[] => {
      const row = (what: string, unit: string, value: number, ratio: number): Row => {
        return { what: `${name}: ${what}`, value, unit, ratio, peer: "bare Hono" };
      };
      const delay = (what: string, share: number) => {
        const value = quantile(alone[server], share);
        return row(what, "ms", value, value / quantile(alone.hono, share));
      };
      const figures = (figure: keyof Crowd, of: Server) => crowd[of].map((one) => one[figure]);
      const ratio = (figure: keyof Crowd) => medianRatio(figures(figure, server), figures(figure, "hono"));
      const last = median(figures("last", server));
      const cpu = median(figures("cpu", server));
      return [
        delay("one listener, median", 0.5),
        delay("one listener, p99", 0.99),
        row(`the last of ${listeners} listeners`, "ms", last, ratio("last")),
        row(`${listeners} listeners, for each`, "µs", (last * 1_000) / listeners, ratio("last")),
        row(`${listeners} listeners, processor time for each`, "µs", cpu, ratio("cpu")),
      ];
    };
    return {
      name: "listen",
      title: "From a handler's last line to a listener's message, over HTTP",
      rows: [...rows("errand", "Errand"), ...rows("hono", "bare Hono")],
    };
  });
}
