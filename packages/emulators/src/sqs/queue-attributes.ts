import { invalidParameter, invalidValue, SqsError } from "./errors.ts";

/** How a queue is set up, under the names and with the texts of the service. */
export type QueueAttributes = Readonly<Record<string, string>>;

export interface RedrivePolicy {
  readonly deadLetterTargetArn: string;
  readonly maxReceiveCount: number;
}

/** The same, as the queue works with it. */
export interface QueueSettings {
  readonly delayMs: number;
  readonly maxMessageBytes: number;
  readonly retentionMs: number;
  readonly receiveWaitMs: number;
  readonly visibilityMs: number;
  readonly isFifo: boolean;
  readonly contentBasedDeduplication: boolean;
  readonly deduplicationScope: "queue" | "messageGroup";
  readonly redrive: RedrivePolicy | undefined;
}

/** SQS-02, SQS-05. */
export const MAX_VISIBILITY_SECONDS = 43_200;
/** SQS-53. */
export const MAX_DELAY_SECONDS = 900;
export const MAX_WAIT_SECONDS = 20;
/** SQS-43. */
export const MAX_MESSAGE_BYTES = 1_048_576;

const RANGES: Readonly<Record<string, { readonly min: number; readonly max: number; readonly default: number }>> = {
  DelaySeconds: { min: 0, max: MAX_DELAY_SECONDS, default: 0 },
  MaximumMessageSize: { min: 1_024, max: MAX_MESSAGE_BYTES, default: MAX_MESSAGE_BYTES },
  MessageRetentionPeriod: { min: 60, max: 1_209_600, default: 345_600 },
  ReceiveMessageWaitTimeSeconds: { min: 0, max: MAX_WAIT_SECONDS, default: 0 },
  VisibilityTimeout: { min: 0, max: MAX_VISIBILITY_SECONDS, default: 30 },
};
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  FifoQueue: ["true"],
  ContentBasedDeduplication: ["true", "false"],
  DeduplicationScope: ["queue", "messageGroup"],
  FifoThroughputLimit: ["perQueue", "perMessageGroupId"],
  SqsManagedSseEnabled: ["true", "false"],
};
const FIFO_ONLY = ["ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"];
/** Kept and given back; nothing here goes by them. */
const STORED = ["Policy", "RedriveAllowPolicy", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"];
/** What the service counts and tells, and nobody sets. */
export const COUNTED_ATTRIBUTES = [
  "QueueArn",
  "CreatedTimestamp",
  "LastModifiedTimestamp",
  "ApproximateNumberOfMessages",
  "ApproximateNumberOfMessagesNotVisible",
  "ApproximateNumberOfMessagesDelayed",
];

export function isAttributeName(name: string): boolean {
  return isSettable(name) || COUNTED_ATTRIBUTES.includes(name);
}

function isSettable(name: string): boolean {
  return name in RANGES || name in CHOICES || STORED.includes(name) || name === "RedrivePolicy";
}

/** What a new queue has where nothing else was said. */
export function defaultAttributes(): QueueAttributes {
  return Object.fromEntries(Object.entries(RANGES).map(([name, range]) => [name, String(range.default)]));
}

/** Old attributes with new ones; an empty text removes a policy. Throws `InvalidAttributeName`, `InvalidAttributeValue`. */
export function mergeAttributes(old: QueueAttributes, changes: QueueAttributes, isFifo: boolean): QueueAttributes {
  const merged: Record<string, string> = { ...old };
  for (const [name, value] of Object.entries(changes)) {
    if (!isSettable(name) || (!isFifo && FIFO_ONLY.includes(name))) {
      throw new SqsError("InvalidAttributeName", `Unknown Attribute ${name}.`);
    }
    checkValue(name, value);
    if (value === "") delete merged[name];
    else merged[name] = value;
  }
  return merged;
}

function checkValue(name: string, value: string): void {
  const range = RANGES[name];
  const choices = CHOICES[name];
  const isRight =
    (range === undefined || (/^\d+$/.test(value) && Number(value) >= range.min && Number(value) <= range.max)) &&
    (choices === undefined || choices.includes(value));
  if (!isRight) throw new SqsError("InvalidAttributeValue", `Invalid value for the parameter ${name}.`);
}

export function settingsOf(attributes: QueueAttributes): QueueSettings {
  const milliseconds = (name: string): number => Number(attributes[name]) * 1_000;
  const redrive = attributes["RedrivePolicy"];
  return {
    delayMs: milliseconds("DelaySeconds"),
    maxMessageBytes: Number(attributes["MaximumMessageSize"]),
    retentionMs: milliseconds("MessageRetentionPeriod"),
    receiveWaitMs: milliseconds("ReceiveMessageWaitTimeSeconds"),
    visibilityMs: milliseconds("VisibilityTimeout"),
    isFifo: attributes["FifoQueue"] === "true",
    contentBasedDeduplication: attributes["ContentBasedDeduplication"] === "true",
    deduplicationScope: attributes["DeduplicationScope"] === "messageGroup" ? "messageGroup" : "queue",
    redrive: redrive === undefined ? undefined : parseRedrive(redrive),
  };
}

/** Throws `InvalidParameterValue`. Whether the target exists is for the broker to say. */
function parseRedrive(text: string): RedrivePolicy {
  let policy: { readonly deadLetterTargetArn?: unknown; readonly maxReceiveCount?: unknown } | null;
  try {
    policy = JSON.parse(text) as typeof policy;
  } catch {
    throw invalidParameter(
      "Value for parameter RedrivePolicy is invalid. Reason: Redrive policy is not a valid JSON map.",
    );
  }
  const { deadLetterTargetArn, maxReceiveCount } = policy ?? {};
  if (typeof deadLetterTargetArn !== "string") {
    throw invalidValue(
      text,
      "RedrivePolicy",
      "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.",
    );
  }
  const count = Number(maxReceiveCount);
  if (maxReceiveCount === undefined || !Number.isInteger(count) || count < 1 || count > 1_000) {
    throw invalidValue(
      text,
      "RedrivePolicy",
      "Invalid value for maxReceiveCount: must be a whole number from 1 to 1000.",
    );
  }
  return { deadLetterTargetArn, maxReceiveCount: count };
}
