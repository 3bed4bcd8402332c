import type { Entropy } from "@leasehold/core";
import { systemEntropy } from "@leasehold/core/driver";

/** Chance that a seed repeats (mulberry32); tokens stay those of the machine, because they must be unique everywhere. */
export function seededEntropy(seed: number): Entropy {
  let state = seed >>> 0;
  return {
    random() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = state;
      mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
    },
    token: () => systemEntropy.token(),
  };
}
