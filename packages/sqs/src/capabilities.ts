import { GetQueueAttributesCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { type Capabilities, LeaseholdError } from "@leasehold/core/driver";
import { fromSqs } from "./errors.ts";

const GUIDE = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide";
const API = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference";

const SECOND_MS = 1_000;
/** The longest visibility timeout, and the longest hold from receive (SQS-02, SQS-05). */
const TWELVE_HOURS_MS = 43_200_000;
/**
 * An answer does not say when its leases began (SQS-03), and an extension that reaches beyond the twelve hours by an
 * instant is refused. So a hold ends this much sooner.
 */
const TRANSIT_MS = 10_000;
/** The longest long poll (SQS-42). */
export const MAX_WAIT_MS = 20_000;
/** Entries of a batch (SQS-40). */
const MAX_BATCH = 10;
/** The longest delay of a sent message (SQS-53). */
const MAX_SEND_DELAY_MS = 900_000;
/** Ours: SQS takes whatever fits into the message. */
const DEAD_LETTER_REASON_BYTES = 1_024;
/** What a queue takes unless it was made before August 2025 or says otherwise; also the most that one batch may have (SQS-43). */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** What a driver has to know of its queue. */
export interface QueueSettings {
  readonly fifo: boolean;
  readonly maxMessageBytes: number;
  readonly deadLetterUrl: string | undefined;
}

export function capabilitiesOf({ fifo, maxMessageBytes, deadLetterUrl }: QueueSettings): Capabilities {
  return {
    maxLeaseMs: TWELVE_HOURS_MS,
    totalLeaseMs: TWELVE_HOURS_MS - TRANSIT_MS,
    // A standard queue answers a stale handle as it answers a live one (SQS-08, SQS-09).
    settleConfirmation: fifo ? "confirmed" : "unconfirmed",
    maxBatch: MAX_BATCH,
    // A FIFO queue has one delay for all its messages (SQS-53).
    maxSendDelayMs: fifo ? 0 : MAX_SEND_DELAY_MS,
    maxAbandonDelayMs: TWELVE_HOURS_MS,
    deadLetter: deadLetterUrl === undefined ? "store" : "copy",
    deadLetterReasonBytes: DEAD_LETTER_REASON_BYTES,
    maxMessageBytes,
    ordering: fifo,
    settle: "call",
    sources: {
      maxLeaseMs: `${API}/API_ReceiveMessage.html`,
      totalLeaseMs: `${GUIDE}/sqs-visibility-timeout.html`,
      settleConfirmation: `${API}/API_DeleteMessage.html`,
      maxBatch: `${GUIDE}/sqs-batch-api-actions.html`,
      maxSendDelayMs: `${API}/API_SendMessage.html`,
      maxAbandonDelayMs: `${API}/API_ChangeMessageVisibility.html`,
      deadLetter: `${GUIDE}/sqs-dead-letter-queues.html`,
      deadLetterReasonBytes: `${GUIDE}/sqs-message-metadata.html`,
      maxMessageBytes: `${GUIDE}/quotas-messages.html`,
      ordering: `${GUIDE}/FIFO-queues-understanding-logic.html`,
    },
  };
}

/** Whole seconds, never less than asked for: the unit in which SQS counts leases and delays. */
export function secondsUp(ms: number): number {
  return Math.ceil(ms / SECOND_MS);
}

/** Whole seconds, never more than there are. */
export function secondsDown(ms: number): number {
  return Math.floor(ms / SECOND_MS);
}

/** What the queue itself says of its setup. */
export interface QueueAttributes {
  readonly fifo: boolean;
  readonly maxMessageBytes: number;
  readonly redrive: { readonly deadLetterArn: string; readonly maxReceiveCount: number } | undefined;
}

/** Asks the queue. Throws `NotFound`, `PermissionDenied`, `Unavailable`, …; `Unknown` for a redrive policy that nobody can read. */
export async function readAttributes(control: SQSClient, queueUrl: string): Promise<QueueAttributes> {
  const doing = `reading the attributes of ${queueUrl}`;
  let attributes: Partial<Record<string, string>>;
  try {
    const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ["All"] });
    attributes = (await control.send(command)).Attributes ?? {};
  } catch (error) {
    throw fromSqs(error, doing);
  }
  const { FifoQueue, MaximumMessageSize, RedrivePolicy } = attributes;
  return {
    fifo: FifoQueue === "true" || isFifoName(queueUrl),
    maxMessageBytes: Number(MaximumMessageSize) || MAX_MESSAGE_BYTES,
    redrive: RedrivePolicy === undefined ? undefined : redriveOf(RedrivePolicy, doing),
  };
}

/** FIFO queues, and no others, have names that end so. */
export function isFifoName(nameOrUrl: string): boolean {
  return nameOrUrl.endsWith(".fifo");
}

function redriveOf(policy: string, doing: string): QueueAttributes["redrive"] {
  let parsed: { readonly deadLetterTargetArn?: unknown; readonly maxReceiveCount?: unknown };
  try {
    parsed = JSON.parse(policy) as typeof parsed;
  } catch (cause) {
    throw new LeaseholdError("Unknown", `${doing}: RedrivePolicy: expected JSON`, { cause });
  }
  const { deadLetterTargetArn, maxReceiveCount } = parsed;
  // Some servers keep the policy of a queue whose dead-letter queue was taken away, empty.
  if (typeof deadLetterTargetArn !== "string" || deadLetterTargetArn === "") return undefined;
  return { deadLetterArn: deadLetterTargetArn, maxReceiveCount: Number(maxReceiveCount) };
}
