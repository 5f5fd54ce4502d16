import assert from "node:assert/strict";
import type { Host, HostOptions, Served } from "../../src/mod.ts";
import { createHost, serve } from "../../src/mod.ts";
import { FakeClock } from "./clock.ts";
import type { Variation } from "./rpc.ts";
import { Rpc } from "./rpc.ts";
import { patiently } from "./until.ts";

/** What a host told `onError`. */
export interface Reported {
  readonly error: unknown;
  readonly about: { taskId?: string; tool?: string };
}

/** A host on a clock that stands still, served on a port of its own. */
export interface Hosting {
  readonly host: Host;
  readonly clock: FakeClock;
  readonly served: Served;
  /** A client of it that knows tasks and can be asked anything, over HTTP. */
  readonly rpc: Rpc;
  /** The same without a connection, through `host.fetch`. */
  readonly direct: Rpc;
  /** What the host told `onError`. A test takes out what it expects; what is left fails it. */
  readonly reported: Reported[];
}

/** What a test's host is made of. */
export interface HostingOptions {
  /** Adds what the test calls. */
  readonly tools?: (host: Host) => void;
  readonly options?: Partial<HostOptions>;
  /** When the clock stands still, in milliseconds since the epoch. Default the start of 2026. */
  readonly now?: number;
  /** How the clients differ from plain ones. */
  readonly client?: Variation;
}

/** A test with a host of its own, which is closed at its end. */
export function withHost(given: HostingOptions, test: (hosting: Hosting) => Promise<void>): () => Promise<void> {
  return async () => {
    const clock = new FakeClock(given.now);
    const reported: Reported[] = [];
    const host = createHost({
      name: "test-host",
      version: "1.2.3",
      clock,
      onError: (error, about) => reported.push({ error, about }),
      ...given.options,
    });
    given.tools?.(host);
    const served = await serve(host, { port: 0 });
    try {
      const { client = {} } = given;
      const rpc = new Rpc(served.url, client);
      await patiently(() => test({ host, clock, served, reported, rpc, direct: new Rpc(host, client) }));
    } finally {
      await served.close();
    }
    assert.deepEqual(reported, [], "the host had nothing to report");
  };
}

/** Takes out what a host reported, each as the tool's name (or a dash) and what went wrong. */
export function takeReports(reported: Reported[]): string[] {
  return reported.splice(0).map(({ error, about }) => {
    return `${about.tool ?? "-"}: ${error instanceof Error ? error.message : String(error)}`;
  });
}
