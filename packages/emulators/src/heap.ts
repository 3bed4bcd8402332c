/** A place in a heap, so that what is there can be taken out without a search. */
export interface Place<T> {
  readonly value: T;
  /** Moves as the heap does; -1 once it is out. */
  index: number;
}

/** What comes first is found at once; everything else takes as many steps as the heap is deep. */
export interface Heap<T> {
  size(): number;
  first(): T | undefined;
  /** What its order goes by must not change while it is in. */
  add(value: T): Place<T>;
  /** Takes one out. Harmless when it is out already. */
  remove(place: Place<T>): void;
}

/** `isBefore`: whether the left one comes before the right one. */
export function createHeap<T>(isBefore: (left: T, right: T) => boolean): Heap<T> {
  const places: Place<T>[] = [];

  function put(place: Place<T>, index: number): void {
    places[index] = place;
    place.index = index;
  }

  function rise(place: Place<T>, from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = places[above] as Place<T>;
      if (!isBefore(place.value, parent.value)) break;
      put(parent, index);
      index = above;
    }
    put(place, index);
  }

  function sink(place: Place<T>, from: number): void {
    let index = from;
    for (;;) {
      let below = 2 * index + 1;
      const left = places[below];
      const right = places[below + 1];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right.value, left.value)) below++;
      const child = places[below] as Place<T>;
      if (!isBefore(child.value, place.value)) break;
      put(child, index);
      index = below;
    }
    put(place, index);
  }

  return {
    size: () => places.length,
    first: () => places[0]?.value,
    add(value) {
      const place = { value, index: places.length };
      rise(place, places.length);
      return place;
    },
    remove(place) {
      const { index } = place;
      if (index < 0) return;
      const last = places.pop() as Place<T>;
      place.index = -1;
      if (last === place) return;
      const parent = places[(index - 1) >> 1];
      if (index > 0 && parent !== undefined && isBefore(last.value, parent.value)) rise(last, index);
      else sink(last, index);
    },
  };
}
