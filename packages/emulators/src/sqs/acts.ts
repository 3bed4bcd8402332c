import type { NamedQueue } from "./broker.ts";
import type { Counts } from "./inventory.ts";
import type { Message } from "./message.ts";

/**
 * What a broker may do to a message without being asked, done on request, and a look at what is there. Each act names the
 * message by the id that its sender got, and is false when the queue has none such.
 */
export interface SqsActs {
  /** The lease, or the delay, ends now. */
  expire(messageId: string): boolean;
  /** It is delivered once more, whatever becomes of the first: another handle, the same id (SQS-09). False on a FIFO queue. */
  duplicate(messageId: string): boolean;
  /** It vanishes. */
  lose(messageId: string): boolean;
  /** It goes to the dead-letter queue by the redrive policy, without a word to its holder. False without a policy. */
  deadLetterByCount(messageId: string): boolean;
  /** Its next deliveries (default: the next one) carry a wrong MD5 of the body (SQS-30). */
  corrupt(messageId: string, deliveries?: number): boolean;
  /** The ids of everything that is there, in the order of arrival. */
  messageIds(): readonly string[];
  /** How many messages there are: to be received, in flight, not yet to be seen. Exact, and without a call. */
  counts(): Counts;
}

export function createActs(
  { queue, arn }: NamedQueue,
  bury: (message: Message, source: string, targetArn: string) => boolean,
): SqsActs {
  const { inventory } = queue;

  function act(messageId: string, change: (message: Message) => boolean): boolean {
    inventory.settleTime();
    const message = inventory.messages().find((one) => one.content.id === messageId);
    if (message === undefined) return false;
    const done = change(message);
    queue.serve();
    return done;
  }

  return {
    expire: (messageId) =>
      act(messageId, (message) => {
        if (message.state === "visible") return false;
        inventory.reveal(message);
        return true;
      }),
    duplicate: (messageId) =>
      act(messageId, ({ content, sentAt, receiveCount, firstReceivedAt }) => {
        if (queue.settings().isFifo) return false;
        inventory.add(content, { sentAt, receiveCount, firstReceivedAt }, 0);
        return true;
      }),
    lose: (messageId) =>
      act(messageId, (message) => {
        inventory.remove(message);
        return true;
      }),
    deadLetterByCount: (messageId) =>
      act(messageId, (message) => {
        const { redrive } = queue.settings();
        if (redrive === undefined || !bury(message, arn, redrive.deadLetterTargetArn)) return false;
        inventory.remove(message);
        return true;
      }),
    corrupt: (messageId, deliveries = 1) =>
      act(messageId, (message) => {
        message.wrongMd5s = deliveries;
        return true;
      }),
    messageIds: () => inventory.messages().map((message) => message.content.id),
    counts: inventory.counts,
  };
}
