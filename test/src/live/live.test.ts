import assert from "node:assert/strict";
import { test } from "node:test";
import { targets } from "../targets/all.ts";
import { accountsOf } from "./accounts.ts";
import { estimateLines, estimateOf } from "./estimate.ts";

test("an account that the environment does not name is missing, by the variable's name", async () => {
  const missing = await Promise.all(accountsOf({}).map(async (account) => (await account.start()).missing));
  assert.deepEqual(missing, [
    "AWS_REGION: not set",
    "GOOGLE_CLOUD_PROJECT: not set",
    "SERVICEBUS_CONNECTION_STRING: not set",
  ]);
});

test("an account that is named is the place of its targets", async () => {
  const connectionString = "Endpoint=sb://name.servicebus.windows.net/;SharedAccessKeyName=k;SharedAccessKey=v";
  const environment = {
    AWS_REGION: "eu-west-1",
    GOOGLE_CLOUD_PROJECT: "project",
    SERVICEBUS_CONNECTION_STRING: connectionString,
  };
  const places = await Promise.all(
    accountsOf(environment).map(async (account) => {
      const started = await account.start();
      return started.missing === undefined ? started.place : undefined;
    }),
  );
  assert.deepEqual(places, [{ endpoint: "aws" }, { endpoint: "gcp" }, { connectionString }]);
});

test("every account's targets are targets of the suite", () => {
  const names = accountsOf({}).flatMap((account) => account.targets);
  assert.deepEqual(
    names.filter((name) => !targets.some((target) => target.name === name)),
    [],
  );
});

test("an estimate counts calls, has a price where one is known, and says so where none is", () => {
  const estimates = [estimateOf("sqs/fifo", "queue", 100), estimateOf("dynamodb", "store", 100)];
  assert.deepEqual(estimates, [
    { target: "sqs/fifo", calls: 4_000, usd: 0.002 },
    { target: "dynamodb", calls: 7_000 },
  ]);
  assert.deepEqual(estimateLines(estimates), [
    "  sqs/fifo: some 4,000 calls, about $0.0020",
    "  dynamodb: some 7,000 calls, see the vendor's price page",
    "  in all: about $0.00 by third-party prices, without what has none here",
  ]);
  assert.equal(estimateOf("pubsub/ordered", "queue", 1).usd, estimateOf("pubsub", "queue", 1).usd);
});
