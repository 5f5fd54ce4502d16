import { Buffer } from "node:buffer";
import { z } from "zod";
import { InvalidReferenceError } from "./errors.ts";

/** What a reference says: enough to go on waiting elsewhere, and nothing that lets one in. */
export interface Reference {
  /** The endpoint without user, query and fragment, or the server's own name. */
  readonly server: string | undefined;
  readonly taskId: string;
  readonly tool: string | undefined;
  /** The keys of the questions that were answered. */
  readonly answered: readonly string[];
}

const PREFIX = "errand1_";

const shape = z.object({
  server: z.string().optional(),
  taskId: z.string().min(1),
  tool: z.string().optional(),
  answered: z.array(z.string()).default([]),
});

/** Whether a reference names its server by a URL, and not by the server's own name. */
export function isUrl(server: string): boolean {
  return /^https?:/.test(server);
}

/** Throws `InvalidReferenceError` where a reference is for another server of the same kind: a URL, or a name. */
export function checkServer(referred: string, own: string | undefined): void {
  if (own === undefined || referred === own || isUrl(referred) !== isUrl(own)) return;
  throw new InvalidReferenceError(`it is for ${referred}, and this client's server is ${own}.`);
}

export function writeReference(reference: Reference): string {
  return PREFIX + Buffer.from(JSON.stringify(reference)).toString("base64url");
}

/** Reads a reference, of any server. Throws `InvalidReferenceError`. */
export function readReference(text: string): Reference {
  if (typeof text !== "string" || !text.startsWith("errand")) {
    throw new InvalidReferenceError(`it is none. One begins with "${PREFIX}": what reference() gave.`);
  }
  if (!text.startsWith(PREFIX)) {
    throw new InvalidReferenceError("it is of another version of Errand. Resume it with that one.");
  }
  const parsed = shape.safeParse(decode(text.slice(PREFIX.length)));
  if (!parsed.success) throw new InvalidReferenceError("it is damaged. Give the whole of what reference() gave.");
  const { server, tool, ...rest } = parsed.data;
  return { ...rest, server, tool };
}

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return undefined;
  }
}
