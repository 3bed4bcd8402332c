import { createLinkedList, type LinkedList, type Place } from "../../linked-list.ts";
import type { Entry, Receiver } from "./entry.ts";

/**
 * The messages of one ordering key, oldest first. While any is leased the line has a holder, and only that one gets what
 * follows: a stream as long as it is open, a pull within its one answer.
 */
export interface Line {
  readonly key: string;
  readonly entries: LinkedList<Entry>;
  /** The first that is not leased; all before it are, and none behind it is. */
  next: Place<Entry> | undefined;
  /** How many are leased. */
  leased: number;
  holder: Receiver | undefined;
}

/** All lines of a subscription. Every step takes the same time, however long a line is. */
export interface Lines {
  lineOf(key: string): Line;
  append(entry: Entry, line: Line): void;
  remove(entry: Entry, line: Line): void;
  /** The next of the line was leased. */
  advance(line: Line): void;
  /** The entry is the next one again. Answers those behind it that are leased, in order: they are to come again with it. */
  returnTo(entry: Entry, line: Line): readonly Entry[];
}

export function createLines(): Lines {
  const lines = new Map<string, Line>();
  return {
    lineOf(key) {
      let line = lines.get(key);
      if (line === undefined) {
        line = { key, entries: createLinkedList(), next: undefined, leased: 0, holder: undefined };
        lines.set(key, line);
      }
      return line;
    },
    append(entry, line) {
      const place = line.entries.append(entry);
      entry.inLine = place;
      line.next ??= place;
    },
    remove(entry, line) {
      const place = entry.inLine;
      if (place === undefined) return;
      if (line.next === place) line.next = place.next;
      line.entries.remove(place);
      entry.inLine = undefined;
      if (line.entries.first() === undefined) lines.delete(line.key);
    },
    advance(line) {
      line.leased++;
      line.next = line.next?.next;
    },
    returnTo(entry, line) {
      const later: Entry[] = [];
      for (let place = entry.inLine?.next; place !== undefined && place !== line.next; place = place.next) {
        later.push(place.value);
      }
      line.next = entry.inLine;
      return later;
    },
  };
}
