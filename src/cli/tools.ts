// `errand tools`: what a server offers.

import type { Command } from "./arguments.ts";
import { CONNECTING, UsageError, addressOf, readOptions, splitCommand } from "./arguments.ts";
import { connectTo } from "./connect.ts";
import { isJsonObject } from "../task/task.ts";
import { bold, print } from "./terminal.ts";
import { clean, cleanLine, toJson } from "./text.ts";

const OPTIONS = { ...CONNECTING, json: { type: "boolean", default: false } } as const;

export const tools: Command = {
  usage: `Lists the tools of a server, with their arguments.

  errand tools [options] <url>
  errand tools [options] -- <command of a stdio server>

  --json                 print { "tools": [ … ] } as the server describes them
  --header 'name: value' a header for every request; may be given several times`,

  async run(args) {
    const { own, command } = splitCommand(args, OPTIONS);
    const { values, positionals } = readOptions(own, OPTIONS);
    const [url, ...more] = positionals;
    if (more.length > 0) throw new UsageError(`"${more[0]}" is one too many.`);
    const client = await connectTo(addressOf(url, command), values.header);
    try {
      const list = await client.listTools();
      await print(values.json ? toJson({ tools: list }) : list.map(describe).join("\n"));
    } finally {
      await client.close();
    }
    return 0;
  },
};

interface Described {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
}

function describe({ name, description, inputSchema }: Described): string {
  const head = `${bold(cleanLine(name))} ${argumentsOf(inputSchema)}`.trim();
  return description === undefined ? head : `${head}\n  ${clean(description).trim().replaceAll("\n", "\n  ")}`;
}

/** A tool's arguments in short: `{ year: integer, to?: string }`. */
function argumentsOf(schema: unknown): string {
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) return "";
  const { properties, required } = schema;
  const fields = Object.entries(schema["properties"]).map(([name, field]) => {
    const type = isJsonObject(field) && typeof field["type"] === "string" ? field["type"] : "any";
    return `${name}${Array.isArray(required) && required.includes(name) ? "" : "?"}: ${type}`;
  });
  return properties === undefined || fields.length === 0 ? "" : cleanLine(`{ ${fields.join(", ")} }`);
}
