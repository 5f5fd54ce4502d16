// What a terminal shows of what is written to it: enough of one for lines that are written over.

/** Text, or what moves the cursor: a control sequence, or a control character. */
// oxlint-disable-next-line no-control-regex -- these are what it looks for
const PIECES = /\x1b\[([?\d;]*)([A-Za-z])|[\r\n\b]|[^\x1b\r\n\b]/gu;

/** A screen that is as high as it has to be. */
export class Screen {
  readonly #columns: number;
  readonly #rows: string[][] = [[]];
  #row = 0;
  #column = 0;
  #wraps = true;
  /** The rows that go on in the next one. */
  readonly #wrapped = new Set<number>();

  constructor(columns: number) {
    this.#columns = columns;
  }

  write(text: string): void {
    for (const [piece, parameters = "", command] of text.matchAll(PIECES)) {
      if (command !== undefined) this.#control(command, parameters);
      else if (piece === "\r") this.#column = 0;
      else if (piece === "\n") this.#down();
      else if (piece === "\b") this.#column = Math.max(this.#column - 1, 0);
      else this.#put(piece);
    }
  }

  /** The rows. The cursor's has its blanks up to it, others have none at their end. */
  get text(): string {
    return this.#texts().join("\n");
  }

  /** The same with long lines in one piece. */
  get unwrapped(): string {
    return this.#texts().reduce((text, row, at) => text + row + (this.#wrapped.has(at) ? "" : "\n"), "");
  }

  #texts(): string[] {
    return this.#rows.map((row, at) => {
      const text = Array.from(row, (cell) => cell ?? " ").join("").trimEnd();
      return at === this.#row ? text.padEnd(Math.min(this.#column, row.length)) : text;
    });
  }

  get #cells(): string[] {
    return (this.#rows[this.#row] ??= []);
  }

  #put(character: string): void {
    if (this.#column === this.#columns) {
      if (this.#wraps) {
        this.#column = 0;
        this.#wrapped.add(this.#row);
        this.#down();
      } else this.#column -= 1;
    }
    this.#cells[this.#column] = character;
    this.#column += 1;
  }

  #down(): void {
    this.#row += 1;
    this.#rows[this.#row] ??= [];
  }

  #control(command: string, parameters: string): void {
    const count = Number.parseInt(parameters, 10) || 0;
    switch (command) {
      case "A":
        this.#row = Math.max(this.#row - Math.max(count, 1), 0);
        break;
      case "C":
        this.#column += Math.max(count, 1);
        break;
      case "D":
        this.#column = Math.max(this.#column - Math.max(count, 1), 0);
        break;
      case "G":
        this.#column = Math.max(count, 1) - 1;
        break;
      case "J":
        this.#cells.length = Math.min(this.#cells.length, this.#column);
        this.#rows.length = this.#row + 1;
        break;
      case "K":
        this.#cells.length = count === 2 ? 0 : Math.min(this.#cells.length, this.#column);
        break;
      case "h":
      case "l":
        if (parameters === "?7") this.#wraps = command === "h";
        break;
      default:
      // Colours.
    }
  }
}
