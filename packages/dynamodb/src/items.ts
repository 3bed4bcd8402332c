import {
  type AttributeValue,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import {
  INDEXES,
  type IndexPage,
  type IndexQuery,
  type Item,
  type ItemStore,
  LeaseholdError,
  type WriteOutcome,
} from "@leasehold/core/driver";
import { fromAttributes, textOf, toAttributes } from "./attributes.ts";
import { type Connection, type ConnectionOptions, connect } from "./connection.ts";
import { cursorOf, placeOf } from "./cursor.ts";
import { isNamed } from "./errors.ts";
import { conditionExpression, createPlaceholders, updateExpression } from "./expressions.ts";
import { KEY_FIELD } from "./table-shape.ts";

/**
 * Items in one DynamoDB table.
 *
 * *Mapping*: an item is an item, its key the partition key `pk`; put is PutItem, update is UpdateItem, get a consistent GetItem, query a
 * Query of one of three global indexes. Every write has a condition and answers the item as it was, also when the condition fails
 * (`ReturnValuesOnConditionCheckFailure`), so that no write needs a read before it or after it.
 * https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
 *
 * *Consistency*: writes and `get` are consistent; indexes follow within moments (DDB-09). Expired items are returned until DynamoDB removes
 * them, which can take days (DDB-08): what expires says so in its conditions. In a global table conditions hold within one
 * region: all workers use the same one (DDB-07).
 *
 * *What is never confirmed*: a write whose answer is lost. It may have been applied, the error is transient, and making the same write
 * again shows which it was. A server that does not answer the old item with a failed condition (some emulators) costs one
 * consistent read there, and what is read may be newer than what the condition saw.
 *
 * *Limits*: 400 KB an item, field names included; numbers of 38 digits up to 9.99e125; texts of keys of indexes up to 1 KB.
 * No retries here: core makes a call again, inside the lease.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
 */
export function createDynamoItems(options: ConnectionOptions): ItemStore {
  return itemsOn(connect(options));
}

/** The items of a table that is connected already. Closing them closes the connection. */
export function itemsOn(connection: Connection): ItemStore {
  const { table, call } = connection;

  const get = async (key: string): Promise<Item | undefined> => {
    const command = new GetItemCommand({ TableName: table, Key: keyOf(key), ConsistentRead: true });
    const { Item: found } = await call(`read of ${key}`, (client) => client.send(command));
    return found === undefined ? undefined : fromAttributes(found);
  };

  /** One conditional write; a failed condition is an outcome. */
  const write = async (
    key: string,
    send: () => Promise<{ readonly Attributes?: Record<string, AttributeValue> | undefined }>,
  ): Promise<WriteOutcome> => {
    const answer = await call(`write of ${key}`, async () => {
      try {
        const { Attributes } = await send();
        return { applied: true, attributes: Attributes };
      } catch (error) {
        if (!isNamed(error, "ConditionalCheckFailedException")) throw error;
        return { applied: false, attributes: (error as { readonly Item?: Record<string, AttributeValue> }).Item };
      }
    });
    const { applied, attributes } = answer;
    if (attributes !== undefined) return { applied, old: fromAttributes(attributes) };
    const old = applied ? undefined : await get(key);
    return { applied, ...(old === undefined ? {} : { old }) };
  };

  return {
    get,
    async put(key, item, condition) {
      const placeholders = createPlaceholders();
      const command = new PutItemCommand({
        TableName: table,
        Item: toAttributes(key, item),
        ConditionExpression: conditionExpression(condition, placeholders),
        ...placeholders.parameters(),
        ...ANSWER_OLD,
      });
      return write(key, () => connection.client.send(command));
    },
    async update(key, update, condition) {
      const placeholders = createPlaceholders();
      const UpdateExpression = updateExpression(update, placeholders);
      const command = new UpdateItemCommand({
        TableName: table,
        Key: keyOf(key),
        ...(UpdateExpression !== undefined && { UpdateExpression }),
        ConditionExpression: conditionExpression(condition, placeholders),
        ...placeholders.parameters(),
        ...ANSWER_OLD,
      });
      return write(key, () => connection.client.send(command));
    },
    async query(query) {
      const command = new QueryCommand(queryInput(table, query));
      const answer = await call(`query of index ${query.index}`, (client) => client.send(command));
      return pageOf(query, answer.Items ?? [], answer.LastEvaluatedKey !== undefined);
    },
    async close() {
      connection.close();
    },
  };
}

const ANSWER_OLD = { ReturnValues: "ALL_OLD", ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;

function keyOf(key: string): Record<string, AttributeValue> {
  return { [KEY_FIELD]: { S: key } };
}

/** Asks for one entry more than the page holds: DynamoDB names a place to go on from also where nothing follows. */
function queryInput(table: string, query: IndexQuery): QueryCommandInput {
  const { partition, sort } = INDEXES[query.index];
  if (!Number.isSafeInteger(query.limit) || query.limit < 1) {
    throw new LeaseholdError("InvalidArgument", `limit: got ${query.limit}, expected a whole number of 1 or more`, {
      details: { field: "limit" },
    });
  }
  const placeholders = createPlaceholders();
  const conditions = [`${placeholders.name(partition)} = ${placeholders.value(query.partition)}`];
  if (query.upTo !== undefined) conditions.push(`${placeholders.name(sort)} <= ${placeholders.value(query.upTo)}`);
  return {
    TableName: table,
    IndexName: query.index,
    KeyConditionExpression: conditions.join(" AND "),
    ...placeholders.parameters(),
    ScanIndexForward: query.descending !== true,
    Limit: query.limit + 1,
    ...(query.cursor !== undefined && { ExclusiveStartKey: startKey(query, query.cursor) }),
  };
}

function startKey(query: IndexQuery, cursor: string): Record<string, AttributeValue> {
  const { partition, sort } = INDEXES[query.index];
  const place = placeOf(cursor);
  return { ...keyOf(place.key), [partition]: { S: query.partition }, [sort]: { S: place.sort } };
}

/** `cut`: DynamoDB ended the page by itself, at its limit of 1 MB. */
function pageOf(query: IndexQuery, found: readonly Record<string, AttributeValue>[], cut: boolean): IndexPage {
  const { sort } = INDEXES[query.index];
  const entries = found
    .slice(0, query.limit)
    .map((attributes) => ({ key: textOf(attributes[KEY_FIELD]), sort: textOf(attributes[sort]) }));
  const last = entries.at(-1);
  const more = cut || found.length > query.limit;
  return { entries, ...(more && last !== undefined && { cursor: cursorOf(last) }) };
}
