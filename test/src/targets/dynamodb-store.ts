import { createDynamoItems, createTable } from "@leasehold/dynamodb";
import { startDynamodb } from "@leasehold/emulators";
import { createStoreHarness, type StoreHarness } from "../store/harness.ts";
import type { HarnessSource } from "../suite/run.ts";
import { awsConfig } from "./aws.ts";
import { watchWrites } from "./dynamodb-writes.ts";

/** Stays there between runs on the same server: the names of items are new each time. */
export const TABLE = "leasehold-conformance";
/** How long the indexes of a table in the cloud may lag, ms. Those of the emulator never do. */
const INDEX_LAG_MS = 10_000;

/** For servers that answer one request after the other: the wait for a socket counts as connecting. */
const PATIENT = { connectionTimeout: 120_000, requestTimeout: 120_000 };

/**
 * The items of a DynamoDB of its own for each suite, where every request is watched for writes without a condition; or of the one at
 * the endpoint that was asked for.
 */
export function dynamodbStoreSource(): HarnessSource<StoreHarness> {
  return {
    per: "suite",
    async open({ endpoint }) {
      const watch = watchWrites();
      const emulator = endpoint === undefined ? await startDynamodb({ onCall: watch.onCall }) : undefined;
      const config = awsConfig((emulator?.endpoint ?? endpoint) as string);
      const isSlow = endpoint !== undefined && endpoint !== "aws";
      const connection = { table: TABLE, config: { ...config, ...(isSlow && { requestHandler: PATIENT }) } };
      await createTable(connection);
      const items = createDynamoItems(connection);
      return createStoreHarness({
        items,
        minLeaseMs: 1,
        toleranceMs: emulator === undefined ? INDEX_LAG_MS : 0,
        cannot: emulator === undefined ? {} : { "text by bytes": "dynalite compares text by its code units" },
        wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        async close() {
          await items.close();
          if (emulator === undefined) return;
          await emulator.stop();
          watch.verify();
        },
      });
    },
  };
}
