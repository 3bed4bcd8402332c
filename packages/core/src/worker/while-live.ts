import { retrying } from "../util/retry.ts";
import type { Attempt } from "./attempt.ts";

const BASE_MS = 100;
const CAP_MS = 2_000;

/**
 * Makes a call again while it fails in a transient way and the attempt's lease lives. The call must be safe to make twice.
 * Throws its last error.
 */
export function whileLive<T>({ lease, runtime }: Attempt, doing: string, call: () => Promise<T>): Promise<T> {
  return retrying(call, {
    clock: runtime.clock,
    entropy: runtime.entropy,
    doing,
    untilMonotonic: lease.deadlineMonotonic,
    baseMs: BASE_MS,
    capMs: CAP_MS,
    signal: lease.signal,
  });
}
