/** One call of one operation, as it arrived. */
export interface Call {
  /** `SendMessage`, `UpdateItem`; empty when the request names none. */
  readonly operation: string;
  /** What was sent, parsed; `undefined` when it is no JSON object. */
  readonly input: Readonly<Record<string, unknown>> | undefined;
  /** Entries of a batch; 1 for every other call. */
  readonly entries: number;
}

/** How often an operation was called. */
export interface CallCount {
  readonly calls: number;
  /** Entries of its batches; each call that is none counts as one. */
  readonly entries: number;
  /** Calls that have not been answered yet, such as long polls. */
  readonly open: number;
}

/** Counts every request that reached the port, those included that were refused or dropped by a fault. */
export interface CallCounters {
  of(operation: string): CallCount;
  /** Counts of everything called so far, by operation. */
  all(): Readonly<Record<string, CallCount>>;
  /** The sum of calls. */
  total(): number;
  /** Starts counting anew. Calls under way stay open. */
  reset(): void;
}

interface Count {
  calls: number;
  entries: number;
  open: number;
}

export interface CallBook extends CallCounters {
  /** Notes an arrival; the answer notes its end, once. */
  begin(call: Call): () => void;
}

export function createCallBook(): CallBook {
  const counts = new Map<string, Count>();

  function countOf(operation: string): Count {
    let count = counts.get(operation);
    if (count === undefined) {
      count = { calls: 0, entries: 0, open: 0 };
      counts.set(operation, count);
    }
    return count;
  }

  return {
    begin(call) {
      const count = countOf(call.operation);
      count.calls++;
      count.entries += call.entries;
      count.open++;
      let ended = false;
      return () => {
        if (!ended) count.open--;
        ended = true;
      };
    },
    of: (operation) => ({ calls: 0, entries: 0, open: 0, ...counts.get(operation) }),
    all: () => Object.fromEntries([...counts].map(([operation, count]) => [operation, { ...count }])),
    total: () => [...counts.values()].reduce((sum, count) => sum + count.calls, 0),
    reset() {
      for (const count of counts.values()) {
        count.calls = 0;
        count.entries = 0;
      }
    },
  };
}
