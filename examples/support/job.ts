// What the job queue and its worker say to each other.

import { z } from "zod";

/** A number to factorise, under the id of the task that waits for it. */
export const jobSchema = z.object({ taskId: z.string(), number: z.int() });
export type Job = z.infer<typeof jobSchema>;

/** How far a job is, or what came of it. */
export const reportSchema = z.union([
  z.object({ done: z.number(), total: z.number() }),
  z.object({ factors: z.array(z.number()) }),
]);
export type Report = z.infer<typeof reportSchema>;
