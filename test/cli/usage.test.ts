import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, it } from "node:test";
import { UsageError } from "../../src/cli/arguments.ts";
import { main } from "../../src/cli/commands.ts";
import { EXIT } from "../../src/cli/show.ts";
import { InvalidReferenceError } from "../../src/mod.ts";
import { run } from "../support/cli.ts";

const program = fileURLToPath(new URL("../support/programs/cli-host.ts", import.meta.url));

describe("what is written wrongly", () => {
  const wrong: Record<string, [string[], RegExp]> = {
    "no such command": [["cal"], /no command "cal": see errand --help/],
    "no server": [["call"], /Name the server/],
    "no URL": [["tools", "localhost"], /"localhost" is no URL/],
    "no tool": [["call", "http://localhost/mcp"], /Name the tool/],
    "no tool beside a command": [["call", "--", "node", "server.ts"], /after a second one/],
    "no command": [["call", "quick", "--"], /After -- comes the command/],
    "no JSON": [["call", "http://localhost/mcp", "quick", "{a}"], /a JSON object, such as/],
    "no object": [["call", "http://localhost/mcp", "quick", "[1]"], /a JSON object, such as/],
    "too much": [["call", "http://localhost/mcp", "quick", "{}", "{}"], /one too many/],
    "no such option": [["call", "http://localhost/mcp", "quick", "--jsn"], /--jsn/],
    "no duration": [["call", "http://localhost/mcp", "quick", "--timeout", "soon"], /--timeout takes a duration/],
    "no time": [["call", "http://localhost/mcp", "quick", "--timeout", "0"], /--timeout takes a duration/],
    "no such mode": [["call", "http://localhost/mcp", "quick", "--mode", "push"], /auto, listen or poll/],
    "no header": [["call", "http://localhost/mcp", "quick", "--header", "x"], /--header/],
    "a header without a URL": [["tools", "--header", "a: b", "--", "node"], /--header is for/],
    "no reference": [["wait"], /the reference of a task/],
    "a reference that is none": [["wait", "abc"], /^The reference cannot be used/],
    "a damaged reference": [["cancel", "errand1_abc"], /damaged/],
    "no module": [["serve"], /Name one module/],
    "a module that is not there": [["serve", "no-such-module.ts"], /There is no /],
    "no port": [["serve", program, "--port", "http"], /--port takes/],
  };

  it("is told", async () => {
    for (const [what, [args, told]] of Object.entries(wrong)) {
      await assert.rejects(main(args), (error) => {
        assert.ok(error instanceof UsageError || error instanceof InvalidReferenceError, what);
        assert.match(error.message, told, what);
        return true;
      });
    }
  });

  it("is told in one line, with 2", async () => {
    const mistyped = { code: 2, stdout: "", stderr: 'errand: There is no command "cal": see errand --help.\n' };
    assert.deepEqual(await run(["cal"]), mistyped);
    const { code, stderr } = await run(["wait", "abc"]);
    assert.equal(code, 2);
    assert.match(stderr, /^errand: The reference cannot be used: [^\n]+\n$/);
  });

  it("can be looked up", async () => {
    const help = await run(["--help"]);
    assert.equal(help.code, 0);
    for (const command of ["serve", "call", "tools", "wait", "cancel"]) {
      assert.match(help.stdout, new RegExp(`^ {2}errand ${command} <`, "m"));
    }
    assert.deepEqual(await run([]), { ...help, code: 2 });
    assert.match((await run(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
  });

  it("has exit codes that are told in README and --help", async () => {
    const codes = Object.values(EXIT).map(String);
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    assert.deepEqual([...readme.matchAll(/^\| `(\d+)` \|/gm)].map(([, code]) => code), codes);
    const { stdout } = await run(["--help"]);
    assert.deepEqual([...stdout.matchAll(/^ {2}(\d+) /gm)].map(([, code]) => code), codes);
  });

  it("can be looked up command by command", async () => {
    const own = await run(["call", "--help"]);
    assert.equal(own.code, 0);
    assert.match(own.stdout, /^ {2}errand call \[options\] <url> <tool>[^]*--timeout[^]*Exit codes:/m);
  });
});
