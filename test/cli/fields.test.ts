import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Field } from "../../src/cli/fields.ts";
import type { JsonObject } from "../../src/mod.ts";

const read = (schema: JsonObject, typed: string, isRequired = true) => new Field("field", schema, isRequired).read(typed);
const hint = (schema: JsonObject, isRequired = true) => new Field("field", schema, isRequired).hint;

/** The values that texts give. */
function accepts(schema: JsonObject, values: Record<string, unknown>): void {
  for (const [typed, value] of Object.entries(values)) assert.deepEqual(read(schema, typed), { value }, typed);
}

function refuses(schema: JsonObject, problems: Record<string, RegExp>): void {
  for (const [typed, expected] of Object.entries(problems)) {
    const answer = read(schema, typed);
    assert.ok("problem" in answer, `${typed} was taken: ${JSON.stringify(answer)}`);
    assert.match(answer.problem, expected);
    assert.doesNotMatch(answer.problem, /field/, "the field's name is beside it already");
  }
}

describe("a field of a form", () => {
  it("takes text, within its bounds", () => {
    accepts({ type: "string" }, { "some words": "some words", " spaced ": "spaced", 12: "12", true: "true" });
    const bounded = { type: "string", minLength: 2, maxLength: 4, pattern: "^[a-z]+$" };
    accepts(bounded, { ab: "ab" });
    refuses(bounded, { a: />=2/, abcde: /<=4/, A1: /pattern/ });
    assert.equal(hint(bounded), " (2 to 4 characters)");
  });

  it("takes text of a format", () => {
    accepts({ type: "string", format: "email" }, { "ann@example.com": "ann@example.com" });
    accepts({ type: "string", format: "uri" }, { "https://example.com/a": "https://example.com/a" });
    accepts({ type: "string", format: "date" }, { "2026-07-28": "2026-07-28" });
    accepts({ type: "string", format: "date-time" }, { "2026-07-28T12:00:00Z": "2026-07-28T12:00:00Z" });
    refuses({ type: "string", format: "email" }, { ann: /email/i });
    refuses({ type: "string", format: "uri" }, { "no page": /url/i });
    refuses({ type: "string", format: "date" }, { "2026-13-01": /date/i, tomorrow: /date/i });
    refuses({ type: "string", format: "date-time" }, { "2026-07-28": /date/i });
    assert.equal(hint({ type: "string", format: "email" }), " (email)");
  });

  it("takes numbers, within their bounds", () => {
    accepts({ type: "number" }, { "1.5": 1.5, "-2": -2, "1e3": 1000 });
    refuses({ type: "number" }, { many: /no number/, NaN: /no number/, Infinity: /number/i });
    const bounded = { type: "integer", minimum: 1, maximum: 5 };
    accepts(bounded, { 1: 1, 5: 5 });
    refuses(bounded, { 0: />=1/, 6: /<=5/, "1.5": /int/ });
    assert.equal(hint(bounded), " (whole number, 1 to 5)");
    assert.equal(hint({ type: "number", minimum: 0 }), " (number, at least 0)");
    assert.equal(hint({ type: "number", maximum: 9 }), " (number, at most 9)");
  });

  it("takes a yes or a no", () => {
    accepts({ type: "boolean" }, { y: true, Yes: true, true: true, n: false, NO: false, false: false });
    refuses({ type: "boolean" }, { maybe: /y or n/, 2: /y or n/ });
    assert.equal(hint({ type: "boolean", default: false }), " (y/n) [n]");
  });

  it("takes one of several values, by value, by title or by place", () => {
    accepts({ type: "string", enum: ["red", "green"] }, { red: "red", Green: "green", 2: "green" });
    refuses({ type: "string", enum: ["red", "green"] }, { blue: /none of these/, 3: /none of these/, 0: /none of these/ });
    const titled = { oneOf: [{ const: "r", title: "Red" }, { const: "g", title: "Green" }] };
    accepts({ type: "string", ...titled }, { r: "r", green: "g", 1: "r" });
    // The form of older revisions.
    accepts({ type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] }, { RED: "r", g: "g" });
    // A value goes before a place.
    accepts({ type: "string", enum: ["2", "1"] }, { 2: "2", 1: "1" });
    assert.equal(hint({ type: "string", ...titled, default: "g" }), " (one of these) [Green]");
  });

  it("takes several of several values", () => {
    const many = { type: "array", items: { type: "string", enum: ["a", "b", "c"] }, minItems: 1, maxItems: 2 };
    accepts(many, { a: ["a"], "a, 3": ["a", "c"], "b,b,": ["b"] });
    refuses(many, { "a,b,c": /<=2/, ",": />=1/, "a, d": /"d" is none of these/ });
    assert.equal(hint(many), " (some of these, with commas, 1 to 2 of them)");
    const titled = { type: "array", items: { anyOf: [{ const: "x", title: "Ex" }, { const: "y", title: "Why" }] } };
    accepts(titled, { "Ex, y": ["x", "y"] });
    assert.equal(hint({ ...titled, default: ["x", "y"] }), " (some of these, with commas) [Ex, Why]");
  });

  it("takes nothing for its default, or leaves out what is optional", () => {
    assert.deepEqual(read({ type: "number", default: 3 }, ""), { value: 3 });
    assert.deepEqual(read({ type: "boolean", default: false }, " "), { value: false });
    assert.deepEqual(read({ type: "string" }, "", false), { value: undefined });
    assert.equal(hint({ type: "string" }, false), " (optional)");
    refuses({ type: "string" }, { "": /required/ });
    refuses({ type: "integer", default: 1.5 }, { "": /int/ });
  });

  it("makes do with a schema that is none", () => {
    const strange = { type: 5, title: [], enum: "red", items: null, oneOf: [1], minimum: "a", format: {} };
    const field = new Field("field", strange, true);
    assert.equal(field.title, "field");
    assert.equal(field.hint, "");
    assert.deepEqual(field.choices, []);
    assert.deepEqual(field.read("something"), { value: "something" });
  });

  it("shows nothing that a terminal would obey", () => {
    const evil = "\u001b[2J\u0007evil\u202e";
    const field = new Field("field", { title: evil, format: evil, default: evil, enum: [evil] }, true);
    assert.equal(field.title, "evil");
    assert.equal(field.hint, " (one of these) [evil]");
  });
});
