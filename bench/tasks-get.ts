import type { Runtime } from "../scripts/lib/runtimes.mjs";
import type { Child } from "./lib/child.ts";
import { startChild, withChildren } from "./lib/child.ts";
import type { Report } from "./lib/report.ts";
import { median, medianRatio } from "./lib/statistics.ts";
import type { Sizes } from "./sizes.ts";

const servers = ["errand", "hono", "sdk"] as const;
type Server = (typeof servers)[number];

interface Round {
  readonly perSecond: number;
  /** Microseconds of the server's processor time for one request. */
  readonly cpu: number;
}

/** `tasks/get` over HTTP, in turn with a bare Hono endpoint and the SDK, each in a process of its own. */
export async function tasksGet(runtime: Runtime, { get }: Sizes): Promise<Report> {
  const started = {
    errand: startChild(runtime, "tasks-get.server.ts", ["errand"]),
    hono: startChild(runtime, "tasks-get.server.ts", ["hono"]),
    sdk: startChild(runtime, "tasks-get.server.ts", ["sdk"]),
    client: startChild("node", "lib/http-client.child.ts"),
  };
  return withChildren(started, async (children) => {
    const rounds: Record<Server, Round[]> = { errand: [], hono: [], sdk: [] };
    // The first round warms the servers up.
    for (let round = 0; round <= get.rounds; round += 1) {
      for (const server of servers) {
        const measured = await load(children[server], children.client, get);
        if (round > 0) rounds[server].push(measured);
      }
    }
    const perSecond = (server: Server) => rounds[server].map((round) => round.perSecond);
    const cpu = (server: Server) => rounds[server].map((round) => round.cpu);
    const row = (server: Server, what: string, aims?: readonly [string, string]) => [
      {
        what,
        value: median(perSecond(server)),
        unit: "requests/s",
        ratio: medianRatio(perSecond(server), perSecond("hono")),
        peer: "bare Hono",
        ...(aims !== undefined && { aim: aims[0] }),
      },
      {
        what: `${what}: the server's processor time`,
        value: median(cpu(server)),
        unit: "µs/request",
        ratio: medianRatio(cpu(server), cpu("hono")),
        peer: "bare Hono",
        ...(aims !== undefined && { aim: aims[1] }),
      },
    ];
    return {
      name: "tasks-get",
      title: "tasks/get over HTTP",
      rows: [
        // Where the client is what cannot keep up, the processor's time tells more.
        ...row("errand", "Errand", ["at least 0.9", "at most 1.11"]),
        ...row("hono", "bare Hono"),
        ...row("sdk", "SDK, McpServer with 10 tools"),
      ],
    };
  });
}

async function load(server: Child, client: Child, options: Sizes["get"]): Promise<Round> {
  const start = await server.ask<{ url: string; taskIds: string[] }>("start");
  const before = await server.ask<number>("cpu");
  const { answered, perSecond } = await client.ask<{ answered: number; perSecond: number }>("load", {
    ...start,
    ...options,
  });
  const after = await server.ask<number>("cpu");
  return { perSecond, cpu: (after - before) / answered };
}
