/** How deep a message may be nested. What reads it, schemas above all, goes down with it and would run out of stack. */
export const MAX_DEPTH = 256;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether a JSON text is nested deeper than a message may be. */
export function isTooDeep(json: string): boolean {
  // Every level takes two characters.
  if (json.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    switch (json.charCodeAt(at)) {
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > MAX_DEPTH) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case QUOTE:
        at = endOfString(json, at);
        break;
      default:
    }
  }
  return false;
}

/** Where the string that starts at `start` ends, or the end of the text. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return json.length;
}
