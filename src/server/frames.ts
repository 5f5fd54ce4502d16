/**
 * A JSON-RPC message as JSON in parts, made when its turn comes. What many readers are told alike is one text for all of
 * them.
 */
export type Message = () => readonly string[];

/** How many characters go into a stream at once: a reader that does not read holds up no more. */
const PORTION = 16 * 1024;

const encoder = new TextEncoder();

/** The messages that wait to go into an event stream, given in portions, so that a long one takes no more room. */
export class Frames {
  readonly #messages: Message[] = [];
  /** The texts of the message whose turn it is, and how much of the first is given. */
  #texts: string[] = [];
  #given = 0;

  get isEmpty(): boolean {
    return this.#texts.length === 0 && this.#messages.length === 0;
  }

  push(...messages: readonly Message[]): void {
    this.#messages.push(...messages);
  }

  /** The next portion, or `undefined` when nothing waits. */
  next(): Uint8Array<ArrayBuffer> | undefined {
    let portion = "";
    while (portion.length < PORTION) {
      const [text] = this.#texts;
      if (text === undefined) {
        const message = this.#messages.shift();
        if (message === undefined) break;
        this.#texts = ["event: message\ndata: ", ...message(), "\n\n"];
        continue;
      }
      const end = endOfPortion(text, this.#given + PORTION - portion.length);
      portion += text.slice(this.#given, end);
      this.#given = end;
      if (end < text.length) continue;
      this.#texts.shift();
      this.#given = 0;
    }
    return portion === "" ? undefined : encoder.encode(portion);
  }
}

/** Where a portion that may go up to `end` ends, without tearing a character apart. */
function endOfPortion(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
}
