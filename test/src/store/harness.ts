import { createTaskStore, type ItemStore, LeaseholdError, systemClock, type TaskStore } from "@leasehold/core/driver";
import { type Fault, withFaults } from "@leasehold/core/memory";
import type { Harness } from "../suite/case.ts";

/**
 * What a target offers to the store cases. The contract takes its time as a parameter, so cases choose their own and wait for nothing but a
 * lagging index. Cases share the items: each makes names of its own.
 */
export interface StoreHarness extends Harness {
  readonly store: TaskStore;
  /** The database under the store, for a look at what is stored, and to put there what another version would. No faults happen here. */
  readonly items: ItemStore;
  /** What this target cannot do although a database should, each with the reason. */
  readonly cannot?: Readonly<Partial<Record<StoreAbility, string>>>;
  /** Text that no other case has: for task ids, queues, runs. */
  unique(prefix: string): string;
  /** Need: `faults`. What happens to a coming call of the store to its items: the next of this name, or the one after `skip` others. */
  failNext(call: ItemCall, fault: ItemFault, skip?: number): void;
  /** The calls that the store has made to its items since the last question. */
  takeCalls(): readonly ItemCall[];
}

export type StoreAbility = "text by bytes";

export type ItemCall = "get" | "put" | "update" | "query";

/**
 * `request lost`: nothing was applied. `answer lost`: it was applied, and nobody hears of it. `throttled`: refused.
 * `sent twice`: it is applied, and applied once more, and the second answer is heard.
 */
export type ItemFault = "request lost" | "answer lost" | "throttled" | "sent twice";

/** What a target brings: a database. */
export type StoreParts = Omit<Harness, "has"> & Pick<StoreHarness, "items" | "cannot">;

const FAULTS: Readonly<Record<ItemFault, Fault>> = {
  "request lost": { drop: "before" },
  "answer lost": { drop: "after" },
  throttled: { error: new LeaseholdError("ResourceExhausted", "too many requests") },
  "sent twice": { twice: "second" },
};

/** Numbers the names of this process; the start of the process tells its names from those of an earlier run on the same database. */
const started = systemClock.now().toString(36);
let names = 0;

export function createStoreHarness(parts: StoreParts): StoreHarness {
  const planned: { readonly call: string; readonly fault: Fault; skip: number }[] = [];
  let calls: ItemCall[] = [];
  const items = withFaults(parts.items, systemClock, ({ name }) => {
    calls.push(name as ItemCall);
    const index = planned.findIndex((one) => one.call === name);
    const plan = planned[index];
    if (plan === undefined) return undefined;
    if (plan.skip > 0) {
      plan.skip -= 1;
      return undefined;
    }
    planned.splice(index, 1);
    return plan.fault;
  });
  return {
    ...parts,
    has: new Set(["time", "faults", "shortLease"]),
    store: createTaskStore({ items }),
    unique(prefix) {
      names += 1;
      return `${prefix}-${started}-${names}`;
    },
    failNext: (call, fault, skip = 0) => void planned.push({ call, fault: FAULTS[fault], skip }),
    takeCalls() {
      const taken = calls;
      calls = [];
      return taken;
    },
  };
}
