/** The credit of a link as the calls that brought it: each is open until all that it asked for is sent. */
export interface Grants {
  begin(amount: number): Grant;
  /** Messages were sent: the oldest calls got them. */
  use(amount: number): void;
  /** Whether what each call found at once is sent. */
  areAnswered(): boolean;
  /** Nothing more comes. */
  end(): void;
}

export interface Grant {
  answered(): void;
  /** Calls `ended` once all that was asked for is sent, or nothing more comes. */
  open(ended: () => void): void;
}

interface Entry {
  left: number;
  ended: () => void;
}

export function createGrants(): Grants {
  const entries = new Set<Entry>();
  let unanswered = 0;

  function finish(entry: Entry): void {
    entry.left = 0;
    entries.delete(entry);
    entry.ended();
  }

  return {
    begin(amount) {
      const entry: Entry = { left: amount, ended() {} };
      entries.add(entry);
      unanswered++;
      return {
        answered: () => void unanswered--,
        open(ended) {
          if (entries.has(entry)) entry.ended = ended;
          else ended();
        },
      };
    },
    use(amount) {
      let left = amount;
      for (const entry of entries) {
        if (left <= 0) return;
        const used = Math.min(left, entry.left);
        entry.left -= used;
        left -= used;
        if (entry.left === 0) finish(entry);
      }
    },
    areAnswered: () => unanswered === 0,
    end() {
      for (const entry of entries) finish(entry);
    },
  };
}
