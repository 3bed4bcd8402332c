import type {
  CreateTableCommandInput,
  GlobalSecondaryIndexDescription,
  KeySchemaElement,
  TableDescription,
  TimeToLiveDescription,
} from "@aws-sdk/client-dynamodb";
import { INDEXES, type IndexName } from "@leasehold/core/driver";

/** The partition key of the table: the key of the item. There is no sort key. */
export const KEY_FIELD = "pk";
/** Seconds since the epoch, after which DynamoDB may remove the item. */
export const EXPIRY_FIELD = "expire_at";

export const INDEX_NAMES = Object.keys(INDEXES) as readonly IndexName[];

/** The table that the store needs, billed per request. */
export function tableDefinition(table: string): CreateTableCommandInput {
  const indexed = INDEX_NAMES.flatMap((name) => [INDEXES[name].partition, INDEXES[name].sort]);
  return {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [...new Set([KEY_FIELD, ...indexed])].map((AttributeName) => ({
      AttributeName,
      AttributeType: "S",
    })),
    KeySchema: [{ AttributeName: KEY_FIELD, KeyType: "HASH" }],
    GlobalSecondaryIndexes: INDEX_NAMES.map((IndexName) => ({
      IndexName,
      KeySchema: [
        { AttributeName: INDEXES[IndexName].partition, KeyType: "HASH" },
        { AttributeName: INDEXES[IndexName].sort, KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "KEYS_ONLY" },
    })),
  };
}

/** What keeps a table from being the one that the store needs, a sentence each. Further indexes are nobody's harm. */
export function tableProblems(description: TableDescription): readonly string[] {
  const types = new Map(
    description.AttributeDefinitions?.map(({ AttributeName, AttributeType }) => [AttributeName, AttributeType]),
  );
  const problems: string[] = [];
  if (description.TableStatus !== "ACTIVE" && description.TableStatus !== "UPDATING") {
    problems.push(`the table is ${description.TableStatus}, expected ACTIVE`);
  }
  const key = describeKey(description.KeySchema, types);
  if (key !== `${KEY_FIELD} (S)`) problems.push(`the table's key is ${key}, expected ${KEY_FIELD} (S) alone`);
  for (const name of INDEX_NAMES) {
    const index = description.GlobalSecondaryIndexes?.find(({ IndexName }) => IndexName === name);
    problems.push(...indexProblems(name, index, types));
  }
  return problems;
}

function indexProblems(
  name: IndexName,
  index: GlobalSecondaryIndexDescription | undefined,
  types: ReadonlyMap<string | undefined, string | undefined>,
): readonly string[] {
  const expected = `${INDEXES[name].partition} (S), ${INDEXES[name].sort} (S)`;
  if (index === undefined) return [`index ${name} is missing: keys ${expected}, projection KEYS_ONLY`];
  const problems: string[] = [];
  const key = describeKey(index.KeySchema, types);
  if (key !== expected) problems.push(`index ${name} has the keys ${key}, expected ${expected}`);
  const projection = index.Projection?.ProjectionType;
  if (projection !== "KEYS_ONLY") {
    problems.push(
      `index ${name} projects ${projection}, expected KEYS_ONLY: otherwise every renewal of a lease also writes the index`,
    );
  }
  if (index.IndexStatus !== "ACTIVE" && index.IndexStatus !== "UPDATING") {
    problems.push(`index ${name} is ${index.IndexStatus}, expected ACTIVE`);
  }
  return problems;
}

/** `pk (S)`; of a key with two parts `status_shard (S), created_at (S)`. */
function describeKey(
  schema: readonly KeySchemaElement[] | undefined,
  types: ReadonlyMap<string | undefined, string | undefined>,
): string {
  const parts = [...(schema ?? [])].sort((left, right) => rankOf(left) - rankOf(right));
  return parts.map(({ AttributeName }) => `${AttributeName} (${types.get(AttributeName)})`).join(", ");
}

function rankOf({ KeyType }: KeySchemaElement): number {
  return KeyType === "HASH" ? 0 : 1;
}

/** What is wrong with the removal of expired items; `undefined`: nothing. */
export function expiryProblem(description: TimeToLiveDescription | undefined): string | undefined {
  const { TimeToLiveStatus: status = "DISABLED", AttributeName: field } = description ?? {};
  const on = status === "ENABLED" || status === "ENABLING";
  if (on && field === EXPIRY_FIELD) return undefined;
  if (on) return `time to live goes by the attribute ${field}, expected ${EXPIRY_FIELD}`;
  return `time to live is ${status}, expected ENABLED with the attribute ${EXPIRY_FIELD}: items that have expired are never removed`;
}
