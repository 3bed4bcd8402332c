import type { Capabilities } from "@leasehold/core/driver";

const DOCS = "https://cloud.google.com/pubsub/docs";
const RPC = `${DOCS}/reference/rpc/google.pubsub.v1`;
const QUOTAS = "https://cloud.google.com/pubsub/quotas#resource_limits";

const SECOND_MS = 1_000;
/** The longest ack deadline, counted from the call that sets it; no limit to how often (PS-03, PS-05). */
const TEN_MINUTES_MS = 600_000;
/** Messages of one publish. A pull may name as many, and as many ack ids fit into one call (PS-26, PS-50). */
const MAX_BATCH = 1_000;
/** Bytes of a publish request as it is encoded (PS-50). */
const MAX_REQUEST_BYTES = 10_000_000;
/** The longest name of a topic, with that of its project, and its framing. */
const TOPIC_BYTES = 400;
/** Bytes of all messages of one request, as they are encoded. */
export const MAX_ENTRY_BYTES = MAX_REQUEST_BYTES - TOPIC_BYTES;
/** What a message has beside body and attributes: content type, ordering key, framing. */
const FRAME_BYTES = 600;
/** Bytes of the name of an attribute, and of its value; a reason is one (PS-50). */
export const MAX_ATTRIBUTE_NAME_BYTES = 256;
export const MAX_ATTRIBUTE_BYTES = 1_024;

/** What a driver has to know of its subscription. */
export interface QueueSettings {
  readonly exactlyOnce: boolean;
  readonly ordering: boolean;
  /** Full name of the topic that dead letters are copied to. */
  readonly deadLetterTopic: string | undefined;
}

export function capabilitiesOf({ exactlyOnce, ordering, deadLetterTopic }: QueueSettings): Capabilities {
  return {
    maxLeaseMs: TEN_MINUTES_MS,
    // Without exactly-once delivery a stale ack id is answered as a live one is (PS-02).
    settleConfirmation: exactlyOnce ? "confirmed" : "unconfirmed",
    maxBatch: MAX_BATCH,
    maxSendDelayMs: 0,
    maxAbandonDelayMs: TEN_MINUTES_MS,
    deadLetter: deadLetterTopic === undefined ? "store" : "copy",
    deadLetterReasonBytes: MAX_ATTRIBUTE_BYTES,
    maxMessageBytes: MAX_ENTRY_BYTES - FRAME_BYTES,
    ordering,
    settle: "call",
    sources: {
      maxLeaseMs: `${RPC}#modifyackdeadlinerequest`,
      settleConfirmation: `${DOCS}/exactly-once-delivery`,
      maxBatch: QUOTAS,
      maxSendDelayMs: `${RPC}#publishrequest`,
      maxAbandonDelayMs: `${RPC}#modifyackdeadlinerequest`,
      deadLetter: `${DOCS}/handling-failures`,
      deadLetterReasonBytes: QUOTAS,
      maxMessageBytes: QUOTAS,
      ordering: `${DOCS}/ordering`,
    },
  };
}

/** Whole seconds, never less than asked for: the unit of ack deadlines. */
export function secondsUp(ms: number): number {
  return Math.ceil(ms / SECOND_MS);
}
