import { LeaseholdError } from "../errors.ts";
import { byteLength } from "../util/json.ts";
import type { Capabilities, OutgoingMessage, ReceiveOptions } from "./driver.ts";

/**
 * What is refused before anything is sent is the same on every broker, but for the numbers: a driver gives its capabilities.
 */
export type Limits = Pick<
  Capabilities,
  "maxBatch" | "maxLeaseMs" | "maxSendDelayMs" | "maxAbandonDelayMs" | "maxMessageBytes" | "ordering"
> & { readonly fixedLeaseMs?: number | undefined };

/** Printable ASCII: what every broker takes as an id or an ordering key. */
const PRINTABLE_ASCII = /^[\x21-\x7e]{1,128}$/;
/** SQS takes ten, and the content type is one of them (SQS-45): the least of all brokers holds on each. */
const MAX_ATTRIBUTES = 9;
/** UTF-8 needs at most this many bytes for one unit of a string's length. */
const MAX_BYTES_PER_UNIT = 3;

/** Why this message cannot be sent to a queue of these limits; `undefined`: it can. */
export function refusedMessage(message: OutgoingMessage, limits: Limits): LeaseholdError | undefined {
  const { id, body, attributes = {}, delayMs = 0, orderingKey } = message;
  const values = Object.entries(attributes);
  const empty = values.find(([, value]) => value === "");
  if (!PRINTABLE_ASCII.test(id)) return invalid("id", "1 to 128 characters of printable ASCII", id);
  if (body === "") return invalid("body", "text that is not empty", body);
  if (values.length > MAX_ATTRIBUTES)
    return invalid("attributes", `at most ${MAX_ATTRIBUTES} beside the content type`, values.length);
  if (empty !== undefined) return invalid(`attributes.${empty[0]}`, "text that is not empty", "");
  if (delayMs > 0 && limits.maxSendDelayMs === 0)
    return unsupported("delayMs: this queue delays no message: leave it out");
  if (!(delayMs >= 0 && delayMs <= limits.maxSendDelayMs)) {
    return invalid("delayMs", `0 to ${limits.maxSendDelayMs} ms`, delayMs);
  }
  if (orderingKey !== undefined) {
    if (!limits.ordering) return unsupported("orderingKey: this queue keeps no order: leave it out");
    if (!PRINTABLE_ASCII.test(orderingKey)) {
      return invalid("orderingKey", "1 to 128 characters of printable ASCII", orderingKey);
    }
    if (delayMs > 0)
      return unsupported("delayMs: a message with an ordering key cannot be delayed: leave one of them out");
  }
  return tooLarge(body, values, limits.maxMessageBytes);
}

function tooLarge(
  body: string,
  attributes: readonly (readonly [string, string])[],
  maxBytes: number,
): LeaseholdError | undefined {
  if (attributes.length === 0 && body.length * MAX_BYTES_PER_UNIT <= maxBytes) return undefined;
  const bytes = attributes.reduce((sum, [name, value]) => sum + byteLength(name) + byteLength(value), byteLength(body));
  if (bytes <= maxBytes) return undefined;
  return new LeaseholdError("PayloadTooLarge", `body and attributes: ${bytes} bytes, at most ${maxBytes} fit`, {
    details: { bytes, maxBytes },
  });
}

/** Throws `InvalidArgument` for a receive that this queue cannot make. */
export function checkReceive(options: ReceiveOptions, limits: Limits): void {
  const { max, waitMs, leaseMs } = options;
  if (!(Number.isInteger(max) && max >= 1 && max <= limits.maxBatch))
    throw invalid("max", `1 to ${limits.maxBatch}`, max);
  if (!(waitMs >= 0)) throw invalid("waitMs", "ms from 0 up", waitMs);
  if (limits.fixedLeaseMs === undefined) {
    const refused = refusedLease(leaseMs, limits);
    if (refused !== undefined) throw refused;
  }
}

/** Why no lease can be this long; `undefined`: one can. */
export function refusedLease(leaseMs: number, limits: Limits): LeaseholdError | undefined {
  if (leaseMs > 0 && leaseMs <= limits.maxLeaseMs) return undefined;
  return invalid("leaseMs", `more than 0 and at most ${limits.maxLeaseMs} ms`, leaseMs);
}

/** Why nothing can be given back for this long; `undefined`: it can. */
export function refusedDelay(delayMs: number, limits: Limits): LeaseholdError | undefined {
  if (delayMs >= 0 && delayMs <= limits.maxAbandonDelayMs) return undefined;
  if (delayMs > 0 && limits.maxAbandonDelayMs === 0)
    return unsupported("delayMs: this queue gives back at once: use 0");
  return invalid("delayMs", `0 to ${limits.maxAbandonDelayMs} ms`, delayMs);
}

/** Throws `InvalidArgument` for a batch that is too long. */
export function checkBatch(items: readonly unknown[], limits: Limits): void {
  if (items.length > limits.maxBatch) throw invalid("items", `at most ${limits.maxBatch} in one call`, items.length);
}

export function invalid(field: string, expected: string, got: string | number): LeaseholdError {
  const shown = typeof got === "string" ? JSON.stringify(got.slice(0, 40)) : String(got);
  return new LeaseholdError("InvalidArgument", `${field}: expected ${expected}; got ${shown}`);
}

function unsupported(text: string): LeaseholdError {
  return new LeaseholdError("Unsupported", text);
}
