import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { type Clock, LeaseholdError, systemClock } from "@leasehold/core/driver";
import { fromDynamo } from "./errors.ts";
import { createSkewMeter, type SkewMeter } from "./skew.ts";

/** How to reach a table. */
export interface ConnectionOptions {
  /** The table's name, or its ARN when it belongs to another account. */
  readonly table: string;
  /**
   * Configuration of the client: region, credentials, endpoint. What is left out comes from the environment, as with every
   * client of the SDK. Retries are off whatever it says: core makes a call again, with the lease's deadline in view (DDB-01).
   */
  readonly config?: DynamoDBClientConfig;
  /** A client of your own instead. It is used as it is, so set its `maxAttempts` to 1 and a time limit; `close` leaves it open. */
  readonly client?: DynamoDBClient;
  /** Default: the machine's. */
  readonly clock?: Clock;
}

export interface Connection {
  readonly table: string;
  readonly client: DynamoDBClient;
  readonly clock: Clock;
  readonly skew: SkewMeter;
  /** Awaits one request. All errors are {@link LeaseholdError}; `doing` names the request in them. */
  call<T>(doing: string, request: (client: DynamoDBClient) => Promise<T>): Promise<T>;
  close(): void;
}

/** A middleware of the step that sees answers as they come from the wire. */
type DateReader = Parameters<DynamoDBClient["middlewareStack"]["add"]>[0];

/** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html */
const TABLE = /^(?:arn:[^\s/]+:table\/)?[A-Za-z0-9_.-]{3,255}$/;
/** A request takes milliseconds. One that hangs must leave time for another within the shortest leases that are of use. */
const CONNECTION_TIMEOUT_MS = 2_000;
const REQUEST_TIMEOUT_MS = 5_000;

/**
 * One client is enough: no request waits at the server, so none can keep a renewal waiting.
 * Throws `InvalidArgument` for a malformed table name. Nothing is sent.
 */
export function connect(options: ConnectionOptions): Connection {
  const { table, config = {}, clock = systemClock } = options;
  if (typeof table !== "string" || !TABLE.test(table)) {
    throw new LeaseholdError(
      "InvalidArgument",
      "table: expected 3 to 255 of A-Z a-z 0-9 _ . -, or the ARN of a table",
      {
        details: { field: "table" },
      },
    );
  }
  const client = options.client ?? ownClient(config);
  const skew = createSkewMeter(clock);
  const stopReading = readDates(client, clock, skew);
  let closed = false;
  return {
    table,
    client,
    clock,
    skew,
    async call(doing, request) {
      if (closed) {
        throw new LeaseholdError("Unavailable", `${doing} in table ${table}: this store is closed; open another one`);
      }
      try {
        return await request(client);
      } catch (error) {
        throw fromDynamo(error, { doing, table });
      }
    },
    close() {
      if (closed) return;
      closed = true;
      stopReading();
      if (options.client === undefined) client.destroy();
    },
  };
}

function ownClient({ retryStrategy: _, ...config }: DynamoDBClientConfig): DynamoDBClient {
  return new DynamoDBClient({
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      // Without it the limit is but a warning on the console.
      throwOnRequestTimeout: true,
    },
    ...config,
    maxAttempts: 1,
    retryMode: "standard",
  });
}

/** Reads the `Date` header of every answer, errors included. Last before the wire, so that only the network's time is counted. */
function readDates(client: DynamoDBClient, clock: Clock, skew: SkewMeter): () => void {
  const read: DateReader = (next) => async (args) => {
    const sentMs = clock.monotonic();
    const result = await next(args);
    const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
    skew.answered(headers?.["date"], clock.monotonic() - sentMs);
    return result;
  };
  client.middlewareStack.add(read, { step: "deserialize", priority: "low" });
  return () => client.middlewareStack.remove(read);
}
