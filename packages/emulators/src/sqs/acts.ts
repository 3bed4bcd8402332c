import type { BrokerActs } from "../broker-acts.ts";
import type { NamedQueue } from "./broker.ts";
import type { Message } from "./message.ts";

export interface SqsActs extends BrokerActs {
  /** Its next deliveries (default: the next one) carry a wrong MD5 of the body (SQS-30). */
  corrupt(messageId: string, deliveries?: number): boolean;
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
