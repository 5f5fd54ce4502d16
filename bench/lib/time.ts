/** Milliseconds since the epoch, with a fraction: the same in every process of this machine. */
export const now = (): number => performance.timeOrigin + performance.now();
