import type { QueueDriver, TaskStore } from "@leasehold/core";
import { systemClock } from "@leasehold/core/driver";
import { type Fault, withFaults } from "@leasehold/core/memory";
import type { FaultKind } from "./faults.ts";
import type { Mortal } from "./mortal.ts";

/** Carries out the part of the plan that happens between a worker that is a part of this process, and queue and store. */
export interface Injection {
  /** What one worker sees of queue and store, as long as it lives. */
  forWorker(
    worker: Mortal,
    queue: QueueDriver,
    store: TaskStore,
  ): { readonly queue: QueueDriver; readonly store: TaskStore };
}

/** The store calls that write down what the external system answered. */
const PROOFS: ReadonlySet<string> = new Set(["recordCommitted", "recordReceipt"]);

interface StoreWrite {
  readonly taskId?: string;
  readonly token?: string;
}

/** `targets`: the tasks that each fault may hit, by id; it hits the first that comes to the point, which is added to `happened`. */
export function createInjection(
  targets: ReadonlyMap<FaultKind, readonly string[]>,
  happened: Map<FaultKind, string>,
): Injection {
  /** How many renewals each lease has tried; and the lease that loses them. */
  const renewals = new Map<string, number>();
  let victim: string | undefined;

  const hitsOnce = (kind: FaultKind, taskId: string | undefined): boolean => {
    if (taskId === undefined || happened.has(kind) || targets.get(kind)?.includes(taskId) !== true) return false;
    happened.set(kind, taskId);
    return true;
  };

  /** The first renewal of a lease carries the handler's claim and passes; those that should keep the lease alive are lost. */
  const losesRenewal = ({ taskId, token }: StoreWrite): boolean => {
    if (taskId === undefined || token === undefined || targets.get("lost_renewals")?.includes(taskId) !== true)
      return false;
    const tries = (renewals.get(token) ?? 0) + 1;
    renewals.set(token, tries);
    if (tries > 1 && hitsOnce("lost_renewals", taskId)) victim = token;
    return tries > 1 && victim === token;
  };

  const onStoreCall = (worker: Mortal, name: string, write: StoreWrite): Fault | undefined => {
    if (worker.dead) return { hang: "before" };
    if (
      PROOFS.has(name) &&
      (hitsOnce("crash_after_commit", write.taskId) || hitsOnce("crash_after_send", write.taskId))
    ) {
      // The external system has answered, and nothing of that is written yet.
      worker.die();
      return { hang: "before" };
    }
    return name === "renew" && losesRenewal(write) ? { drop: "before" } : undefined;
  };

  return {
    forWorker: (worker, queue, store) => ({
      queue: withFaults(queue, systemClock, () => (worker.dead ? { hang: "before" } : undefined)),
      store: withFaults(store, systemClock, ({ name, args }) =>
        onStoreCall(worker, name, (args[0] ?? {}) as StoreWrite),
      ),
    }),
  };
}
