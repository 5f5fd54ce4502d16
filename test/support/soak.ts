import process from "node:process";

/**
 * How often fast-check tries a property, and from which seed: always the same, so that every run of the suite is. With
 * `ERRAND_SOAK=20` in the environment, twenty times as often and each time from another seed, which a failure tells.
 */
export function runs(numRuns: number, seed: number): { numRuns: number; seed?: number } {
  const soak = Number(process.env["ERRAND_SOAK"] ?? "1");
  return soak > 1 ? { numRuns: numRuns * soak } : { numRuns, seed };
}
