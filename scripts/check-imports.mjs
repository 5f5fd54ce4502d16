// Holds the house's import rules: `node scripts/check-imports.mjs [folder]`. Exits with 1 when one is broken.
import process from "node:process";
import { root } from "./lib/command.mjs";
import { checkHouse } from "./lib/house.mjs";

const { files, violations } = checkHouse(process.argv[2] ?? root);
for (const { file, line, what, rule } of violations) console.log(`${file}:${line} ${what}: ${rule}`);
console.log(
  violations.length === 0
    ? `${files} modules keep the house's rules`
    : `${violations.length} imports break the house's rules`,
);
process.exitCode = violations.length === 0 && files > 0 ? 0 : 1;
