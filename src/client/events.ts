/** How many events wait for one reader; of more, the oldest give way. */
const MAX_WAITING = 1_000;

/** Events for whoever iterates over them: the last one there was, then each, then the end or the error. */
export class Events<Event> implements AsyncIterable<Event> {
  readonly #readers = new Set<Reader<Event>>();
  #last: { event: Event } | undefined;
  #over: { error?: unknown } | undefined;

  push(event: Event): void {
    if (this.#over !== undefined) return;
    this.#last = { event };
    for (const reader of this.#readers) reader.push(event);
  }

  /** Nothing more comes; with an error, readers get it after what they still have to read. */
  end(over: { error?: unknown } = {}): void {
    this.#over ??= over;
    for (const reader of this.#readers) reader.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const reader = new Reader<Event>();
    if (this.#last !== undefined) reader.push(this.#last.event);
    this.#readers.add(reader);
    try {
      for (;;) {
        for (let next = reader.shift(); next !== undefined; next = reader.shift()) yield next.event;
        if (this.#over !== undefined) {
          if ("error" in this.#over) throw this.#over.error;
          return;
        }
        await reader.something();
      }
    } finally {
      this.#readers.delete(reader);
    }
  }
}

class Reader<Event> {
  readonly #waiting: { event: Event }[] = [];
  #wake: () => void = () => {};

  push(event: Event): void {
    this.#waiting.push({ event });
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#wake();
  }

  shift(): { event: Event } | undefined {
    return this.#waiting.shift();
  }

  wake(): void {
    this.#wake();
  }

  /** Resolves when something may have come. */
  something(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
