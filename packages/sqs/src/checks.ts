import {
  type Capabilities,
  invalid,
  LeaseholdError,
  type OutgoingMessage,
  refusedMessage,
} from "@leasehold/core/driver";
import { bytesOf, entryOf, isKeyless } from "./messages.ts";

/** Everything but the characters of XML 1.0 (SQS-44). */
const ILLEGAL = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/**
 * Why SQS would not take this message; `undefined`: it would. What SQS refuses for all messages of a batch together has to
 * be found here, so that it costs the one alone.
 */
export function refusedBySqs(message: OutgoingMessage, capabilities: Capabilities): LeaseholdError | undefined {
  return refusedMessage(message, capabilities) ?? refusedText(message) ?? tooLarge(message, capabilities);
}

function refusedText({ body, attributes = {}, orderingKey }: OutgoingMessage): LeaseholdError | undefined {
  const values = Object.entries(attributes);
  if (ILLEGAL.test(body)) return invalid("body", "characters of XML 1.0 alone", `${body.length} characters`);
  const illegal = values.find(([, value]) => ILLEGAL.test(value));
  if (illegal !== undefined) return invalid(`attributes.${illegal[0]}`, "characters of XML 1.0 alone", "others");
  if (orderingKey !== undefined && isKeyless(orderingKey)) {
    return invalid("orderingKey", "no name that the driver gives to messages without a key", orderingKey);
  }
  return undefined;
}

/** The content type, and its name, count as well; core counts only what it was given. */
function tooLarge(message: OutgoingMessage, { ordering, maxMessageBytes }: Capabilities): LeaseholdError | undefined {
  const bytes = bytesOf(entryOf(message, ordering));
  if (bytes <= maxMessageBytes) return undefined;
  return new LeaseholdError("PayloadTooLarge", `body and attributes: ${bytes} bytes, at most ${maxMessageBytes} fit`, {
    details: { bytes, maxBytes: maxMessageBytes },
  });
}
