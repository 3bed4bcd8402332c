/** A binary heap from which any item can be taken, because each knows its place. */
export interface Heap<T> {
  size(): number;
  /** The first item, left in. */
  peek(): T | undefined;
  push(item: T): void;
  pop(): T | undefined;
  /** Takes one item out; false when it is not in this heap. */
  remove(item: T): boolean;
  /** All items, in no order. */
  items(): readonly T[];
  /** Puts everything in order again, after sort keys were changed. */
  reorder(): void;
}

/** Where an item keeps its place in the heap; -1: in none. An item may be in two heaps with two places. */
export interface Place<T> {
  get(item: T): number;
  set(item: T, index: number): void;
}

export function createHeap<T>(before: (left: T, right: T) => boolean, place: Place<T>): Heap<T> {
  const items: T[] = [];

  function put(item: T, index: number): void {
    items[index] = item;
    place.set(item, index);
  }

  function rise(item: T, from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = items[above] as T;
      if (!before(item, parent)) break;
      put(parent, index);
      index = above;
    }
    put(item, index);
  }

  function sink(item: T, from: number): void {
    let index = from;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= items.length) break;
      if (below + 1 < items.length && before(items[below + 1] as T, items[below] as T)) below++;
      const child = items[below] as T;
      if (!before(child, item)) break;
      put(child, index);
      index = below;
    }
    put(item, index);
  }

  function removeAt(index: number): void {
    place.set(items[index] as T, -1);
    const last = items.pop() as T;
    if (index === items.length) return;
    const above = (index - 1) >> 1;
    if (index > 0 && before(last, items[above] as T)) rise(last, index);
    else sink(last, index);
  }

  return {
    size: () => items.length,
    peek: () => items[0],
    push(item) {
      items.push(item);
      rise(item, items.length - 1);
    },
    pop() {
      const first = items[0];
      if (first !== undefined) removeAt(0);
      return first;
    },
    remove(item) {
      const index = place.get(item);
      if (index < 0 || items[index] !== item) return false;
      removeAt(index);
      return true;
    },
    items: () => items,
    reorder() {
      for (let index = (items.length >> 1) - 1; index >= 0; index--) sink(items[index] as T, index);
    },
  };
}
