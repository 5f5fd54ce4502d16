// A host that has nothing to do: it holds no process, and says nothing.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runProgram } from "../support/child.ts";

describe("an idle host", () => {
  it("holds no process by what it holds: tasks, calls that wait, an open stream", async () => {
    assert.deepEqual(await runProgram("idle", ["dropped"]), { code: 0, output: "" });
  });

  it("lets the process end once it is closed, having said nothing all the while", async () => {
    assert.deepEqual(await runProgram("idle", ["served"]), { code: 0, output: "" });
  });
});
