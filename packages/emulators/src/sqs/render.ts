import type { Message, MessageAttribute } from "./message.ts";
import { attributesMd5 } from "./message-attributes.ts";

/** Which attributes a receiver asked for (SQS-50). */
export interface Wanted {
  readonly systemNames: readonly string[];
  readonly names: readonly string[];
}

const SENDER_ID = "AIDAEMULATOR";
const WRONG_MD5 = "0".repeat(32);

/** A delivery as the receiver sees it. `undefined` members are left out of the JSON. */
export function renderMessage(message: Message, receiptHandle: string, wanted: Wanted): Record<string, unknown> {
  const { content } = message;
  const attributes = userAttributes(content.attributes, wanted.names);
  const isWhole = attributes === content.attributes;
  const isWrong = message.wrongMd5s > 0;
  if (isWrong) message.wrongMd5s--;
  return {
    MessageId: content.id,
    ReceiptHandle: receiptHandle,
    MD5OfBody: isWrong ? WRONG_MD5 : content.md5,
    Body: content.body,
    Attributes: systemAttributes(message, wanted.systemNames),
    MessageAttributes: attributes,
    MD5OfMessageAttributes: isWhole ? content.attributesMd5 : attributesMd5(attributes),
  };
}

function systemAttributes(message: Message, names: readonly string[]): Record<string, string> | undefined {
  if (names.length === 0) return undefined;
  const { content } = message;
  const all: Record<string, string | undefined> = {
    SenderId: SENDER_ID,
    SentTimestamp: timestamp(message.sentAt),
    ApproximateReceiveCount: String(message.receiveCount),
    ApproximateFirstReceiveTimestamp: timestamp(message.firstReceivedAt ?? 0),
    AWSTraceHeader: content.traceHeader,
    DeadLetterQueueSourceArn: message.deadLetterSourceArn,
    MessageDeduplicationId: content.deduplicationId,
    MessageGroupId: content.groupId,
    SequenceNumber: content.sequenceNumber,
  };
  const isAll = names.includes("All");
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(all)) {
    if (value !== undefined && (isAll || names.includes(name))) chosen[name] = value;
  }
  return chosen;
}

function userAttributes(
  attributes: Readonly<Record<string, MessageAttribute>> | undefined,
  names: readonly string[],
): Readonly<Record<string, MessageAttribute>> | undefined {
  if (attributes === undefined || names.length === 0) return undefined;
  if (names.includes("All") || names.includes(".*")) return attributes;
  const chosen = Object.entries(attributes).filter(([name]) => names.some((wanted) => isMatch(name, wanted)));
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen);
}

function isMatch(name: string, wanted: string): boolean {
  return wanted.endsWith(".*") ? name.startsWith(wanted.slice(0, -2)) : name === wanted;
}

function timestamp(ms: number): string {
  return String(Math.floor(ms));
}
