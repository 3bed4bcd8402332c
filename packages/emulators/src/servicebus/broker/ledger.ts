/** What is in a queue, in the order of its sequence numbers. */
export interface Ledger<T extends Numbered> {
  size(): number;
  get(sequenceNumber: number): T | undefined;
  /** Its sequence number must be higher than all before. */
  add(entry: T): void;
  remove(entry: T): void;
  /** Those from a sequence number on. */
  from(sequenceNumber: number): Iterable<T>;
}

export interface Numbered {
  readonly sequenceNumber: number;
}

/** Gaps are closed when more than half is gaps, so that each removal costs the same on the whole. */
const LEAST_GAPS = 64;

/** Entries only ever come in at the end, so that a sorted array is enough, and what leaves is left out when it is looked at. */
export function createLedger<T extends Numbered>(): Ledger<T> {
  const entries = new Map<number, T>();
  let order: number[] = [];

  /** The index of the first that is not below it. */
  function search(sequenceNumber: number): number {
    let low = 0;
    let high = order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((order[middle] as number) < sequenceNumber) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    size: () => entries.size,
    get: (sequenceNumber) => entries.get(sequenceNumber),
    add(entry) {
      entries.set(entry.sequenceNumber, entry);
      order.push(entry.sequenceNumber);
    },
    remove(entry) {
      entries.delete(entry.sequenceNumber);
      const gaps = order.length - entries.size;
      if (gaps > LEAST_GAPS && gaps > entries.size) order = order.filter((number) => entries.has(number));
    },
    *from(sequenceNumber) {
      const seen = order;
      for (let index = search(sequenceNumber); index < seen.length; index++) {
        const entry = entries.get(seen[index] as number);
        if (entry !== undefined) yield entry;
      }
    },
  };
}
