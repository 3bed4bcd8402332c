import type { Entry, Receiver } from "./entry.ts";

/**
 * The messages of one ordering key, oldest first. While any is leased the line has a holder, and only that one gets what
 * follows: a stream as long as it is open, a pull within its one answer.
 */
export interface Line {
  readonly key: string;
  readonly entries: Entry[];
  leased: number;
  holder: Receiver | undefined;
}

export function createLines(): {
  lineOf(key: string): Line;
  /** Forgets a line that has nothing left. */
  drop(line: Line): void;
} {
  const lines = new Map<string, Line>();
  return {
    lineOf(key) {
      let line = lines.get(key);
      if (line === undefined) {
        line = { key, entries: [], leased: 0, holder: undefined };
        lines.set(key, line);
      }
      return line;
    },
    drop(line) {
      if (line.entries.length === 0) lines.delete(line.key);
    },
  };
}

/** The first of a line that is not leased; those before it all are. */
export function nextOf(line: Line): Entry | undefined {
  return line.entries.find(({ state }) => state !== "leased");
}

/** Those that came later, in order. */
export function behind(line: Line, entry: Entry): readonly Entry[] {
  return line.entries.slice(line.entries.indexOf(entry) + 1);
}
