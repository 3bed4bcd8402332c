import assert from "node:assert/strict";
import { test } from "node:test";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type Logger, silentLogger } from "@leasehold/core/driver";
import { localConfig, startDynalite } from "./dynalite.fixture.ts";
import { createDynamoItems } from "./items.ts";
import { checkTable, createTable } from "./table.ts";
import { tableDefinition } from "./table-shape.ts";

test("a table is made once, and a server without time to live is a warning", async (context) => {
  const at = (await startDynalite(context))("tasks");
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (message) => warnings.push(message) };
  await createTable({ ...at, logger });
  await createTable({ ...at, logger });
  assert.equal(warnings.length, 2);
  assert.match(warnings[0] ?? "", /no time to live/);

  const items = createDynamoItems(at);
  context.after(() => items.close());
  assert.deepEqual(await items.put("k", { a: 1 }, { absent: "a" }), { applied: true });
});

test("what a table lacks is named, and a table that differs is not taken", async (context) => {
  const at = (await startDynalite(context))("tasks");
  const missing = await checkTable(at);
  assert.equal(missing.length, 1);
  assert.match(missing[0] ?? "", /no table tasks .*createTable/);

  const definition = tableDefinition("tasks");
  const indexes = definition.GlobalSecondaryIndexes?.filter(({ IndexName }) => IndexName !== "by_check");
  const fields = definition.AttributeDefinitions?.filter(({ AttributeName }) => !AttributeName?.startsWith("check_"));
  const client = new DynamoDBClient(at.config ?? localConfig(""));
  context.after(() => client.destroy());
  await client.send(
    new CreateTableCommand({ ...definition, GlobalSecondaryIndexes: indexes, AttributeDefinitions: fields }),
  );

  const found = await checkTable(at);
  assert.match(found[0] ?? "", /^index by_check is missing/);
  assert.match(found[1] ?? "", /^time to live is DISABLED/);
  assert.equal(found.length, 2);
  await assert.rejects(createTable(at), {
    code: "Conflict",
    message: /table tasks is there and differs: index by_check is missing/,
  });
});
