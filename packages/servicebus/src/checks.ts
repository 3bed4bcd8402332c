import {
  type Capabilities,
  invalid,
  LeaseholdError,
  type OutgoingMessage,
  refusedMessage,
} from "@leasehold/core/driver";

/** One property, and all of them: a message beyond that is refused, or dead-lettered with `HeaderSizeExceeded` (SB-36). */
const MAX_PROPERTY_BYTES = 32_768;
const MAX_PROPERTIES_BYTES = 65_536;

/** Why Service Bus would not take this message; `undefined`: it would. One that it refuses fails all of its batch. */
export function refusedByServicebus(message: OutgoingMessage, capabilities: Capabilities): LeaseholdError | undefined {
  return refusedMessage(message, capabilities) ?? refusedKey(message, capabilities) ?? tooLarge(message);
}

/** A session of a message's own id is how a message without a key is sent. */
function refusedKey({ id, orderingKey }: OutgoingMessage, { ordering }: Capabilities): LeaseholdError | undefined {
  if (!ordering || orderingKey !== id) return undefined;
  return invalid("orderingKey", "another text than the id of the message", orderingKey);
}

function tooLarge({ attributes = {} }: OutgoingMessage): LeaseholdError | undefined {
  const sizes = Object.entries(attributes).map(([name, value]) => Buffer.byteLength(name) + Buffer.byteLength(value));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const maxBytes = sizes.some((size) => size > MAX_PROPERTY_BYTES) ? MAX_PROPERTY_BYTES : MAX_PROPERTIES_BYTES;
  if (bytes <= maxBytes) return undefined;
  return new LeaseholdError("PayloadTooLarge", `attributes: ${bytes} bytes, at most ${maxBytes} fit`, {
    details: { bytes, maxBytes },
  });
}
