// A server on stdin and stdout, for a client that starts it as a program:
//
//   node src/cli/main.ts call duplicates '{"folder":"node_modules"}' -- node examples/stdio.ts

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { createHost } from "../src/mod.ts";
import { find } from "./support/survey.ts";

// Nothing but the protocol goes to stdout: what is to be told to people goes to stderr.
const host = createHost({ name: "duplicates", version: "1.0.0", onError: (error) => console.error(error) });

host.tool(
  "duplicates",
  {
    description: "Counts the files under a folder that have the same content as another there",
    inputSchema: z.object({ folder: z.string() }),
  },
  async ({ folder }, task) => {
    const { files } = await find([folder], { signal: task.signal });
    const seen = new Set<string>();
    let read = 0;
    for (const path of files) {
      task.signal.throwIfAborted();
      seen.add(createHash("sha256").update(await readFile(path)).digest("base64"));
      read += 1;
      if (read % 100 === 0) task.progress(read, files.length, "reading");
    }
    return `${files.length - seen.size} of ${files.length} files are duplicates`;
  },
);

host.stdio();
