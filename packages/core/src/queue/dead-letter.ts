import { clipBytes } from "../util/json.ts";
import type { DeadLetter, DeadLetterReason, Delivery } from "./driver.ts";

/**
 * How a dead letter says why it is one: attributes (or properties) beside those that it was sent with, the same on every
 * broker. A message that an operator moved back by hand still carries them.
 */
const REASON = "deadletterreason";
const DESCRIPTION = "deadletterdescription";
const FENCE = "deadletterfence";

/** What some broker refuses in an attribute: control characters, halves of surrogate pairs, U+FFFE and U+FFFF (SQS-44). */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\uFFFE\uFFFF]+/gu;
/** Bytes of a code: codes are short words of leasehold's own. */
const MAX_CODE_BYTES = 64;

/** Reduces a reason to text that every broker takes, and to the bytes that this one takes. */
export function printableReason(reason: DeadLetterReason, maxBytes: number): DeadLetterReason {
  const printable = (text: string): string => text.replaceAll(UNPRINTABLE, " ").trim();
  return {
    code: clipBytes(printable(reason.code), Math.min(MAX_CODE_BYTES, maxBytes)) || "unknown",
    text: clipBytes(printable(reason.text), maxBytes),
  };
}

/** What a dead letter of this reason carries; empty values are left out, since no broker takes them. */
export function deadLetterMarks(
  reason: DeadLetterReason,
  fence: number | undefined,
  maxBytes: number,
): Readonly<Record<string, string>> {
  const { code, text } = printableReason(reason, maxBytes);
  return {
    [REASON]: code,
    ...(text !== "" && { [DESCRIPTION]: text }),
    ...(fence !== undefined && { [FENCE]: String(fence) }),
  };
}

/** Reads the marks of a delivery from the dead-letter queue. */
export function deadLetterOf(delivery: Delivery): DeadLetter {
  const { [REASON]: code, [DESCRIPTION]: text = "" } = delivery.attributes;
  const fence = deadLetterFence(delivery);
  return { delivery, ...(code !== undefined && { reason: { code, text } }), ...(fence !== undefined && { fence }) };
}

/**
 * The fence at which leasehold dead-lettered this message: on a delivery from the queue itself it says that somebody moved the
 * dead letter back by hand. `undefined` on every other delivery.
 */
export function deadLetterFence(delivery: Delivery): number | undefined {
  const text = delivery.attributes[FENCE];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** The attributes as they were before the message was dead-lettered. */
export function withoutMarks<Value>(attributes: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  const { [REASON]: _reason, [DESCRIPTION]: _description, [FENCE]: _fence, ...others } = attributes;
  return others;
}
