import { createMemoryItems } from "@leasehold/core/memory";
import { createStoreHarness, type StoreHarness } from "../store/harness.ts";
import type { HarnessSource } from "../suite/run.ts";

/** The memory items: nothing of them takes time, and their indexes never lag. */
export const memoryStoreSource: HarnessSource<StoreHarness> = {
  async open() {
    const items = createMemoryItems();
    return createStoreHarness({
      items,
      minLeaseMs: 1,
      toleranceMs: 0,
      wait: async () => undefined,
      close: () => items.close(),
    });
  },
};
