import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageError, addressOf, readHeaders, splitCommand } from "../../src/cli/arguments.ts";
import { waitCommand } from "../../src/cli/show.ts";
import { clean, cleanLine, duration, parseDuration, quoted, toJson } from "../../src/cli/text.ts";

describe("the command of a server", () => {
  const options = { json: { type: "boolean" }, timeout: { type: "string" } } as const;
  const split = (line: string) => splitCommand(line.split(" "), options);

  it("is what follows --", () => {
    assert.deepEqual(split("tool {} --json"), { own: ["tool", "{}", "--json"], command: undefined });
    assert.deepEqual(split("tool {} -- node s.ts --json"), { own: ["tool", "{}"], command: ["node", "s.ts", "--json"] });
    assert.deepEqual(split("tool -- npm run s -- --x"), { own: ["tool"], command: ["npm", "run", "s", "--", "--x"] });
    assert.deepEqual(split("-- node s.ts"), { own: [], command: ["node", "s.ts"] });
  });

  it("ends at the last -- where nothing but options is before the first", () => {
    assert.deepEqual(split("-- node s.ts -- tool {}"), { own: ["tool", "{}"], command: ["node", "s.ts"] });
    assert.deepEqual(split("--timeout 5m -- npm run s -- --x -- tool"), {
      own: ["--timeout", "5m", "tool"],
      command: ["npm", "run", "s", "--", "--x"],
    });
  });

  it("is not nothing", () => {
    for (const line of ["tool --", "--", "-- -- tool"]) assert.throws(() => split(line), UsageError, line);
  });

  it("or else its URL says where a server is", () => {
    assert.deepEqual(addressOf("http://127.0.0.1:1/mcp", undefined), { url: "http://127.0.0.1:1/mcp" });
    assert.deepEqual(addressOf(undefined, ["node"]), { command: ["node"] });
    assert.throws(() => addressOf(undefined, undefined), /Name the server/);
    assert.throws(() => addressOf("http://a/", ["node"]), /once/);
    for (const url of ["ftp://a/", "a", "http://"]) assert.throws(() => addressOf(url, undefined), /no URL/, url);
  });
});

describe("headers", () => {
  it("have a name and a value", () => {
    assert.deepEqual(readHeaders(["X-Tenant: ann: and bob", "a:"]), { "x-tenant": "ann: and bob", a: "" });
    for (const header of ["nothing", ": value", "a b: c", "a: b\nc"]) assert.throws(() => readHeaders([header]), UsageError);
  });
});

describe("durations", () => {
  it("are read in seconds, or with a unit", () => {
    const read = { 90: 90_000, "90s": 90_000, "1.5": 1_500, "5m": 300_000, "2h": 7_200_000, "500ms": 500, 0: 0 };
    for (const [text, ms] of Object.entries(read)) assert.equal(parseDuration(text), ms, text);
    for (const text of ["", "five", "5d", "-1", "1 m", "1e3", "Infinity"]) assert.equal(parseDuration(text), undefined, text);
  });

  it("are told as people do", () => {
    const told = { 0: "0s", 500: "0.5s", 42_000: "42s", 185_000: "3m 05s", 3_725_000: "1h 02m" };
    for (const [ms, text] of Object.entries(told)) assert.equal(duration(Number(ms)), text);
  });
});

describe("a text from elsewhere", () => {
  it("loses what a terminal would obey, and keeps its words", () => {
    const obeyed = ["\u001b[31m", "\u001b]0;title\u0007", "\u001b]8;;http://evil\u001b\\", "\u009b2J", "\u0007", "\b", "\r", "\u202e", "\u2066"];
    for (const sequence of obeyed) {
      const cleaned = clean(`before${sequence}after`);
      // oxlint-disable-next-line no-control-regex -- none of these may be left
      assert.doesNotMatch(cleaned, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/, JSON.stringify(sequence));
      assert.ok(cleaned.startsWith("before") && cleaned.endsWith("after"), cleaned);
    }
    assert.equal(clean("Zwei\r\nZeilen\tund ünïcode 🎉"), "Zwei\nZeilen\tund ünïcode 🎉");
  });

  it("is one line where there is room for one", () => {
    assert.equal(cleanLine(" a\n b\tc "), "a b c");
    assert.equal(cleanLine("x".repeat(20), 5), "xxxxx…");
  });

  it("keeps everything as JSON, and shows nothing of it to the terminal", () => {
    const value = { text: "\u001b[31m\u009b\u007f\u202e\n" };
    const json = toJson(value);
    assert.match(json, /^[ -~]+$/);
    assert.deepEqual(JSON.parse(json), value);
  });
});

describe("what to write to go on", () => {
  it("is the reference, and the command where the server is one", () => {
    assert.equal(waitCommand("errand1_x", { url: "http://localhost/mcp?key=secret" }), "errand wait errand1_x");
    const command = ["node", "my server.ts", "--x"] as const;
    assert.equal(waitCommand("errand1_x", { command }), "errand wait errand1_x -- node 'my server.ts' --x");
  });
});

describe("a word for a shell", () => {
  it("is quoted where it has to be", () => {
    assert.equal(quoted("server.ts"), "server.ts");
    assert.equal(quoted("it's $HOME"), "'it'\\''s $HOME'");
    assert.equal(quoted(""), "''");
  });
});
