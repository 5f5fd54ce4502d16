import type { JsonObject } from "../../src/mod.ts";

/** One frame of an event stream: a JSON-RPC message, or a comment such as a sign of life. */
export type Frame =
  | { readonly kind: "message"; readonly message: JsonObject }
  | { readonly kind: "comment"; readonly text: string };

/** What every runtime's stream reader has. */
interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/**
 * Reads an event stream frame by frame, and only when asked to: between two calls nothing is taken from the stream, as
 * by a slow reader.
 */
export class EventReader {
  readonly #reader: Reader;
  readonly #decoder = new TextDecoder();
  readonly #frames: Frame[] = [];
  #text = "";
  #done = false;

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  /** The next frame, or `undefined` at the end of the stream. */
  async frame(): Promise<Frame | undefined> {
    while (this.#frames.length === 0 && !this.#done) {
      const { done, value } = await this.#reader.read();
      if (done) {
        this.#done = true;
        if (this.#text !== "") throw new Error(`The stream ended within a frame: ${this.#text}`);
      } else {
        this.#take(this.#decoder.decode(value, { stream: true }));
      }
    }
    return this.#frames.shift();
  }

  /** The next message, past any comment, or `undefined` at the end of the stream. */
  async next(): Promise<JsonObject | undefined> {
    for (;;) {
      const frame = await this.frame();
      if (frame === undefined) return undefined;
      if (frame.kind === "message") return frame.message;
    }
  }

  /** Every message up to the end of the stream. */
  async rest(): Promise<JsonObject[]> {
    const messages: JsonObject[] = [];
    for (let message = await this.next(); message !== undefined; message = await this.next()) messages.push(message);
    return messages;
  }

  /** Leaves: the server sees that its reader has gone. */
  async leave(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }

  #take(text: string): void {
    this.#text += text;
    const frames = this.#text.split("\n\n");
    this.#text = frames.pop() ?? "";
    for (const frame of frames) this.#frames.push(parse(frame));
  }
}

function parse(frame: string): Frame {
  const lines = frame.split("\n");
  if (lines.every((line) => line.startsWith(":"))) return { kind: "comment", text: frame };
  const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice("data: ".length));
  return { kind: "message", message: JSON.parse(data.join("\n")) as JsonObject };
}
