/** The end of the first HTTP response in a text of one unit a byte, or `undefined` while it is not all there. */
export function endOfResponse(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return undefined;
  const headers = text.slice(0, head);
  const length = /\r\ncontent-length: *(\d+)/i.exec(headers)?.[1];
  if (length !== undefined) {
    const end = head + 4 + Number(length);
    return text.length >= end ? end : undefined;
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(headers)) throw new Error(`A response without a length:\n${headers}`);
  const last = text.indexOf("\r\n0\r\n\r\n", head);
  return last === -1 ? undefined : last + 7;
}
