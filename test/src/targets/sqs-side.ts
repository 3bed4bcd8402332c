import { CreateQueueCommand, GetQueueAttributesCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { Clock } from "@leasehold/core/driver";
import type { SqsClients } from "@leasehold/sqs";
import type { BrokerAct, FaultyVerb, QueueFault, QueueHarness } from "../queue/harness.ts";

/** An SQS to run the cases on: the embedded one, or one that is somewhere else. */
export interface SqsSide
  extends Omit<QueueHarness, "open" | "openMissing" | "openWithWrongCredentials" | "overheadBytes"> {
  /** The clock of drivers, where a case moves it. */
  readonly time: { readonly clock?: Clock };
  /** It goes on after a case, so what a case made has to be removed. */
  readonly isShared: boolean;
  /** `accessKeyId`: default, the right one. */
  connect(accessKeyId?: string): SqsClients;
  failNext(verb: FaultyVerb, fault: QueueFault): void;
  act(act: BrokerAct, queue: SqsQueue, messageId: string): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** A queue that was made for a case, with the queue of its dead letters. */
export interface SqsQueue {
  readonly queueUrl: string;
  readonly deadLetterUrl?: string;
}

export interface SqsQueueShape {
  readonly name: string;
  readonly fifo: boolean;
  readonly deadLetters: boolean;
  readonly maxDeliveries: number;
  /** Age at which a message vanishes, ms: whole seconds, a minute or more. Default 4 days. */
  readonly keepMs?: number;
}

/** Makes a queue of this shape, and one for its dead letters. */
export async function makeQueue(control: SQSClient, shape: SqsQueueShape): Promise<SqsQueue> {
  const { name, fifo, deadLetters, maxDeliveries, keepMs } = shape;
  const own = keepMs === undefined ? {} : { MessageRetentionPeriod: String(keepMs / 1_000) };

  async function create(suffix: string, more: Record<string, string> = {}): Promise<string> {
    const QueueName = `${name}${suffix}${fifo ? ".fifo" : ""}`;
    const Attributes = { ...(fifo && { FifoQueue: "true" }), ...more };
    return (await control.send(new CreateQueueCommand({ QueueName, Attributes }))).QueueUrl ?? "";
  }

  if (!deadLetters) return { queueUrl: await create("", own) };
  const deadLetterUrl = await create("-dead");
  const policy = { deadLetterTargetArn: await arnOf(control, deadLetterUrl), maxReceiveCount: maxDeliveries };
  return { queueUrl: await create("", { ...own, RedrivePolicy: JSON.stringify(policy) }), deadLetterUrl };
}

export async function arnOf(control: SQSClient, queueUrl: string): Promise<string> {
  const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ["QueueArn"] });
  return (await control.send(command)).Attributes?.QueueArn ?? "";
}

/** What a queue of this kind cannot do, anywhere. */
export function cannotOf(fifo: boolean, deadLetters: boolean): QueueHarness["cannot"] {
  return {
    ...(fifo
      ? {
          duplicate: "a FIFO queue delivers no message twice",
          "repeated ids": "a FIFO queue always swallows repeated ids",
        }
      : {
          ordering: "a standard queue keeps no order",
          "duplicate detection": "a standard queue detects no duplicates",
        }),
    ...(!deadLetters && { "dead letters": "this queue has no dead-letter queue: the record is the dead letter" }),
  };
}
