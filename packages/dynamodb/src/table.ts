import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type TableDescription,
  type TimeToLiveDescription,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { isLeaseholdError, LeaseholdError, type Logger, silentLogger, sleep } from "@leasehold/core/driver";
import { type Connection, type ConnectionOptions, connect } from "./connection.ts";
import { EXPIRY_FIELD, expiryProblem, INDEX_NAMES, tableDefinition, tableProblems } from "./table-shape.ts";

export interface CreateTableOptions extends ConnectionOptions {
  /** Hears of a server that cannot remove expired items. Default: silent. */
  readonly logger?: Logger;
  /** How long to wait until table and indexes are active, ms. Default 5 min. */
  readonly waitMs?: number;
}

const DEFAULT_WAIT_MS = 300_000;
/** Between two looks: a table takes some seconds, an emulator none. */
const FIRST_LOOK_MS = 100;
const LONGEST_LOOK_MS = 2_000;

/**
 * Makes the table with its three indexes, billed per request, waits until it can be used, and switches the removal of expired
 * items on. A table that is there already is taken if it fits. Throws `Conflict` naming every difference if it does not,
 * `DeadlineExceeded` after `waitMs`.
 */
export async function createTable(options: CreateTableOptions): Promise<void> {
  const connection = connect(options);
  try {
    try {
      const command = new CreateTableCommand(tableDefinition(connection.table));
      await connection.call("createTable", (client) => client.send(command));
    } catch (error) {
      // It is there already, or somebody makes it at this moment.
      if (!isLeaseholdError(error, "Conflict")) throw error;
    }
    const problems = tableProblems(await untilActive(connection, options.waitMs ?? DEFAULT_WAIT_MS));
    if (problems.length > 0) {
      throw new LeaseholdError("Conflict", `table ${connection.table} is there and differs: ${problems.join("; ")}`);
    }
    await switchExpiryOn(connection, options.logger ?? silentLogger);
  } finally {
    connection.close();
  }
}

/**
 * What keeps the table from being the one that the store needs, a sentence each; an empty list when nothing does. Reads descriptions
 * alone. A server that knows no time to live is a problem as well: nothing there removes expired items.
 */
export async function checkTable(options: ConnectionOptions): Promise<readonly string[]> {
  const connection = connect(options);
  try {
    const description = await describe(connection);
    if (description === undefined) {
      return [`there is no table ${connection.table} in this account and region: createTable makes it`];
    }
    const expiry = expiryProblem(await describeExpiry(connection));
    return [...tableProblems(description), ...(expiry === undefined ? [] : [expiry])];
  } finally {
    connection.close();
  }
}

async function describe(connection: Connection): Promise<TableDescription | undefined> {
  try {
    const command = new DescribeTableCommand({ TableName: connection.table });
    return (await connection.call("describeTable", (client) => client.send(command))).Table;
  } catch (error) {
    if (isLeaseholdError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** `undefined` also for a server that has no such thing. */
async function describeExpiry(connection: Connection): Promise<TimeToLiveDescription | undefined> {
  try {
    const command = new DescribeTimeToLiveCommand({ TableName: connection.table });
    return (await connection.call("describeTimeToLive", (client) => client.send(command))).TimeToLiveDescription;
  } catch (error) {
    if (isLeaseholdError(error, "Unsupported")) return undefined;
    throw error;
  }
}

/** A table that was just made may not be seen at first, and its indexes become active one by one. */
async function untilActive(connection: Connection, waitMs: number): Promise<TableDescription> {
  const { clock, table } = connection;
  const untilMonotonic = clock.monotonic() + waitMs;
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)) {
    const description = await describe(connection);
    if (description !== undefined && isSettled(description)) return description;
    if (clock.monotonic() + lookMs > untilMonotonic) {
      throw new LeaseholdError(
        "DeadlineExceeded",
        `table ${table} is ${description?.TableStatus ?? "not to be seen"} after ${waitMs} ms; checkTable says what is missing`,
      );
    }
    await sleep(clock, lookMs);
  }
}

/** Nothing of it is still being made. */
function isSettled({ TableStatus, GlobalSecondaryIndexes = [] }: TableDescription): boolean {
  const ours = GlobalSecondaryIndexes.filter(({ IndexName }) => INDEX_NAMES.some((name) => name === IndexName));
  return [TableStatus, ...ours.map(({ IndexStatus }) => IndexStatus)].every((status) => status !== "CREATING");
}

async function switchExpiryOn(connection: Connection, logger: Logger): Promise<void> {
  const { table } = connection;
  if (expiryProblem(await describeExpiry(connection)) === undefined) return;
  try {
    const command = new UpdateTimeToLiveCommand({
      TableName: table,
      TimeToLiveSpecification: { Enabled: true, AttributeName: EXPIRY_FIELD },
    });
    await connection.call("updateTimeToLive", (client) => client.send(command));
  } catch (error) {
    if (!isLeaseholdError(error, "Unsupported")) throw error;
    logger.warn("this server has no time to live: expired items stay until somebody removes them", { table });
  }
}
