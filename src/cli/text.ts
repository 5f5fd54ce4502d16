// Words from elsewhere, made fit for a terminal, and durations for people.

import { stripVTControlCharacters } from "node:util";

/** Control characters but for tab and newline, and those that turn the direction of writing. */
// oxlint-disable-next-line no-control-regex -- these are what it looks for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text from elsewhere, without anything that a terminal would take for a command. */
export function clean(text: string): string {
  return stripVTControlCharacters(text.replaceAll("\r\n", "\n")).replace(CONTROLS, "");
}

/** The same in one line, and of a bounded length. */
export function cleanLine(text: string, length = 500): string {
  const line = clean(text).replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

/** A value as JSON in one line, with every control character escaped: JSON itself lets some pass. */
export function toJson(value: unknown, indent?: number): string {
  const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, undefined, indent).replace(CONTROLS, escape);
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Reads `90`, `90s`, `5m`, `2h` or `500ms` as milliseconds; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS[unit] ?? 0);
}

/** A duration for people: `0.5s`, `42s`, `3m 05s`, `1h 02m`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${ms / 1_000}s`;
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const two = (value: number) => String(value).padStart(2, "0");
  if (minutes === 0) return `${seconds}s`;
  return minutes < 60 ? `${minutes}m ${two(seconds % 60)}s` : `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
}

/** What went wrong, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A word as a shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
