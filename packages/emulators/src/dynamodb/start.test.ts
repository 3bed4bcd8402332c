import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { type DynamodbEmulator, type DynamodbOptions, startDynamodb } from "./start.ts";

const TableName = "tasks";
const TABLE: CreateTableCommandInput = {
  TableName,
  BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [
    { AttributeName: "id", AttributeType: "S" },
    { AttributeName: "lane", AttributeType: "S" },
    { AttributeName: "due", AttributeType: "N" },
  ],
  KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  GlobalSecondaryIndexes: [
    {
      IndexName: "by-due",
      KeySchema: [
        { AttributeName: "lane", KeyType: "HASH" },
        { AttributeName: "due", KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "ALL" },
    },
  ],
};

interface Fixture {
  readonly server: DynamodbEmulator;
  readonly client: DynamoDBClient;
}

async function open(test: TestContext, options: DynamodbOptions = {}, maxAttempts = 1): Promise<Fixture> {
  const server = await startDynamodb(options);
  const client = new DynamoDBClient({
    endpoint: server.endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "right", secretAccessKey: "secret" },
    maxAttempts,
  });
  test.after(async () => {
    client.destroy();
    await server.stop();
  });
  return { server, client };
}

async function openTable(test: TestContext, options: DynamodbOptions = {}, maxAttempts = 1): Promise<Fixture> {
  const fixture = await open(test, options, maxAttempts);
  await fixture.client.send(new CreateTableCommand(TABLE));
  const { Table } = await fixture.client.send(new DescribeTableCommand({ TableName }));
  assert.equal(Table?.TableStatus, "ACTIVE");
  return fixture;
}

const put = (id: string) =>
  new PutItemCommand({ TableName, Item: { id: { S: id } }, ConditionExpression: "attribute_not_exists(id)" });
const get = (id: string) => new GetItemCommand({ TableName, Key: { id: { S: id } }, ConsistentRead: true });

describe("DynamoDB", () => {
  it("writes under conditions", async (test) => {
    const { client } = await openTable(test);
    await client.send(put("a"));
    await assert.rejects(client.send(put("a")), ConditionalCheckFailedException);
    const update = new UpdateItemCommand({
      TableName,
      Key: { id: { S: "a" } },
      UpdateExpression: "SET #count = if_not_exists(#count, :zero) + :one",
      ConditionExpression: "attribute_not_exists(#count) OR #count < :two",
      ExpressionAttributeNames: { "#count": "count" },
      ExpressionAttributeValues: { ":zero": { N: "0" }, ":one": { N: "1" }, ":two": { N: "2" } },
      ReturnValues: "ALL_NEW",
    });
    assert.deepEqual((await client.send(update)).Attributes, { id: { S: "a" }, count: { N: "1" } });
    await client.send(update);
    await assert.rejects(client.send(update), ConditionalCheckFailedException);
    assert.equal((await client.send(get("a"))).Item?.["count"]?.N, "2");
  });

  it("has one winner among parallel claims", async (test) => {
    const { client } = await openTable(test);
    const claims = await Promise.allSettled(Array.from({ length: 20 }, () => client.send(put("a"))));
    assert.equal(claims.filter(({ status }) => status === "fulfilled").length, 1);
  });

  it("reads a sparse index in order", async (test) => {
    const { client } = await openTable(test);
    for (const [id, due] of [
      ["a", "3"],
      ["b", "1"],
      ["c", "2"],
    ] as const) {
      const Item = { id: { S: id }, lane: { S: "s" }, due: { N: due } };
      await client.send(new PutItemCommand({ TableName, Item }));
    }
    await client.send(put("not in the index"));
    const { Items } = await client.send(
      new QueryCommand({
        TableName,
        IndexName: "by-due",
        KeyConditionExpression: "lane = :lane AND due <= :due",
        ExpressionAttributeValues: { ":lane": { S: "s" }, ":due": { N: "2" } },
      }),
    );
    assert.deepEqual(
      Items?.map((item) => item["id"]?.S),
      ["b", "c"],
    );
  });

  it("has the gaps that its page names", async (test) => {
    const { client } = await openTable(test);
    await client.send(put("a"));
    const again = new PutItemCommand({ ...put("a").input, ReturnValuesOnConditionCheckFailure: "ALL_OLD" });
    await assert.rejects(client.send(again), (error: unknown) => {
      assert.ok(error instanceof ConditionalCheckFailedException);
      assert.equal(error.Item, undefined);
      return true;
    });
    const unknown = { name: "UnknownOperationException" };
    const Put = { TableName, Item: { id: { S: "b" } } };
    await assert.rejects(client.send(new TransactWriteItemsCommand({ TransactItems: [{ Put }] })), unknown);
    const TimeToLiveSpecification = { AttributeName: "expires", Enabled: true };
    await assert.rejects(client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification })), unknown);
  });

  it("drops a connection before a write is applied, or after", async (test) => {
    const { client, server } = await openTable(test);
    server.faults.add({ operation: "PutItem", drop: "before" });
    await assert.rejects(client.send(put("a")));
    assert.equal((await client.send(get("a"))).Item, undefined);
    server.faults.add({ operation: "PutItem", drop: "after" });
    await assert.rejects(client.send(put("a")));
    assert.deepEqual((await client.send(get("a"))).Item, { id: { S: "a" } });
  });

  it("answers errors that the client knows", async (test) => {
    const { client, server } = await openTable(test);
    for (const code of ["ProvisionedThroughputExceededException", "ThrottlingException", "InternalServerError"]) {
      server.faults.add({ operation: "GetItem", error: { code } });
      await assert.rejects(client.send(get("a")), { name: code });
    }
  });

  it("is tried again after a fault that passes", async (test) => {
    const { client, server } = await openTable(test, {}, 3);
    server.faults.add({ operation: "GetItem", error: { code: "InternalServerError" } });
    await client.send(get("a"));
    assert.equal(server.calls.of("GetItem").calls, 2);
  });

  it("counts the entries of batches", async (test) => {
    const { client, server } = await openTable(test);
    const requests = ["a", "b"].map((id) => ({ PutRequest: { Item: { id: { S: id } } } }));
    await client.send(new BatchWriteItemCommand({ RequestItems: { [TableName]: requests } }));
    assert.deepEqual(server.calls.of("BatchWriteItem"), { calls: 1, entries: 2, open: 0 });
  });

  it("refuses any access key but the one that it was given", async (test) => {
    const { client } = await open(test, { accessKeyId: "another" });
    await assert.rejects(client.send(new ListTablesCommand({})), { name: "UnrecognizedClientException" });
  });

  it("keeps its tables while it is paused", async (test) => {
    const { client, server } = await openTable(test);
    await client.send(put("a"));
    await server.pause();
    await assert.rejects(client.send(get("a")), { code: "ECONNREFUSED" });
    await server.resume();
    assert.deepEqual((await client.send(get("a"))).Item, { id: { S: "a" } });
  });
});
