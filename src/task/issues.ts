/** One thing that a schema found wrong, as Standard Schema has it. */
export interface Issue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/** There may be something wrong with each part of a large value: so many issues are told, and so much of them. */
const MAX_ISSUES = 5;
const MAX_LENGTH = 2_000;

/** What is wrong with a value in one line, which does not grow with the value. */
export function issuesText(issues: readonly Issue[], separator: string): string {
  const told = issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return place === "" ? message : `${place}: ${message}`;
  });
  if (issues.length > MAX_ISSUES) told.push(`and ${issues.length - MAX_ISSUES} more`);
  const text = told.join(separator);
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}
