import type { ServiceBusMessage, ServiceBusMessageBatch } from "@azure/service-bus";
import type { Outcome, SendOutcome } from "@leasehold/core/driver";
import { fromServicebus, outcomeOf } from "./errors.ts";

/** The most that one batch may have, whatever its link takes of a single message (SB-43). */
const MAX_BATCH_BYTES = 1_048_576;

export interface SendOptions {
  readonly abortSignal?: AbortSignal;
}

/** What sending takes of a sender. */
export interface Sender {
  createMessageBatch(options: SendOptions & { readonly maxSizeInBytes?: number }): Promise<ServiceBusMessageBatch>;
  sendMessages(messages: ServiceBusMessage | ServiceBusMessageBatch, options: SendOptions): Promise<void>;
}

/** One call: the first of several messages. */
interface Call {
  readonly count: number;
  send(): Promise<void>;
}

/**
 * Sends in order, in as few calls as bytes and sessions allow: a partitioned entity takes no batch of several sessions. A batch
 * is taken or refused as a whole, and after one that failed the rest is not sent: it would overtake what is to be sent again.
 */
export async function sendBatch(
  sender: Sender,
  messages: readonly ServiceBusMessage[],
  signal?: AbortSignal,
): Promise<readonly SendOutcome[]> {
  const options = signal === undefined ? {} : { abortSignal: signal };
  const outcomes: SendOutcome[] = [];
  while (outcomes.length < messages.length) {
    const rest = messages.slice(outcomes.length);
    let count = rest.length;
    try {
      const call = await firstCall(sender, rest, options);
      count = call.count;
      await call.send();
      outcomes.push(...rest.slice(0, count).map((): SendOutcome => ({ status: "confirmed" })));
    } catch (thrown) {
      const error = fromServicebus(thrown, "sending");
      const failed: SendOutcome = { status: "failed", code: error.code, error };
      const isUnclear = outcomeOf(error).status === "unconfirmed";
      outcomes.push(
        ...rest.map(
          (_, index): SendOutcome => (isUnclear && index < count ? { status: "unconfirmed", error } : failed),
        ),
      );
    }
  }
  return outcomes;
}

async function firstCall(sender: Sender, messages: readonly ServiceBusMessage[], options: SendOptions): Promise<Call> {
  const [first, second] = messages as readonly [ServiceBusMessage, ServiceBusMessage?];
  const alone: Call = { count: 1, send: () => sender.sendMessages(first, options) };
  if (second === undefined || second.sessionId !== first.sessionId) return alone;
  let batch = await sender.createMessageBatch(options);
  if (batch.maxSizeInBytes > MAX_BATCH_BYTES)
    batch = await sender.createMessageBatch({ ...options, maxSizeInBytes: MAX_BATCH_BYTES });
  for (const message of messages) {
    if (message.sessionId !== first.sessionId || !batch.tryAddMessage(message)) break;
  }
  // A batch has more about it than a message by itself, which may fit where the batch does not.
  return batch.count <= 1 ? alone : { count: batch.count, send: () => sender.sendMessages(batch, options) };
}

/**
 * Runs a call for each item, side by side, and those of one key one after the other: the SDK keeps one answer in mind for
 * a delivery, and the first of two callers would never hear of it.
 */
export async function eachByKey<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  call: (item: Item) => Promise<Outcome>,
): Promise<readonly Outcome[]> {
  const lines = new Map<string, Promise<unknown>>();
  return Promise.all(
    items.map((item) => {
      const before = lines.get(keyOf(item)) ?? Promise.resolve();
      const mine = before.then(() => call(item));
      lines.set(keyOf(item), mine);
      return mine;
    }),
  );
}
