// A process of its own that works the jobs of ../job-queue.ts. It knows nothing of MCP.

import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import type { Report } from "./job.ts";
import { jobSchema } from "./job.ts";

const { JOBS_URL: jobs, JOBS_SECRET: secret } = process.env;
/** How often to look for a job, and to tell how far one is. */
const LOOK_EVERY_MS = 50;
const TELL_EVERY_MS = 100;

for (;;) {
  const response = await post("take").catch(() => undefined);
  // Without its queue there is nothing to do here.
  if (response === undefined) break;
  if (response.status === 200) {
    const { taskId, number } = jobSchema.parse(await response.json());
    await factorise(number, async (report) => (await post(taskId, report).catch(() => undefined))?.status === 204);
  } else {
    await delay(LOOK_EVERY_MS);
  }
}

/** Divides until nothing is left. `tell` resolves to whether anybody still waits for the result. */
async function factorise(number: number, tell: (report: Report) => Promise<boolean>): Promise<void> {
  const factors: number[] = [];
  let left = number;
  let told = performance.now();
  for (let divisor = 2; divisor <= Math.sqrt(left); divisor += divisor === 2 ? 1 : 2) {
    while (left % divisor === 0) {
      factors.push(divisor);
      left /= divisor;
    }
    if (divisor % 4096 !== 1 || performance.now() - told < TELL_EVERY_MS) continue;
    told = performance.now();
    if (!(await tell({ done: divisor, total: Math.floor(Math.sqrt(left)) }))) return;
  }
  await tell({ factors: left > 1 ? [...factors, left] : factors });
}

function post(path: string, body: Report | Record<string, never> = {}): Promise<Response> {
  return fetch(`${jobs}/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
