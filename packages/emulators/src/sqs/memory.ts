/** What is remembered for a while under a key, and then is not. */
export interface Memory<T> {
  get(key: string, now: number): T | undefined;
  set(key: string, value: T, now: number): void;
}

/** Both the deduplication of sends (SQS-64) and the repetition of receives (SQS-63) reach 5 minutes back. */
export const WINDOW_MS = 300_000;
/** Sweeping once a second instead of with each call keeps a full memory cheap. */
const SWEEP_MS = 1_000;

export function createMemory<T>(): Memory<T> {
  const entries = new Map<string, { readonly value: T; readonly until: number }>();
  let sweepAt = 0;

  function sweep(now: number): void {
    if (now < sweepAt) return;
    sweepAt = now + SWEEP_MS;
    for (const [key, { until }] of entries) {
      if (until > now) break;
      entries.delete(key);
    }
  }

  return {
    get(key, now) {
      const entry = entries.get(key);
      return entry !== undefined && entry.until > now ? entry.value : undefined;
    },
    set(key, value, now) {
      sweep(now);
      // Deleted first, so that the entries stay in the order in which they end.
      entries.delete(key);
      entries.set(key, { value, until: now + WINDOW_MS });
    },
  };
}
