/** The ids that were sent lately (SB-44). */
export interface DuplicateWindow {
  /** Notes that an id is sent; answers the sequence number that it was sent under before, if that was within the window. */
  earlier(id: string, now: number): number | undefined;
  note(id: string, sequenceNumber: number, now: number): void;
}

/** `windowMs` 0: no id is remembered. */
export function createDuplicateWindow(windowMs: number): DuplicateWindow {
  /** In the order in which they are forgotten. */
  const ids = new Map<string, { readonly sequenceNumber: number; readonly until: number }>();

  function forget(now: number): void {
    for (const [id, { until }] of ids) {
      if (until > now) return;
      ids.delete(id);
    }
  }

  return {
    earlier(id, now) {
      forget(now);
      return ids.get(id)?.sequenceNumber;
    },
    note(id, sequenceNumber, now) {
      if (windowMs > 0) ids.set(id, { sequenceNumber, until: now + windowMs });
    },
  };
}
