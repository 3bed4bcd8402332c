import { createTaskStore, LeaseholdError, type TaskStore } from "@leasehold/core/driver";
import { type ConnectionOptions, connect } from "./connection.ts";
import { itemsOn } from "./items.ts";
import { refusingWhenSkewed } from "./skew.ts";

/**
 * The task store on a DynamoDB table, which `createTable` makes. It refuses to hand out leases while this machine's clock is out of
 * step with the database's, as the `Date` header of answers shows: see {@link refusingWhenSkewed}.
 * Throws `InvalidArgument` for a malformed table name. Nothing is sent until the first call.
 */
export function createDynamoStore(options: ConnectionOptions): TaskStore {
  const connection = connect(options);
  const items = itemsOn(connection);
  return refusingWhenSkewed(createTaskStore({ items }), connection.skew, () => items.get(PROBE_KEY));
}

/** The key of no item: reading it is the cheapest question there is. */
const PROBE_KEY = "clock";

const URL_FORM = /^dynamodb:\/\/(\S+)$/;

/**
 * The store that a URL names: `dynamodb://<table>`. Region, credentials and endpoint come from the options or the environment
 * (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`). Throws `InvalidArgument` for another form.
 */
export function openStore(url: string, options: Omit<ConnectionOptions, "table"> = {}): TaskStore {
  const table = URL_FORM.exec(url)?.[1];
  if (table === undefined) {
    throw new LeaseholdError("InvalidArgument", 'url: expected dynamodb://<table>, such as "dynamodb://tasks"', {
      details: { field: "url" },
    });
  }
  return createDynamoStore({ ...options, table });
}
