import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

/**
 * Two transports that are linked to each other, for a client and a server in one process. What one sends the other gets
 * a microtask later, in order and as a copy: what JSON makes of it, as over any other transport. What comes before
 * `start` waits for it. Closing either closes both; what was sent before still arrives.
 */
export function linkedTransports(): [Transport, Transport] {
  const one = new LinkedTransport();
  const other = new LinkedTransport();
  one.peer = other;
  other.peer = one;
  return [one, other];
}

/** After it nothing comes. */
const END = Symbol("end");

class LinkedTransport implements Transport {
  /** Where what is sent goes; `undefined` once this end is closed, so that neither holds on to the other. */
  peer: LinkedTransport | undefined;
  onmessage?: Transport["onmessage"];
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  /** What came and is not delivered yet, each message as its JSON. */
  #inbox: (string | typeof END)[] = [];
  #started = false;
  #delivering = false;
  #closed = false;

  async start(): Promise<void> {
    if (this.#started || this.#closed) throw new Error(`The transport was ${this.#closed ? "closed" : "started"} already.`);
    this.#started = true;
    this.#deliverSoon();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { peer } = this;
    if (peer === undefined || peer.#closed) throw new Error("The connection is closed.");
    peer.#take(JSON.stringify(message));
  }

  async close(): Promise<void> {
    const { peer } = this;
    if (peer !== undefined) peer.#take(END);
    this.#end();
  }

  #take(what: string | typeof END): void {
    if (this.#closed) return;
    this.#inbox.push(what);
    this.#deliverSoon();
  }

  #deliverSoon(): void {
    if (!this.#started || this.#delivering || this.#inbox.length === 0) return;
    this.#delivering = true;
    queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    const inbox = this.#inbox;
    this.#inbox = [];
    for (const what of inbox) {
      if (this.#closed) return;
      if (what === END) this.#end();
      else this.#hand(what);
    }
    this.#delivering = false;
    this.#deliverSoon();
  }

  #hand(json: string): void {
    try {
      this.onmessage?.(JSON.parse(json) as JSONRPCMessage);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#inbox = [];
    this.peer = undefined;
    this.onclose?.();
  }
}
