import { createTable } from "@leasehold/dynamodb";
import { startDynamodb, startSqs } from "@leasehold/emulators";

/** SQS and DynamoDB on this machine, in this process, with a queue and a table. */
export interface Servers {
  /** What a program needs in its environment to use them; against AWS it would be a region alone. */
  readonly environment: Readonly<Record<string, string>>;
  /** The same as configuration of a client. */
  readonly sqsClient: AwsConfig;
  readonly dynamodbClient: AwsConfig;
  /** The message vanishes from the queue. False: it is not there. */
  loseMessage(messageId: string): boolean;
  /** The message is delivered once more. False: it is not there. */
  doubleMessage(messageId: string): boolean;
  /** Each write to the table that carries this lease token breaks off before it arrives. */
  cutOff(leaseToken: string): { hits(): number; remove(): void };
  stop(): Promise<void>;
}

export interface AwsConfig {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

const NAME = "agent-run";
export const QUEUE_URL = `sqs://${NAME}`;
export const STORE_URL = `dynamodb://${NAME}`;
const REGION = "us-east-1";
/** The servers let everybody in; the SDK insists on a key. */
const KEY = "local";

export async function startServers(): Promise<Servers> {
  const sqs = await startSqs();
  const dynamodb = await startDynamodb();
  const configOf = (endpoint: string): AwsConfig => ({
    endpoint,
    region: REGION,
    credentials: { accessKeyId: KEY, secretAccessKey: KEY },
  });
  sqs.createQueue(NAME);
  await createTable({ table: NAME, config: configOf(dynamodb.endpoint) });
  return {
    environment: {
      QUEUE_URL,
      STORE_URL,
      AWS_ENDPOINT_URL_SQS: sqs.endpoint,
      AWS_ENDPOINT_URL_DYNAMODB: dynamodb.endpoint,
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: KEY,
      AWS_SECRET_ACCESS_KEY: KEY,
    },
    sqsClient: configOf(sqs.endpoint),
    dynamodbClient: configOf(dynamodb.endpoint),
    loseMessage: (messageId) => sqs.acts(NAME).lose(messageId),
    doubleMessage: (messageId) => sqs.acts(NAME).duplicate(messageId),
    cutOff: (leaseToken) =>
      dynamodb.faults.add({
        operation: "UpdateItem",
        when: ({ input }) => Object.values(valuesOf(input)).some(({ S }) => S === leaseToken),
        times: Number.POSITIVE_INFINITY,
        drop: "before",
      }),
    async stop() {
      await sqs.stop();
      await dynamodb.stop();
    },
  };
}

function valuesOf(
  input: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, { readonly S?: string }>> {
  return (input?.["ExpressionAttributeValues"] ?? {}) as Readonly<Record<string, { readonly S?: string }>>;
}
