import {
  type Capabilities,
  invalid,
  LeaseholdError,
  type OutgoingMessage,
  refusedMessage,
} from "@leasehold/core/driver";
import { MAX_ATTRIBUTE_BYTES, MAX_ATTRIBUTE_NAME_BYTES, MAX_ENTRY_BYTES } from "./capabilities.ts";
import { bytesOf, type PublishEntry } from "./messages.ts";

/** Names that begin so are the service's own (PS-50). */
const RESERVED = /^goog/i;

/** A message, and how it is sent. */
export interface Sending {
  readonly message: OutgoingMessage;
  readonly entry: PublishEntry;
}

/**
 * Why Pub/Sub would not take this message; `undefined`: it would. What Pub/Sub refuses for all messages of a request together has to
 * be found here, so that it costs the one alone.
 */
export function refusedByPubsub(sending: Sending, capabilities: Capabilities): LeaseholdError | undefined {
  return refusedMessage(sending.message, capabilities) ?? refusedText(sending) ?? tooLarge(sending.entry);
}

function refusedText({ message, entry }: Sending): LeaseholdError | undefined {
  const wellFormed = "text without halves of surrogate pairs";
  if (!message.body.isWellFormed()) return invalid("body", wellFormed, `${message.body.length} characters`);
  for (const [name, value] of Object.entries(entry.attributes)) {
    const field = `attributes.${name.slice(0, 40)}`;
    const nameBytes = Buffer.byteLength(name);
    const bytes = Buffer.byteLength(value);
    if (!(name.isWellFormed() && value.isWellFormed())) return invalid(field, wellFormed, "others");
    if (nameBytes === 0 || nameBytes > MAX_ATTRIBUTE_NAME_BYTES) {
      return invalid(field, `a name of 1 to ${MAX_ATTRIBUTE_NAME_BYTES} bytes`, nameBytes);
    }
    if (RESERVED.test(name)) return invalid(field, "a name that does not begin with goog", name);
    if (bytes > MAX_ATTRIBUTE_BYTES) return invalid(field, `a value of at most ${MAX_ATTRIBUTE_BYTES} bytes`, bytes);
  }
  return undefined;
}

/** What core cannot count: a long content type, and the framing of the attributes. */
function tooLarge(entry: PublishEntry): LeaseholdError | undefined {
  const bytes = bytesOf(entry);
  if (bytes <= MAX_ENTRY_BYTES) return undefined;
  return new LeaseholdError("PayloadTooLarge", `the message: ${bytes} bytes as sent, at most ${MAX_ENTRY_BYTES} fit`, {
    details: { bytes, maxBytes: MAX_ENTRY_BYTES },
  });
}
