import { ParkError } from "../errors.ts";
import { type EffectState, ENDED, type Receipt } from "../record/record.ts";
import type { KeyOwner } from "../store/task-store.ts";
import type { Attempt } from "./attempt.ts";
import { whileLive } from "./while-live.ts";

/** Thrown when another live task holds a shared key: the attempt is given back and waits. */
export class WaitForKeyError extends Error {
  constructor(slot: string, owner: KeyOwner) {
    super(`effect ${slot}: its shared key is held by task ${owner.task_id}`);
    this.name = "WaitForKeyError";
  }
}

export type SharedKey =
  /** Ours, and nobody's before: nobody began it. */
  | { readonly taken: "fresh" }
  /** Ours: an earlier owner, or an earlier attempt of ours, may have begun it, so it is read back first. Its intent, where it is known. */
  | { readonly taken: "inherited"; readonly intent?: EffectState }
  /** Another task has made it; its receipt is as good as ours. */
  | { readonly taken: "made"; readonly receipt: Receipt };

/**
 * Makes this task the owner of a key that is shared across tasks. Every attempt does so before begin, so that an owner that
 * came back under a higher fence is seen. Takes over only from an owner that has ended without a receipt or is gone, under
 * exactly what was read.
 */
export async function takeSharedKey(attempt: Attempt, slot: string, system: string, key: string): Promise<SharedKey> {
  const { lease, runtime } = attempt;
  const { clock, settings, store } = runtime;
  const owner: KeyOwner = { task_id: lease.taskId, fence: lease.fence };
  let from: KeyOwner | undefined;
  let intent: EffectState | undefined;
  for (;;) {
    lease.assertLive();
    const claim = await whileLive(attempt, "claim of a shared key", () =>
      store.claimKey({
        system,
        key,
        owner,
        at: clock.now(),
        retentionMs: settings.retentionMs,
        ...(from === undefined ? {} : { from }),
      }),
    );
    if (claim.outcome === "claimed") {
      return claim.fresh ? { taken: "fresh" } : { taken: "inherited", ...(intent === undefined ? {} : { intent }) };
    }
    const holder = claim.owner;
    const record = await whileLive(attempt, "read of a key's owner", () => store.get(holder.task_id));
    const theirs =
      record === undefined
        ? undefined
        : Object.values(record.effects).find((effect) => effect.key === key && effect.external_system === system);
    if (theirs?.receipt !== undefined) return { taken: "made", receipt: theirs.receipt };
    if (record !== undefined && record.status === "parked") {
      throw new ParkError(`effect ${slot}: its shared key is held by task ${holder.task_id}, which is parked`);
    }
    if (record !== undefined && !ENDED.has(record.status)) throw new WaitForKeyError(slot, holder);
    from = holder;
    intent = theirs;
  }
}
