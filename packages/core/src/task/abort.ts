import { isLeaseholdError } from "../errors.ts";
import type { AbortReason } from "./define.ts";

const REASONS: readonly string[] = [
  "taken_over",
  "expired",
  "no_progress",
  "cancelled",
  "deadline",
  "shutdown",
] satisfies readonly AbortReason[];

/** Why a handler's signal aborted; `undefined` while it has not, and for a signal that is not a handler's. */
export function abortReasonOf(signal: AbortSignal): AbortReason | undefined {
  if (!signal.aborted || !isLeaseholdError(signal.reason, "LeaseLost")) return undefined;
  const { reason } = signal.reason.details;
  return typeof reason === "string" && REASONS.includes(reason) ? (reason as AbortReason) : undefined;
}
