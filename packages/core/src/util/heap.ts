/** What a {@link Heap} holds: each item keeps its own place, so that it can be moved and removed without a search. */
export interface HeapItem {
  /** The order; lowest first. Change it only through {@link Heap.update}. */
  due: number;
  /** Kept by the heap; -1: not in one. */
  place: number;
}

/** A binary heap whose items can be removed and moved in O(log n). */
export interface Heap<T extends HeapItem> {
  readonly size: number;
  first(): T | undefined;
  /** Puts the item in, or moves it to its new `due`. */
  update(item: T, due: number): void;
  remove(item: T): void;
  /** All items, in no order. */
  items(): readonly T[];
}

export function createHeap<T extends HeapItem>(): Heap<T> {
  const heap: T[] = [];

  const put = (item: T, place: number): void => {
    heap[place] = item;
    item.place = place;
  };

  const rise = (item: T): void => {
    let place = item.place;
    while (place > 0) {
      const parentPlace = (place - 1) >> 1;
      const parent = heap[parentPlace] as T;
      if (parent.due <= item.due) break;
      put(parent, place);
      place = parentPlace;
    }
    put(item, place);
  };

  const sink = (item: T): void => {
    let place = item.place;
    for (;;) {
      let childPlace = place * 2 + 1;
      if (childPlace >= heap.length) break;
      const right = childPlace + 1;
      if (right < heap.length && (heap[right] as T).due < (heap[childPlace] as T).due) childPlace = right;
      const child = heap[childPlace] as T;
      if (child.due >= item.due) break;
      put(child, place);
      place = childPlace;
    }
    put(item, place);
  };

  return {
    get size() {
      return heap.length;
    },
    first: () => heap[0],
    update(item, due) {
      if (item.place < 0) {
        item.due = due;
        item.place = heap.length;
        heap.push(item);
        rise(item);
        return;
      }
      const earlier = due < item.due;
      item.due = due;
      if (earlier) rise(item);
      else sink(item);
    },
    remove(item) {
      const place = item.place;
      if (place < 0) return;
      item.place = -1;
      const last = heap.pop() as T;
      if (last === item) return;
      put(last, place);
      rise(last);
      sink(last);
    },
    items: () => heap,
  };
}
