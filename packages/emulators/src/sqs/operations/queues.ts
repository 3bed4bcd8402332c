import { checkRange } from "../batch.ts";
import type { Broker, NamedQueue } from "../broker.ts";
import { missingParameter, SqsError } from "../errors.ts";
import { COUNTED_ATTRIBUTES, isAttributeName, type QueueAttributes } from "../queue-attributes.ts";
import { type Operations, queueOf } from "./operation.ts";

interface Input {
  readonly QueueUrl?: string;
  readonly QueueName?: string;
  readonly QueueNamePrefix?: string;
  readonly Attributes?: QueueAttributes;
  readonly AttributeNames?: readonly string[];
  readonly MaxResults?: number;
  readonly NextToken?: string;
}

const MAX_RESULTS = 1_000;

/** Operations on queues as such. `urlOf` makes a queue's URL from its name. */
export function queueOperations(broker: Broker, urlOf: (name: string) => string): Operations {
  return {
    CreateQueue(input: Input) {
      if (input.QueueName === undefined) throw missingParameter("QueueName");
      return { QueueUrl: urlOf(broker.create(input.QueueName, input.Attributes ?? {}).name) };
    },
    GetQueueUrl(input: Input) {
      if (input.QueueName === undefined) throw missingParameter("QueueName");
      return { QueueUrl: urlOf(broker.get(input.QueueName).name) };
    },
    ListQueues(input: Input) {
      const names = broker.list().map(({ name }) => name);
      const { page, NextToken } = pageOf(
        names.filter((name) => name.startsWith(input.QueueNamePrefix ?? "")),
        input,
      );
      return { QueueUrls: page.length === 0 ? undefined : page.map(urlOf), NextToken };
    },
    ListDeadLetterSourceQueues(input: Input) {
      const sources = broker.sourcesOf(queueOf(broker, input).arn).map(({ name }) => name);
      const { page, NextToken } = pageOf(sources, input);
      return { queueUrls: page.map(urlOf), NextToken };
    },
    DeleteQueue(input: Input) {
      broker.delete(queueOf(broker, input).name);
      return {};
    },
    PurgeQueue(input: Input) {
      queueOf(broker, input).queue.purge();
      return {};
    },
    SetQueueAttributes(input: Input) {
      const { name } = queueOf(broker, input);
      if (input.Attributes === undefined) throw missingParameter("Attributes");
      broker.configure(name, input.Attributes);
      return {};
    },
    GetQueueAttributes(input: Input) {
      const found = queueOf(broker, input);
      const names = input.AttributeNames ?? [];
      const unknown = names.find((name) => name !== "All" && !isAttributeName(name));
      if (unknown !== undefined) throw new SqsError("InvalidAttributeName", `Unknown Attribute ${unknown}.`);
      return { Attributes: attributesOf(found, names) };
    },
  };
}

function attributesOf(found: NamedQueue, names: readonly string[]): QueueAttributes | undefined {
  const isAll = names.includes("All");
  const isWanted = (name: string): boolean => isAll || names.includes(name);
  const all = COUNTED_ATTRIBUTES.some(isWanted) ? { ...found.attributes, ...counted(found) } : found.attributes;
  const chosen = Object.entries(all).filter(([name]) => isWanted(name));
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen);
}

function counted({ arn, queue, createdAt, modifiedAt }: NamedQueue): QueueAttributes {
  const { visible, inFlight, delayed } = queue.inventory.counts();
  return {
    QueueArn: arn,
    CreatedTimestamp: seconds(createdAt),
    LastModifiedTimestamp: seconds(modifiedAt),
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(inFlight),
    ApproximateNumberOfMessagesDelayed: String(delayed),
  };
}

function seconds(ms: number): string {
  return String(Math.floor(ms / 1_000));
}

/** The part of a list that was asked for. The token is the number of the first one to come. */
function pageOf(
  names: readonly string[],
  { MaxResults, NextToken }: Input,
): { page: readonly string[]; NextToken?: string } {
  checkRange("MaxResults", MaxResults, 1, MAX_RESULTS);
  const from = NextToken === undefined ? 0 : Number(NextToken);
  if (!Number.isInteger(from) || from < 0) {
    throw new SqsError("InvalidParameterValue", "Invalid or expired next token.");
  }
  const to = from + (MaxResults ?? MAX_RESULTS);
  const page = names.slice(from, to);
  return to < names.length && MaxResults !== undefined ? { page, NextToken: String(to) } : { page };
}
