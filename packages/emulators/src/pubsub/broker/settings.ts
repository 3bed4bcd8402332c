import { invalid, PubsubError } from "../errors.ts";
import { checkName } from "../names.ts";

/** As the wire has it. */
export interface WireDuration {
  readonly seconds?: string | number | null;
  readonly nanos?: number | null;
}

/** A `Subscription` of the API, as far as anything here goes by it; what else it holds is kept and shown. */
export interface SubscriptionConfig {
  readonly name: string;
  readonly topic: string;
  readonly ackDeadlineSeconds?: number;
  readonly enableMessageOrdering?: boolean;
  readonly enableExactlyOnceDelivery?: boolean;
  readonly messageRetentionDuration?: WireDuration | null;
  readonly filter?: string;
  readonly pushConfig?: { readonly pushEndpoint?: string } | null;
  readonly deadLetterPolicy?: { readonly deadLetterTopic?: string; readonly maxDeliveryAttempts?: number } | null;
  readonly retryPolicy?: {
    readonly minimumBackoff?: WireDuration | null;
    readonly maximumBackoff?: WireDuration | null;
  } | null;
}

const DEFAULT_DEADLINE_SECONDS = 10;
const MAX_DEADLINE_SECONDS = 600;
const DEFAULT_ATTEMPTS = 5;
const MAX_ATTEMPTS = 100;
const DEFAULT_BACKOFF_MS = 10_000;
const MAX_BACKOFF_MS = 600_000;
/** https://cloud.google.com/pubsub/docs/subscription-properties#message_retention_duration */
const DEFAULT_RETENTION_MS = 7 * 86_400_000;
const [MIN_RETENTION_MS, MAX_RETENTION_MS] = [600_000, 31 * 86_400_000];

/** The config with its defaults filled in. Throws INVALID_ARGUMENT or OUT_OF_RANGE. */
export function completeSubscription(config: SubscriptionConfig): SubscriptionConfig {
  checkName(config.name, "subscriptions");
  const ackDeadlineSeconds = config.ackDeadlineSeconds || DEFAULT_DEADLINE_SECONDS;
  if (ackDeadlineSeconds < DEFAULT_DEADLINE_SECONDS || ackDeadlineSeconds > MAX_DEADLINE_SECONDS) {
    throw invalid(
      `Invalid ack deadline given (ack_deadline_seconds=${ackDeadlineSeconds}): expected 10 to 600 seconds.`,
    );
  }
  const { deadLetterPolicy, retryPolicy } = config;
  const maxDeliveryAttempts = deadLetterPolicy?.maxDeliveryAttempts || DEFAULT_ATTEMPTS;
  if (maxDeliveryAttempts < DEFAULT_ATTEMPTS || maxDeliveryAttempts > MAX_ATTEMPTS) {
    // Not INVALID_ARGUMENT as the others are: so it is with Google's emulator.
    throw new PubsubError("OUT_OF_RANGE", `Invalid max_delivery_attempts (${maxDeliveryAttempts}): expected 5 to 100.`);
  }
  const [minimumMs, maximumMs] = [
    msOf(retryPolicy?.minimumBackoff, DEFAULT_BACKOFF_MS),
    msOf(retryPolicy?.maximumBackoff, MAX_BACKOFF_MS),
  ];
  for (const ms of [minimumMs, maximumMs]) {
    if (!(ms >= 0 && ms <= MAX_BACKOFF_MS)) throw invalid("Invalid retry policy: backoffs are 0 to 600 seconds.");
  }
  if (minimumMs > maximumMs) throw invalid("Invalid retry policy: minimum_backoff exceeds maximum_backoff.");
  const retentionMs = retentionMsOf(config);
  if (!(retentionMs >= MIN_RETENTION_MS && retentionMs <= MAX_RETENTION_MS)) {
    throw invalid("Invalid message_retention_duration: expected 10 minutes to 31 days.");
  }
  return {
    ...config,
    ackDeadlineSeconds,
    messageRetentionDuration: config.messageRetentionDuration ?? durationOf(DEFAULT_RETENTION_MS),
    ...(deadLetterPolicy && { deadLetterPolicy: { ...deadLetterPolicy, maxDeliveryAttempts } }),
    ...(retryPolicy && {
      retryPolicy: { minimumBackoff: durationOf(minimumMs), maximumBackoff: durationOf(maximumMs) },
    }),
  };
}

export function retentionMsOf({ messageRetentionDuration }: SubscriptionConfig): number {
  return msOf(messageRetentionDuration, DEFAULT_RETENTION_MS);
}

/** How long a message waits that was given back so many times; without a policy not at all. */
export function backoffMsOf({ retryPolicy }: SubscriptionConfig, attempts: number): number {
  if (!retryPolicy) return 0;
  const minimumMs = msOf(retryPolicy.minimumBackoff, DEFAULT_BACKOFF_MS);
  return Math.min(msOf(retryPolicy.maximumBackoff, MAX_BACKOFF_MS), minimumMs * 2 ** Math.min(attempts - 1, 30));
}

/** `undefined`: there is no policy. */
export function maxAttemptsOf({ deadLetterPolicy }: SubscriptionConfig): number | undefined {
  return deadLetterPolicy ? deadLetterPolicy.maxDeliveryAttempts || DEFAULT_ATTEMPTS : undefined;
}

/** Throws INVALID_ARGUMENT for a time that a lease cannot be set to. */
export function checkDeadline(seconds: number): void {
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_DEADLINE_SECONDS) return;
  throw invalid(`Invalid ack deadline given (ack_deadline_seconds=${seconds}): expected 0 to 600 seconds.`);
}

function msOf(duration: WireDuration | null | undefined, otherwise: number): number {
  if (!duration) return otherwise;
  return Number(duration.seconds ?? 0) * 1_000 + (duration.nanos ?? 0) / 1_000_000;
}

export function durationOf(ms: number): { readonly seconds: string; readonly nanos: number } {
  return { seconds: String(Math.floor(ms / 1_000)), nanos: Math.round((ms % 1_000) * 1_000_000) };
}
