import { createMemoryItems } from "@leasehold/core/memory";
import { createDynamoItems, createTable } from "@leasehold/dynamodb";
import { startDynamodb } from "@leasehold/emulators";
import { awsConfig } from "./aws.ts";
import type { Sides } from "./played-lifecycle.ts";

/** Of a request to DynamoDB, ms of real time: so long that a slow machine makes no request again. */
const PATIENCE_MS = 120_000;

export const memoryItems: Sides["items"] = async () => ({
  make: async () => createMemoryItems(),
  stop: async () => undefined,
});

/** The embedded DynamoDB. It works without a byte on the wire, so each call is waited for. */
export const dynamodbItems: Sides["items"] = async (_timeline, played) => {
  const dynamodb = await startDynamodb();
  const opened: { close(): Promise<void> }[] = [];
  return {
    async make(table) {
      const config = { ...awsConfig(dynamodb.endpoint), requestHandler: { requestTimeout: PATIENCE_MS } };
      await createTable({ table, config });
      const items = played.answered(createDynamoItems({ table, config }));
      opened.push(items);
      return items;
    },
    async stop() {
      for (const items of opened) await items.close();
      await dynamodb.stop();
    },
  };
};
