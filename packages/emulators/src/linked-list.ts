/** A place in a list, so that what is there can be taken out without a search. */
export interface Place<T> {
  readonly value: T;
  next: Place<T> | undefined;
  previous: Place<T> | undefined;
}

/** A list in which every step takes the same time, however long it is. */
export interface LinkedList<T> {
  first(): Place<T> | undefined;
  append(value: T): Place<T>;
  /** Takes one out. The place must be one of this list, and still in it. */
  remove(place: Place<T>): void;
}

export function createLinkedList<T>(): LinkedList<T> {
  let first: Place<T> | undefined;
  let last: Place<T> | undefined;
  return {
    first: () => first,
    append(value) {
      const place: Place<T> = { value, next: undefined, previous: last };
      if (last === undefined) first = place;
      else last.next = place;
      last = place;
      return place;
    },
    remove(place) {
      if (place.previous === undefined) first = place.next;
      else place.previous.next = place.next;
      if (place.next === undefined) last = place.previous;
      else place.next.previous = place.previous;
    },
  };
}
