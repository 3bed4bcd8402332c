import assert from "node:assert/strict";
import { test } from "node:test";
import type { TableDescription } from "@aws-sdk/client-dynamodb";
import { expiryProblem, tableDefinition, tableProblems } from "./table-shape.ts";

/** How DynamoDB describes the table of our definition. */
function described(): TableDescription {
  const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes = [] } = tableDefinition("tasks");
  return {
    TableStatus: "ACTIVE",
    AttributeDefinitions,
    KeySchema,
    GlobalSecondaryIndexes: GlobalSecondaryIndexes.map((index) => ({ ...index, IndexStatus: "ACTIVE" })),
  };
}

function withIndex(name: string, change: object): TableDescription {
  const table = described();
  return {
    ...table,
    GlobalSecondaryIndexes: table.GlobalSecondaryIndexes?.map((index) =>
      index.IndexName === name ? { ...index, ...change } : index,
    ),
  };
}

test("the table of the definition fits, further indexes and attributes do not matter", () => {
  const table = described();
  assert.deepEqual(tableProblems(table), []);
  const more = {
    ...table,
    AttributeDefinitions: [...(table.AttributeDefinitions ?? []), { AttributeName: "x", AttributeType: "S" as const }],
    GlobalSecondaryIndexes: [...(table.GlobalSecondaryIndexes ?? []), { IndexName: "by_x" }],
  };
  assert.deepEqual(tableProblems(more), []);
});

test("another key is named", () => {
  const problems = tableProblems({
    ...described(),
    KeySchema: [
      { AttributeName: "sk", KeyType: "RANGE" },
      { AttributeName: "pk", KeyType: "HASH" },
    ],
    AttributeDefinitions: [...(described().AttributeDefinitions ?? []), { AttributeName: "sk", AttributeType: "N" }],
  });
  assert.deepEqual(problems, ["the table's key is pk (S), sk (N), expected pk (S) alone"]);
});

test("a missing index is named with its keys", () => {
  const table = described();
  const rest = table.GlobalSecondaryIndexes?.filter(({ IndexName }) => IndexName !== "by_check");
  assert.deepEqual(tableProblems({ ...table, GlobalSecondaryIndexes: rest }), [
    "index by_check is missing: keys check_shard (S), check_at (S), projection KEYS_ONLY",
  ]);
});

test("an index with other keys, another projection, or not ready is named", () => {
  const keys = { KeySchema: [{ AttributeName: "agent_run_id", KeyType: "HASH" }] };
  assert.deepEqual(tableProblems(withIndex("by_run", keys)), [
    "index by_run has the keys agent_run_id (S), expected agent_run_id (S), created_at (S)",
  ]);
  const projection = { Projection: { ProjectionType: "ALL" } };
  assert.match(
    tableProblems(withIndex("by_status", projection)).join(),
    /^index by_status projects ALL, expected KEYS_ONLY/,
  );
  assert.deepEqual(tableProblems(withIndex("by_check", { IndexStatus: "CREATING" })), [
    "index by_check is CREATING, expected ACTIVE",
  ]);
});

test("a table that is not ready is named", () => {
  assert.deepEqual(tableProblems({ ...described(), TableStatus: "DELETING" }), [
    "the table is DELETING, expected ACTIVE",
  ]);
});

test("time to live goes by expire_at", () => {
  assert.equal(expiryProblem({ TimeToLiveStatus: "ENABLED", AttributeName: "expire_at" }), undefined);
  assert.equal(expiryProblem({ TimeToLiveStatus: "ENABLING", AttributeName: "expire_at" }), undefined);
  assert.match(
    expiryProblem({ TimeToLiveStatus: "ENABLED", AttributeName: "ttl" }) ?? "",
    /attribute ttl, expected expire_at/,
  );
  assert.match(expiryProblem({ TimeToLiveStatus: "DISABLED" }) ?? "", /is DISABLED/);
  assert.match(expiryProblem(undefined) ?? "", /is DISABLED/);
});
