// Resumes a wait that another process began: `resume <url> <reference>`. It answers what is asked, and writes what it
// was asked, and how the wait ended, as JSON.
import process from "node:process";
import { createTaskClient } from "../../../src/client/mod.ts";

const [url = "", reference = ""] = process.argv.slice(2);
const client = createTaskClient(url, { timeoutMs: 15_000 });
const asked: string[] = [];
const outcome = await client
  .resume(reference, {
    input: {
      form: (_params, { key }) => {
        asked.push(key);
        return { action: "accept", content: { name: "Bob" } };
      },
    },
  })
  .outcome();
await client.close();
process.stdout.write(JSON.stringify({ asked, status: outcome.status, ...("result" in outcome && { result: outcome.result }) }));
