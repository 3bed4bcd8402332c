import type { protos } from "@google-cloud/pubsub";

/** One delivery of one message. */
export interface Delivery {
  readonly ackId: string;
  readonly id: string;
  readonly text: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly orderingKey: string;
  readonly attempt: number;
}

export function deliveryOf({ ackId, deliveryAttempt, message }: protos.google.pubsub.v1.IReceivedMessage): Delivery {
  return {
    ackId: ackId ?? "",
    id: message?.messageId ?? "",
    text: Buffer.from(message?.data ?? "").toString(),
    attributes: { ...message?.attributes },
    orderingKey: message?.orderingKey ?? "",
    attempt: deliveryAttempt ?? 0,
  };
}
