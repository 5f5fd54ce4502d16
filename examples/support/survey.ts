// The demo's work: it finds the files under folders, hashes them, and adds up what it read.

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { open, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/** What lies under a folder. Symbolic links are not followed. */
export interface Found {
  readonly files: readonly string[];
  readonly folders: number;
  /** Folders whose names begin with a dot. Their insides were not looked at. */
  readonly hidden: readonly string[];
}

/** Finds the files under folders, and under the hidden ones among what they hold if so wished. */
export async function find(
  roots: readonly string[],
  { readHidden = false, signal }: { readHidden?: boolean; signal: AbortSignal },
): Promise<Found> {
  const files: string[] = [];
  const hidden: string[] = [];
  const waiting = [...roots];
  let folders = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    signal.throwIfAborted();
    folders += 1;
    // A folder that may not be read has nothing in it.
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      const path = join(folder, entry.name);
      if (entry.isFile()) files.push(path);
      else if (entry.isDirectory()) (entry.name.startsWith(".") && !readHidden ? hidden : waiting).push(path);
    }
  }
  return { files, folders, hidden };
}

/** How many files are read side by side, and how much of each at a time. */
const READERS = 8;
const CHUNK_BYTES = 256 * 1024;
/** How often progress is told: more often than this nobody can see. */
const REPORT_EVERY_MS = 20;

/** Hashes files and adds up what they come to. */
export class Tally {
  readonly #root: string;
  readonly #signal: AbortSignal;
  readonly #lines: string[] = [];
  #bytes = 0;
  #unreadable = 0;

  /** The paths in the digest are those from `root`. When the signal fires, reading stops. */
  constructor(root: string, signal: AbortSignal) {
    this.#root = root;
    this.#signal = signal;
  }

  /** The sum of what was read. `sha256` is that of what `sha256sum` prints for the files, its lines in order. */
  get totals(): { files: number; bytes: number; unreadable: number; sha256: string } {
    return {
      files: this.#lines.length,
      bytes: this.#bytes,
      unreadable: this.#unreadable,
      sha256: createHash("sha256").update(this.#lines.toSorted().join("")).digest("hex"),
    };
  }

  get #done(): number {
    return this.#lines.length + this.#unreadable;
  }

  /** Reads files, and tells now and then, and at the end, how many are done in all. */
  async read(files: readonly string[], onProgress: (done: number) => void): Promise<void> {
    const waiting = files.values();
    let reported = performance.now();
    const reader = async () => {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      for (const path of waiting) {
        this.#signal.throwIfAborted();
        await this.#hash(path, buffer);
        if (performance.now() - reported < REPORT_EVERY_MS) continue;
        reported = performance.now();
        onProgress(this.#done);
      }
    };
    await Promise.all(Array.from({ length: READERS }, reader));
    onProgress(this.#done);
  }

  async #hash(path: string, buffer: Buffer): Promise<void> {
    let file: FileHandle | undefined;
    try {
      file = await open(path);
      const hash = createHash("sha256");
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
        if (bytesRead === 0) break;
        hash.update(buffer.subarray(0, bytesRead));
        this.#bytes += bytesRead;
        this.#signal.throwIfAborted();
      }
      this.#lines.push(`${hash.digest("hex")}  ${relative(this.#root, path).split(sep).join("/")}\n`);
    } catch (error) {
      if (this.#signal.aborted) throw error;
      this.#unreadable += 1;
    } finally {
      await file?.close();
    }
  }
}
