// Every measurement runs, on sizes of which nothing can be told: no figure is judged here.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Report } from "../../bench/lib/report.ts";
import { endOfResponse } from "../../bench/lib/response.ts";
import { median, medianRatio, quantile } from "../../bench/lib/statistics.ts";
import { run } from "../../scripts/lib/command.mjs";
import { runFile, runningOn } from "../../scripts/lib/runtimes.mjs";

const bench = (...args: string[]) => run(runFile(runningOn(), "bench/main.ts", args), { minutes: 2 });

describe("the bench", () => {
  it("measures everything and prints JSON alone", async () => {
    const { ok, stdout, output } = await bench("--tiny", "--json");
    assert.ok(ok, output);
    const [result, ...others] = JSON.parse(stdout) as { runtime: string; version: string; reports: Report[] }[];
    assert.ok(result);
    assert.deepEqual(others, []);
    assert.equal(result.runtime, runningOn());
    assert.match(result.version, /^\d+\.\d+\.\d+$/);
    assert.deepEqual(
      result.reports.map(({ name }) => name),
      ["tasks-get", "heap", "flat", "tool-call", "listen", "follow"],
    );
    for (const { name, rows } of result.reports) {
      assert.ok(rows.length > 0, name);
      for (const { what, value, ratio, peer } of rows) {
        assert.ok(Number.isFinite(value), `${name}: ${what}`);
        assert.ok(Number.isFinite(ratio), `${name}: ${what}`);
        assert.ok(typeof peer === "string" && peer !== "", `${name}: ${what}`);
      }
    }
  });

  it("measures by name, and prints a table headed by the runtime and its version", async () => {
    const { ok, output } = await bench("--tiny", "tool");
    assert.ok(ok, output);
    assert.match(output, /^(Node|Bun|Deno) \d+\.\d+\.\d+ on /);
    assert.match(output, /becomes a task .* µs\/call .* × plain/);
    assert.doesNotMatch(output, /tasks\/get/);
  });

  it("names what there is when asked for something else", async () => {
    const { code, output } = await bench("nothing-of-the-kind");
    assert.equal(code, 2);
    assert.match(output, /tasks-get, heap, flat, tool-call, listen, follow/);
  });
});

describe("the bench's tools", () => {
  it("take medians, quantiles, and ratios round by round", () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(quantile([4, 1, 3, 2], 0.99), 4);
    assert.equal(medianRatio([10, 40, 30], [5, 10, 10]), 3);
    assert.throws(() => median([]), RangeError);
  });

  it("find the end of a response with a length, and of a chunked one", () => {
    const sized = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    assert.equal(endOfResponse(sized), sized.length);
    assert.equal(endOfResponse(`${sized}HTTP`), sized.length);
    assert.equal(endOfResponse(sized.slice(0, -1)), undefined);
    const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    assert.equal(endOfResponse(chunked), chunked.length);
    assert.equal(endOfResponse(chunked.slice(0, -1)), undefined);
  });
});
