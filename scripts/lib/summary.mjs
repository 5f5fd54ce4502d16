// Reads what each test runner says at its end.

/**
 * @typedef {object} Count
 * @property {number} passed
 * @property {number} failed
 * @property {string} [note] why there are failures that no test reported
 */

/**
 * The count of `node --test` with its spec reporter. A skipped or unfinished test is a failed one.
 * @param {string} output
 * @returns {Count | undefined} undefined when it came to no end
 */
export function nodeCount(output) {
  /** @param {string} name */
  const number = (name) => Number(new RegExp(`^\\S* ?${name} (\\d+)$`, "m").exec(output)?.[1] ?? Number.NaN);
  const passed = number("pass");
  const failed = number("fail") + number("cancelled") + number("skipped") + number("todo");
  return Number.isNaN(passed + failed) ? undefined : { passed, failed };
}

/**
 * The count of `bun test`.
 * @param {string} output
 * @returns {Count | undefined} undefined when it came to no end
 */
export function bunCount(output) {
  if (!/^Ran \d+ tests? across \d+ files?/m.test(output)) return undefined;
  /** @param {string} name */
  const number = (name) => Number(new RegExp(`^ *(\\d+) ${name}s?$`, "m").exec(output)?.[1] ?? 0);
  // Bun counts a file that does not load as a failed test too, beside the error.
  return {
    passed: number("pass"),
    failed: Math.max(number("fail"), number("error")) + number("skip") + number("todo"),
  };
}

/**
 * The count of `deno test --junit-path`. There a `describe` is a test case of its own, named before its tests
 * (`outer > inner`): only the tests themselves count.
 * @param {string} xml
 * @returns {Count | undefined} undefined when it came to no end
 */
export function denoCount(xml) {
  if (!xml.trimEnd().endsWith("</testsuites>")) return undefined;
  const cases = [...xml.matchAll(/<testcase name="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g)];
  const groups = new Set(cases.flatMap(([, name = ""]) => prefixes(name)));
  let passed = 0;
  let failed = 0;
  for (const [, name = "", body = ""] of cases) {
    if (groups.has(name)) continue;
    if (/<(failure|error|skipped)\b/.test(body)) failed++;
    else passed++;
  }
  return { passed, failed };
}

/** @param {string} name as `a &gt; b &gt; c` @returns {string[]} `a` and `a &gt; b` */
function prefixes(name) {
  const parts = name.split(" &gt; ");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join(" &gt; "));
}

/**
 * The count in a last line such as `12 passed, 0 failed` or `12 checks passed, 0 failed.`
 * @param {string} output
 * @returns {Count | undefined} undefined when there is no such line
 */
export function lineCount(output) {
  const last = [...output.matchAll(/^(\d+) (?:checks )?passed, (\d+) failed/gm)].at(-1);
  return last === undefined ? undefined : { passed: Number(last[1]), failed: Number(last[2]) };
}

/**
 * What a run comes to: a runner that failed, or ended without a count, or ran nothing, is at least one failure.
 * @param {Count | undefined} count
 * @param {boolean} ok whether the runner ended well
 * @returns {Count}
 */
export function settle(count, ok) {
  if (count === undefined) return { passed: 0, failed: 1, note: "it came to no end" };
  if (count.passed + count.failed === 0) return { passed: 0, failed: 1, note: "it ran nothing" };
  if (!ok && count.failed === 0)
    return { passed: count.passed, failed: 1, note: "every test passed, but the runner failed" };
  return count;
}
