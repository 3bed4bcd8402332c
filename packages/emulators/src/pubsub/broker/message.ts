import { invalid } from "../errors.ts";

/** A message as a topic keeps it: the same in each of its subscriptions. */
export interface StoredMessage {
  readonly id: string;
  readonly data: Buffer;
  readonly attributes: Readonly<Record<string, string>>;
  readonly orderingKey: string;
  /** ms since the epoch. */
  readonly publishedAt: number;
}

export type NewMessage = Partial<Pick<StoredMessage, "data" | "attributes" | "orderingKey">>;

/** https://cloud.google.com/pubsub/quotas#resource_limits (PS-50) */
const MAX_MESSAGES = 1_000;
const MAX_BYTES = 10_000_000;
const MAX_ATTRIBUTES = 100;
const MAX_KEY_BYTES = 256;
const MAX_VALUE_BYTES = 1_024;
const MAX_ORDERING_KEY_BYTES = 1_024;
/** The service's own names; what its clients put in themselves, such as the trace of a message, is `googclient_…`. */
const RESERVED = /^goog(?!client_)/;

/** Throws INVALID_ARGUMENT for a request that holds what no topic takes. */
export function checkMessages(messages: readonly NewMessage[]): void {
  if (messages.length === 0)
    throw invalid("The value for message_count is too small. You must have at least 1 message in the request.");
  if (messages.length > MAX_MESSAGES)
    throw invalid(`The value for message_count is too large: ${messages.length}, at most ${MAX_MESSAGES}.`);
  const bytes = messages.reduce((sum, message) => sum + bytesOf(message), 0);
  if (bytes > MAX_BYTES)
    throw invalid(`The value for request_size is too large: ${bytes} bytes, at most ${MAX_BYTES}.`);
  for (const message of messages) checkMessage(message);
}

function checkMessage({ data, attributes = {}, orderingKey = "" }: NewMessage): void {
  const entries = Object.entries(attributes);
  if ((data?.length ?? 0) === 0 && entries.length === 0) {
    throw invalid(
      "Some messages in the request are empty. Each message must contain either non-empty data, or at least one attribute.",
    );
  }
  if (entries.length > MAX_ATTRIBUTES)
    throw invalid(`A message has ${entries.length} attributes, at most ${MAX_ATTRIBUTES}.`);
  for (const [key, value] of entries) {
    if (key === "" || Buffer.byteLength(key) > MAX_KEY_BYTES)
      throw invalid(`Attribute keys have 1 to ${MAX_KEY_BYTES} bytes.`);
    if (RESERVED.test(key)) throw invalid(`Attribute keys must not begin with goog: ${key}`);
    if (Buffer.byteLength(value) > MAX_VALUE_BYTES)
      throw invalid(`The attribute ${key} has more than ${MAX_VALUE_BYTES} bytes.`);
  }
  if (Buffer.byteLength(orderingKey) > MAX_ORDERING_KEY_BYTES) {
    throw invalid(`Ordering keys have at most ${MAX_ORDERING_KEY_BYTES} bytes.`);
  }
}

/** Its weight in sizes and in flow control. */
export function bytesOf({ data, attributes = {}, orderingKey = "" }: NewMessage): number {
  const own = (data?.length ?? 0) + Buffer.byteLength(orderingKey);
  return Object.entries(attributes).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    own,
  );
}
