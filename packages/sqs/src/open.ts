import { GetQueueUrlCommand, type GetQueueUrlCommandInput, type SQSClient } from "@aws-sdk/client-sqs";
import { invalid, LeaseholdError, type Logger, type QueueDriver, silentLogger } from "@leasehold/core/driver";
import { readAttributes } from "./capabilities.ts";
import { connectClients } from "./client.ts";
import { fromSqs } from "./errors.ts";
import { createSqsQueue, type SqsQueueOptions } from "./queue.ts";

export interface OpenSqsQueueOptions extends Omit<SqsQueueOptions, "queueUrl" | "fifo" | "maxMessageBytes"> {
  /** The queue's name, or its URL. */
  readonly queue: string;
}

const NAME = /^[A-Za-z0-9_-]{1,80}(?:\.fifo)?$/;
/**
 * A broker that counts is not the judge of a task, and duplicates count as well: with few deliveries allowed it moves away
 * messages of tasks that are alive.
 */
const FEW_DELIVERIES = 50;

/**
 * Opens the queue that `sqs://<queue name or URL>` names: `sqs://orders`, `sqs://https://sqs.eu-west-1.amazonaws.com/123456789012/orders`.
 * Options as {@link openSqsQueue}, without the queue. Errors likewise.
 */
export async function openQueue(url: string, options: Omit<OpenSqsQueueOptions, "queue"> = {}): Promise<QueueDriver> {
  const queue = /^sqs:\/\/(\S+)$/.exec(url)?.[1];
  if (queue === undefined) throw invalid("url", 'sqs://<queue name or URL>, such as "sqs://orders"', url);
  return openSqsQueue({ ...options, queue });
}

/**
 * Opens a queue and asks it how it is set up: FIFO or standard, how large a message may be, where its dead letters go.
 * Throws `InvalidArgument` (options), `NotFound` (no such queue, or no such dead-letter queue), `PermissionDenied`, `Unavailable`.
 */
export async function openSqsQueue(options: OpenSqsQueueOptions): Promise<QueueDriver> {
  const { queue, ...others } = options;
  const isName = NAME.test(queue);
  const url = isName || queue.includes("://") ? queue : `https://${queue}`;
  const asking = connectClients(options, isName ? undefined : url);
  try {
    const queueUrl = isName ? await urlOf(asking.control, { QueueName: queue }) : url;
    const { fifo, maxMessageBytes, redrive } = await readAttributes(asking.control, queueUrl);
    warnOfFew(options.logger ?? silentLogger, queue, redrive?.maxReceiveCount);
    const deadLetterUrl =
      options.deadLetterUrl ?? (redrive && (await urlOf(asking.control, ownerOf(redrive.deadLetterArn))));
    const settings = { queueUrl, fifo, maxMessageBytes, ...(deadLetterUrl !== undefined && { deadLetterUrl }) };
    return createSqsQueue({ ...others, ...settings });
  } finally {
    asking.release();
  }
}

async function urlOf(control: SQSClient, input: GetQueueUrlCommandInput): Promise<string> {
  const doing = `looking up the queue ${input.QueueName}`;
  try {
    const { QueueUrl } = await control.send(new GetQueueUrlCommand(input));
    if (QueueUrl !== undefined) return QueueUrl;
  } catch (error) {
    throw fromSqs(error, doing);
  }
  throw new LeaseholdError("Unknown", `${doing}: the answer has no URL`);
}

/** `arn:aws:sqs:eu-west-1:123456789012:orders-dead` */
function ownerOf(arn: string): GetQueueUrlCommandInput {
  const [account, name] = arn.split(":").slice(-2);
  return { QueueName: name, QueueOwnerAWSAccountId: account };
}

function warnOfFew(logger: Logger, queue: string, maxReceiveCount: number | undefined): void {
  if (maxReceiveCount === undefined || maxReceiveCount >= FEW_DELIVERIES) return;
  logger.warn(
    `maxReceiveCount of the redrive policy is below ${FEW_DELIVERIES}: SQS will take away messages of tasks that are alive; leasehold counts attempts itself, so set it to ${FEW_DELIVERIES} or more`,
    { queue, maxReceiveCount },
  );
}
