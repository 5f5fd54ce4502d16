import { Buffer } from "node:buffer";

/** A new id of 192 random bits, safe in a URL and in a header. */
export function createId(): string {
  // One flat string: ids live long, and one put together of pieces keeps them all.
  return Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
}
