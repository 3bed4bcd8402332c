import type { Item, ItemStore } from "@leasehold/core/driver";

/** One write that was applied. */
export interface AppliedWrite {
  readonly writer: string;
  readonly key: string;
  readonly before: Item | undefined;
  readonly after: Item;
}

/** The items of the run, as seen by one writer: every write that is applied is told, with the item before and after it. */
export function recorded(items: ItemStore, writer: string, onWrite: (write: AppliedWrite) => void): ItemStore {
  async function observed(key: string, write: () => ReturnType<ItemStore["put"]>): ReturnType<ItemStore["put"]> {
    // Memory items apply a call when it is made, so these three see one moment after the other, with nothing between.
    const [before, outcome, after] = [items.get(key), write(), items.get(key)];
    const answer = await outcome;
    if (answer.applied) onWrite({ writer, key, before: await before, after: (await after) as Item });
    return answer;
  }
  return {
    get: (key) => items.get(key),
    put: (key, item, condition) => observed(key, () => items.put(key, item, condition)),
    update: (key, update, condition) => observed(key, () => items.update(key, update, condition)),
    query: (query) => items.query(query),
    close: async () => undefined,
  };
}
