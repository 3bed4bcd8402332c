import { openStore, type TaskStore } from "@leasehold/core";
import { createTable } from "@leasehold/dynamodb";
import { startDynamodb } from "@leasehold/emulators";
import { awsConfig, awsEnvironment } from "./aws.ts";

/** DynamoDB on this machine, in this process, with a table. */
export interface StoreServer {
  /** What a program needs in its environment to use the table: `STORE_URL`, and what leads an SDK here instead of to AWS. */
  readonly environment: Readonly<Record<string, string>>;
  readonly store: TaskStore;
  /** Each write to the table that carries this lease token breaks off before it arrives. */
  cutOff(leaseToken: string): { hits(): number; remove(): void };
  stop(): Promise<void>;
}

const TABLE = "agent-run";
const STORE_URL = `dynamodb://${TABLE}`;

export async function startDynamodbServer(): Promise<StoreServer> {
  const dynamodb = await startDynamodb();
  const config = awsConfig(dynamodb.endpoint);
  await createTable({ table: TABLE, config });
  const store = await openStore(STORE_URL, { config });
  return {
    environment: { STORE_URL, AWS_ENDPOINT_URL_DYNAMODB: dynamodb.endpoint, ...awsEnvironment },
    store,
    cutOff: (leaseToken) =>
      dynamodb.faults.add({
        operation: "UpdateItem",
        when: ({ input }) => Object.values(valuesOf(input)).some(({ S }) => S === leaseToken),
        times: Number.POSITIVE_INFINITY,
        drop: "before",
      }),
    async stop() {
      await store.close();
      await dynamodb.stop();
    },
  };
}

function valuesOf(
  input: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, { readonly S?: string }>> {
  return (input?.["ExpressionAttributeValues"] ?? {}) as Readonly<Record<string, { readonly S?: string }>>;
}
