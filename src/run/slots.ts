/** Bounds how many runs work at once. Whoever comes when all slots are taken waits in line. */
export class Slots {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many work, and how many wait. */
  get sizes(): { taken: number; waiting: number } {
    return { taken: this.#taken, waiting: this.#waiting.size };
  }

  /** Takes a slot if one is free. */
  tryTake(): boolean {
    if (this.#taken >= this.#limit) return false;
    this.#taken += 1;
    return true;
  }

  /** Waits in line for a slot. Resolves to `false`, without one, when the signal fires first. */
  take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.tryTake()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const onSlot = () => {
        signal.removeEventListener("abort", onAbort);
        resolve(true);
      };
      const onAbort = () => {
        this.#waiting.delete(onSlot);
        resolve(false);
      };
      this.#waiting.add(onSlot);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Gives a slot back; the first in line gets it. */
  free(): void {
    for (const onSlot of this.#waiting) {
      this.#waiting.delete(onSlot);
      onSlot();
      return;
    }
    this.#taken -= 1;
  }
}
