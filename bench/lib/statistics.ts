/** The middle value; of an even number of values the upper of the two in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which a share of the values lies. Throws `RangeError` without any values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)];
  if (value === undefined) throw new RangeError("There is no median of nothing.");
  return value;
}

/** The median of the ratios of two series whose rounds were taken in turn: what slows both down does not count. */
export function medianRatio(values: readonly number[], peers: readonly number[]): number {
  return median(values.map((value, round) => value / (peers[round] ?? Number.NaN)));
}
