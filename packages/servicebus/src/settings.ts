import type { ServiceBusAdministrationClient } from "@azure/service-bus";
import { LeaseholdError } from "@leasehold/core/driver";
import { MAX_LOCK_MS } from "./capabilities.ts";
import { fromServicebus } from "./errors.ts";
import type { EntityNames } from "./names.ts";

/** What is asked of the management service: needs the right `Manage`, which workers should not have for anything else. */
export type Administration = Pick<ServiceBusAdministrationClient, "getQueue" | "getSubscription">;

/** What an entity says of its setup. */
export interface ReadSettings {
  readonly sessions: boolean;
  readonly lockMs: number;
  readonly maxDeliveryCount: number;
}

/** Throws `NotFound`, `PermissionDenied`, `Unavailable`, …; `Unknown` for a lock duration that nobody can read. */
export async function readSettings(administration: Administration, names: EntityNames): Promise<ReadSettings> {
  const doing = `reading the settings of ${names.queue}`;
  try {
    const { requiresSession, lockDuration, maxDeliveryCount } =
      names.subscription === undefined
        ? await administration.getQueue(names.target)
        : await administration.getSubscription(names.target, names.subscription);
    return { sessions: requiresSession, lockMs: lockMsOf(lockDuration, doing), maxDeliveryCount };
  } catch (error) {
    throw fromServicebus(error, doing);
  }
}

/** `PT1M30S`, at most five minutes: no hours, no days (SB-02). */
function lockMsOf(duration: string, doing: string): number {
  const [, minutes = "0", seconds = "0"] = /^PT(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?$/.exec(duration) ?? [];
  const lockMs = (Number(minutes) * 60 + Number(seconds)) * 1_000;
  if (lockMs > 0 && lockMs <= MAX_LOCK_MS) return lockMs;
  throw new LeaseholdError("Unknown", `${doing}: a lock of ${duration} is none`);
}
