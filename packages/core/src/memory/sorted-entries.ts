/** A place in an index: the sort value, then the key. */
export interface SortedEntry {
  readonly sort: string;
  readonly key: string;
}

/** Entries in order, in chunks, so that putting one in or taking one out costs the same in a short list and in one of 100,000. */
export interface SortedEntries {
  readonly size: number;
  add(entry: SortedEntry): void;
  remove(entry: SortedEntry): void;
  /** Entries strictly after `after` (before it, when descending), in order, up to and including the sort value `upTo`. */
  walk(options: {
    readonly after?: SortedEntry;
    readonly upTo?: string;
    readonly descending?: boolean;
  }): IterableIterator<SortedEntry>;
}

/** A chunk that grows over this is cut in two. */
const CHUNK_LENGTH = 256;

export function createSortedEntries(): SortedEntries {
  /** No chunk is empty. */
  const chunks: SortedEntry[][] = [];
  let size = 0;

  /** The first chunk whose last entry is not below; the number of chunks when there is none. */
  const chunkAt = (entry: SortedEntry): number => {
    return firstIndex(
      chunks.length,
      (index) => compareEntries((chunks[index] as SortedEntry[]).at(-1) as SortedEntry, entry) >= 0,
    );
  };

  return {
    get size() {
      return size;
    },
    add(entry) {
      const place = Math.min(chunkAt(entry), Math.max(chunks.length - 1, 0));
      const chunk = chunks[place] ?? [];
      if (chunks.length === 0) chunks.push(chunk);
      chunk.splice(firstNotBelow(chunk, entry), 0, entry);
      size += 1;
      if (chunk.length > CHUNK_LENGTH) chunks.splice(place + 1, 0, chunk.splice(chunk.length >> 1));
    },
    remove(entry) {
      const place = chunkAt(entry);
      const chunk = chunks[place];
      if (chunk === undefined) return;
      const index = firstNotBelow(chunk, entry);
      const found = chunk[index];
      if (found === undefined || compareEntries(found, entry) !== 0) return;
      chunk.splice(index, 1);
      size -= 1;
      if (chunk.length === 0) chunks.splice(place, 1);
    },
    *walk({ after, upTo, descending = false }) {
      const fits = (entry: SortedEntry): boolean => upTo === undefined || entry.sort <= upTo;
      if (!descending) {
        let place = after === undefined ? 0 : chunkAt(after);
        for (let first = true; place < chunks.length; place++, first = false) {
          for (const entry of chunks[place] as SortedEntry[]) {
            if (first && after !== undefined && compareEntries(entry, after) <= 0) continue;
            if (!fits(entry)) return;
            yield entry;
          }
        }
        return;
      }
      for (
        let place = after === undefined ? chunks.length - 1 : Math.min(chunkAt(after), chunks.length - 1);
        place >= 0;
        place--
      ) {
        const chunk = chunks[place] as SortedEntry[];
        for (let index = chunk.length - 1; index >= 0; index--) {
          const entry = chunk[index] as SortedEntry;
          if (after !== undefined && compareEntries(entry, after) >= 0) continue;
          if (fits(entry)) yield entry;
        }
      }
    },
  };
}

/** By code units, which is the order of bytes too: sort values are times, keys are ASCII. */
function compareEntries(left: SortedEntry, right: SortedEntry): number {
  if (left.sort !== right.sort) return left.sort < right.sort ? -1 : 1;
  if (left.key !== right.key) return left.key < right.key ? -1 : 1;
  return 0;
}

function firstNotBelow(chunk: readonly SortedEntry[], entry: SortedEntry): number {
  return firstIndex(chunk.length, (index) => compareEntries(chunk[index] as SortedEntry, entry) >= 0);
}

/** The first index below `length` at which `holds`, which stays true once it is; `length` when there is none. */
function firstIndex(length: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
