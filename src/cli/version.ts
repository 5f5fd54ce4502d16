import { existsSync, readFileSync } from "node:fs";

/** The package's version. Its manifest is further up from `dist/` than from the sources. */
export const version: string = readVersion();

function readVersion(): string {
  const places = ["../../package.json", "../../../package.json"].map((path) => new URL(path, import.meta.url));
  const manifest = places.find((place) => existsSync(place));
  if (manifest === undefined) return "0.0.0";
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  return version;
}
