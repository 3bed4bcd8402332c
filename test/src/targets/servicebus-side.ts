import type { Clock } from "@leasehold/core/driver";
import type { ServicebusClients } from "@leasehold/servicebus";
import type { BrokerAct, FaultyVerb, QueueFault, QueueHarness } from "../queue/harness.ts";

/** A Service Bus to run the cases on: the embedded one, Microsoft's emulator, or a namespace. */
export interface ServicebusSide
  extends Omit<QueueHarness, "open" | "openMissing" | "openWithWrongCredentials" | "overheadBytes"> {
  /** The clock of drivers, where a case moves it. */
  readonly time: { readonly clock?: Clock };
  /** `keyName`: default, the right one. */
  connect(keyName?: string): ServicebusClients;
  /** Makes a queue, or a topic with one subscription. The side removes it at its end, if it goes on after a case. */
  make(shape: EntityShape): Promise<ServicebusEntity>;
  failNext(verb: FaultyVerb, fault: QueueFault): void;
  act(act: BrokerAct, entity: ServicebusEntity, messageId: string): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** As the driver's options name it. */
export type ServicebusEntity = { readonly queue: string } | { readonly topic: string; readonly subscription: string };

export interface EntityShape {
  readonly name: string;
  readonly kind: "queue" | "subscription";
  readonly sessions: boolean;
  readonly lockMs: number;
  readonly maxDeliveries: number;
  /** Default: nothing is taken for a duplicate. */
  readonly duplicateWindowMs?: number;
  /** Default 262,144, of the Basic and Standard tiers (SB-43). */
  readonly maxMessageBytes?: number;
  /** Age at which a message vanishes, ms. Default: never. */
  readonly keepMs?: number;
}

/** More deliveries than any case makes. */
export const MANY_DELIVERIES = 1_000;
export const SUBSCRIPTION = "subscription";

/** Where an entity's messages are received from. */
export function pathOf(entity: ServicebusEntity): string {
  return "queue" in entity ? entity.queue : `${entity.topic}/Subscriptions/${entity.subscription}`;
}

/** Sends every dead letter to the entity again, properties and all, as an operator does it. Answers how many there were. */
export async function redriveByHand({ control }: ServicebusClients, entity: ServicebusEntity): Promise<number> {
  const options = { subQueueType: "deadLetter", skipParsingBodyAsJson: true } as const;
  const receiver =
    "queue" in entity
      ? control.createReceiver(entity.queue, options)
      : control.createReceiver(entity.topic, entity.subscription, options);
  const sender = control.createSender("queue" in entity ? entity.queue : entity.topic);
  const { length } = await receiver.peekMessages(MOST_LETTERS);
  // As many as there are: to wait for one more would take real time.
  const letters = length === 0 ? [] : await receiver.receiveMessages(length);
  for (const letter of letters) {
    const { body, messageId, contentType, applicationProperties, sessionId } = letter;
    await sender.sendMessages({
      body,
      ...(messageId !== undefined && { messageId }),
      ...(contentType !== undefined && { contentType }),
      ...(applicationProperties !== undefined && { applicationProperties }),
      ...(sessionId !== undefined && { sessionId }),
    });
    await receiver.completeMessage(letter);
  }
  await receiver.close();
  await sender.close();
  return letters.length;
}

const MOST_LETTERS = 100;

export async function closeAll(pairs: readonly ServicebusClients[]): Promise<void> {
  await Promise.all(pairs.flatMap(({ poll, control }) => [poll.close(), control.close()]));
}

/** What an entity of this kind cannot do, anywhere. */
export function cannotOf(sessions: boolean): QueueHarness["cannot"] {
  return {
    "chosen lease": "the length of a lock belongs to the entity, and no receive can ask for another (SB-02)",
    "total lease": "a lock can be renewed any number of times (SB-02)",
    count: "messages are counted by the management service alone, which the driver does not call",
    duplicate: "a locked message is delivered to nobody else (SB-02)",
    ...(sessions
      ? {
          "repeated ids": "a message without a key is a session by itself, so that two of one id follow each other",
          "lost connection": "the lock of a session ends with the link on which it was taken (SB-05)",
        }
      : { ordering: "an entity without sessions keeps no order" }),
  };
}
