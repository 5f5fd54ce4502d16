#!/usr/bin/env node
// The command line of Errand: `errand <command> …`.

import process from "node:process";
import { InvalidReferenceError } from "../client/errors.ts";
import { UsageError } from "./arguments.ts";
import { main } from "./commands.ts";
import { EXIT, complain, errorText } from "./show.ts";
import { tolerateBrokenPipes } from "./terminal.ts";

/** The exit code of what was thrown, once it is told. */
function failed(error: unknown): number {
  complain(errorText(error));
  return error instanceof UsageError || error instanceof InvalidReferenceError ? EXIT.usage : EXIT.failed;
}

tolerateBrokenPipes();
const code = await main(process.argv.slice(2)).catch(failed);
// Whatever else is still open, such as a server that does not end, is not waited for.
await new Promise<void>((resolve) => process.stderr.write("", () => resolve()));
process.exit(code);
