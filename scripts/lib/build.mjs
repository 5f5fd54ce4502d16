import { rmSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./command.mjs";

/** Makes `dist/` anew from the sources: ESM with declarations, which is what Node and Deno load from the package. */
export function build() {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  return run(["tsc", "-p", "tsconfig.build.json"]);
}
