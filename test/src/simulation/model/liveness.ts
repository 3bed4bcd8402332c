import { LEASE_MS } from "../definitions.ts";
import type { ModelContext } from "./state.ts";

/** Two empty polls of 20 s, after which a worker takes the queue for empty; one that a message has ended does not count. */
const EMPTY_MS = 65_000;
/** Two passes over the partitions, each jittered: what may lie between two looks at one of them, in `recoverAfterMs`. */
const PASSES = 1.5;
/** With an ordering key nothing else may say that the queue has moved past a task. */
const KEYED_PATIENCE_MS = 3_600_000;

/**
 * In a healthy world, a task that waits and is due starts in time; and in the end each has ended.
 * Called again and again; `open` is what has not ended.
 */
export function checkLiveness(
  context: ModelContext,
  {
    recoverAfterMs,
    freeSince,
  }: {
    readonly recoverAfterMs: number /** Since when some worker has had a free slot, true time. */;
    readonly freeSince: number;
  },
): { readonly open: number } {
  const now = context.now();
  let open = 0;
  for (const state of context.tasks.values()) {
    const { record } = state;
    const waiting = record.status === "queued" || record.status === "released";
    if (waiting || record.status === "leased") open += 1;
    if (!waiting && record.status !== "leased") continue;
    const dueAt = Date.parse((waiting ? record.not_before : record.lease_expires_at) ?? record.created_at);
    state.waitsSince ??= now;
    const since = Math.max(state.waitsSince, dueAt + context.skewMs, freeSince, context.lastReceivedAt);
    const patienceMs =
      EMPTY_MS +
      (1 + PASSES) * recoverAfterMs +
      2 * LEASE_MS +
      (record.ordering_key === undefined ? 0 : KEYED_PATIENCE_MS);
    if (now - since > patienceMs) {
      context.fail(
        6,
        `task ${state.id}: ${record.status} and due, and nothing has happened for ${Math.round((now - since) / 1_000)} s`,
      );
    }
  }
  return { open };
}
