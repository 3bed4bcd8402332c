import type { EntitySettings, TopicSettings } from "../entity-settings.ts";

/** Settings with nothing left open. */
export type QueueSettings = Required<EntitySettings>;

export const DEFAULT_MAX_MESSAGE_BYTES = 262_144;
const DEFAULTS: QueueSettings = {
  lockDurationMs: 60_000,
  maxDeliveryCount: 10,
  requiresSession: false,
  defaultTimeToLiveMs: Number.POSITIVE_INFINITY,
  deadLetterOnExpiration: false,
  duplicateDetectionWindowMs: 0,
  maxMessageBytes: DEFAULT_MAX_MESSAGE_BYTES,
};
const LONGEST_LOCK_MS = 300_000;

/** Throws when one is out of range. */
export function queueSettings(settings: EntitySettings): QueueSettings {
  const all = { ...DEFAULTS, ...settings };
  check("lockDurationMs", all.lockDurationMs, all.lockDurationMs > 0 && all.lockDurationMs <= LONGEST_LOCK_MS);
  check(
    "maxDeliveryCount",
    all.maxDeliveryCount,
    Number.isSafeInteger(all.maxDeliveryCount) && all.maxDeliveryCount >= 1,
  );
  check("defaultTimeToLiveMs", all.defaultTimeToLiveMs, all.defaultTimeToLiveMs > 0);
  return { ...all, ...topicSettings(all) };
}

export function topicSettings(settings: TopicSettings): Required<TopicSettings> {
  const { duplicateDetectionWindowMs = 0, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = settings;
  check("duplicateDetectionWindowMs", duplicateDetectionWindowMs, duplicateDetectionWindowMs >= 0);
  check("maxMessageBytes", maxMessageBytes, Number.isSafeInteger(maxMessageBytes) && maxMessageBytes >= 1);
  return { duplicateDetectionWindowMs, maxMessageBytes };
}

/** Dead letters neither expire nor are they counted out, and they belong to no session (SB-37). */
export function deadLetterSettings(settings: QueueSettings): QueueSettings {
  return {
    ...settings,
    maxDeliveryCount: Number.POSITIVE_INFINITY,
    requiresSession: false,
    defaultTimeToLiveMs: Number.POSITIVE_INFINITY,
    deadLetterOnExpiration: false,
    duplicateDetectionWindowMs: 0,
  };
}

function check(name: keyof EntitySettings, value: number, isFine: boolean): void {
  if (!isFine) throw new RangeError(`${name} is out of range: ${value}`);
}
