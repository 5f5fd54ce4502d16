// External tasks: the host only queues what it is asked; another process works the jobs and reports back, and the host
// tells the tasks by their ids.
//
//   node examples/job-queue.ts
//   node src/cli/main.ts call http://127.0.0.1:3000/mcp factorise '{"number":9007195909437503}'

import { Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { createHost, serve } from "../src/mod.ts";
import type { Job } from "./support/job.ts";
import { reportSchema } from "./support/job.ts";

const host = createHost({ name: "factors", version: "1.0.0" });
/** The jobs that are not done yet, by the ids of their tasks; `waiting` are those that nobody works on. */
const jobs = new Map<string, Job>();
const waiting = new Set<string>();

host.tool(
  "factorise",
  {
    description: "Finds the prime factors of a whole number",
    inputSchema: z.object({ number: z.int().min(2) }),
    outputSchema: z.object({ factors: z.array(z.number()) }),
  },
  ({ number }, task) => {
    const { taskId } = task;
    jobs.set(taskId, { taskId, number });
    waiting.add(taskId);
    // However the task ends, by its result or by being cancelled, nobody is to work on it any more.
    task.signal.addEventListener("abort", () => {
      jobs.delete(taskId);
      waiting.delete(taskId);
    });
    task.status("queued");
    return task.external();
  },
);

// What the workers see. They hold a secret: a page in a browser must not be able to post results.

const secret = crypto.randomUUID();
const app = new Hono();
app.route("/", host.app);
app.use("/jobs/*", bearerAuth({ token: secret }));

app.post("/jobs/take", (c) => {
  for (const taskId of waiting) {
    waiting.delete(taskId);
    return c.json(jobs.get(taskId));
  }
  return c.body(null, 204);
});

app.post("/jobs/:taskId", async (c) => {
  const taskId = c.req.param("taskId");
  // Its task has ended: the worker may drop it.
  if (!jobs.has(taskId)) return c.body(null, 410);
  const report = reportSchema.parse(await c.req.json());
  const task = host.task(taskId);
  if ("factors" in report) await task.complete({ factors: report.factors });
  else await task.progress(report.done, report.total, "dividing");
  return c.body(null, 204);
});

const { url, port } = await serve(app, { port: Number(process.env["PORT"] ?? 3000) });

const worker = spawn(
  process.execPath,
  [...("Deno" in globalThis ? ["run", "-A"] : []), fileURLToPath(new URL("support/job-worker.ts", import.meta.url))],
  { stdio: "inherit", env: { ...process.env, JOBS_URL: `http://127.0.0.1:${port}/jobs`, JOBS_SECRET: secret } },
);
process.on("exit", () => worker.kill());
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit());

console.log(`Numbers are factorised at ${url}, by process ${worker.pid}`);
