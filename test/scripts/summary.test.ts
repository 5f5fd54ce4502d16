// Each runner's own last words are read right: a failure that is not counted would pass unseen.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bunCount, denoCount, lineCount, nodeCount, settle } from "../../scripts/lib/summary.mjs";

describe("counting what the runners ran", () => {
  it("reads node --test, where a skipped or cancelled test is a failed one", () => {
    const spec =
      "✔ a (1ms)\nℹ tests 9\nℹ suites 2\nℹ pass 5\nℹ fail 1\nℹ cancelled 1\nℹ skipped 2\nℹ todo 0\n";
    assert.deepEqual(nodeCount(spec), { passed: 5, failed: 4 });
    assert.equal(nodeCount("✔ a (1ms)\n"), undefined);
  });

  it("reads bun test, a file that does not load included", () => {
    assert.deepEqual(bunCount("\n 4 pass\n 0 fail\nRan 4 tests across 1 file. [31.00ms]\n"), { passed: 4, failed: 0 });
    assert.deepEqual(bunCount(" 4 pass\n 2 fail\n 1 error\nRan 6 tests across 3 files. [31.00ms]\n"), {
      passed: 4,
      failed: 2,
    });
    assert.deepEqual(bunCount(" 1 pass\n 1 skip\n 0 fail\nRan 2 tests across 1 file. [3.00ms]\n"), {
      passed: 1,
      failed: 1,
    });
    assert.equal(bunCount("(pass) a\n 4 pass"), undefined);
  });

  it("reads deno test's report, where only the innermost test cases count", () => {
    const xml = `<testsuites name="deno test" tests="5" failures="2" errors="0" time="0.1">
      <testcase name="outer" classname="./a.ts" time="0.006" line="3" col="1">
        <failure message="1 test step failed">1 test step failed.</failure>
      </testcase>
      <testcase name="top" classname="./a.ts" time="0.000" line="8" col="1">
      </testcase>
      <testcase name="outer &gt; a" classname="x" time="0.001" line="1" col="2">
      </testcase>
      <testcase name="outer &gt; b" classname="x" time="0.001" line="1" col="2">
        <failure message="Uncaught">no</failure>
      </testcase>
      <testcase name="outer &gt; c" classname="x" time="0.001" line="1" col="2"/>
    </testsuites>
`;
    assert.deepEqual(denoCount(xml), { passed: 3, failed: 1 });
    assert.equal(denoCount('<testsuites name="deno test">'), undefined);
  });

  it("reads a script's last line", () => {
    assert.deepEqual(lineCount("a\n1 passed, 0 failed\n\n12 passed, 3 failed\n"), { passed: 12, failed: 3 });
    assert.deepEqual(lineCount("0 checks passed, 591 failed.\n"), { passed: 0, failed: 591 });
    assert.equal(lineCount("all is well"), undefined);
  });

  it("takes a runner that failed, ran nothing or came to no end as a failure", () => {
    assert.equal(settle({ passed: 3, failed: 0 }, true).failed, 0);
    assert.equal(settle({ passed: 3, failed: 2 }, false).failed, 2);
    assert.equal(settle({ passed: 3, failed: 0 }, false).failed, 1);
    assert.equal(settle({ passed: 0, failed: 0 }, true).failed, 1);
    assert.equal(settle(undefined, true).failed, 1);
  });
});
