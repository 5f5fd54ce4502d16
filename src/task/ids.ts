import { Buffer } from "node:buffer";

const ID_BYTES = 24;

/** Random bytes for the next ids: fetching them takes longer than writing one. */
const pool = new Uint8Array(64 * ID_BYTES);
let used = pool.length;

/** A new id of 192 random bits, safe in a URL and in a header. */
export function createId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  // One flat string: ids live long, and one put together of pieces keeps them all.
  const id = Buffer.from(pool.buffer, used, ID_BYTES).toString("base64url");
  used += ID_BYTES;
  return id;
}
