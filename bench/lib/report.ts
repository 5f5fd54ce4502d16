/** One figure, and how it compares with a peer that was measured beside it. */
export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The value divided by the peer's. */
  readonly ratio?: number;
  readonly peer?: string;
  readonly aim?: string;
}

/** What one measurement found. */
export interface Report {
  readonly name: string;
  readonly title: string;
  readonly rows: readonly Row[];
}

/** Three significant digits or more, thousands apart. */
function figure(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString("en").replaceAll(",", " ");
  return String(Number(value.toPrecision(3)));
}

/** A report as lines of text. */
export function format({ title, rows }: Report): string {
  const what = Math.max(...rows.map((row) => row.what.length));
  const value = Math.max(...rows.map((row) => figure(row.value).length));
  const unit = Math.max(...rows.map((row) => row.unit.length));
  const lines = rows.map((row) => {
    const ratio = row.ratio === undefined ? "" : `${row.ratio.toFixed(2).padStart(7)} × ${row.peer ?? ""}`;
    const aim = row.aim === undefined ? "" : `  (aim: ${row.aim})`;
    const start = `  ${row.what.padEnd(what)}  ${figure(row.value).padStart(value)} ${row.unit.padEnd(unit)}`;
    return `${start}${ratio}${aim}`.trimEnd();
  });
  return [title, ...lines].join("\n");
}
