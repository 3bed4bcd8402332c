import type { Message } from "./message.ts";

/** The messages that cannot be received yet, by when they can: a heap in which each message knows its place. */
export interface Hidden {
  size(): number;
  /** The one that can be received soonest. */
  first(): Message | undefined;
  add(message: Message): void;
  remove(message: Message): void;
}

function isSooner(left: Message, right: Message): boolean {
  // Of one instant, the older message first: it keeps the order in which a batch was received.
  return left.visibleAt < right.visibleAt || (left.visibleAt === right.visibleAt && left.number < right.number);
}

export function createHidden(): Hidden {
  const heap: Message[] = [];

  function put(message: Message, index: number): void {
    heap[index] = message;
    message.hiddenIndex = index;
  }

  function rise(message: Message, from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above] as Message;
      if (!isSooner(message, parent)) break;
      put(parent, index);
      index = above;
    }
    put(message, index);
  }

  function sink(message: Message, from: number): void {
    let index = from;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isSooner(heap[below + 1] as Message, heap[below] as Message)) below++;
      const child = heap[below] as Message;
      if (!isSooner(child, message)) break;
      put(child, index);
      index = below;
    }
    put(message, index);
  }

  return {
    size: () => heap.length,
    first: () => heap[0],
    add: (message) => rise(message, heap.length),
    remove(message) {
      const index = message.hiddenIndex;
      const last = heap.pop() as Message;
      message.hiddenIndex = -1;
      if (last === message) return;
      const parent = heap[(index - 1) >> 1];
      if (index > 0 && parent !== undefined && isSooner(last, parent)) rise(last, index);
      else sink(last, index);
    },
  };
}
