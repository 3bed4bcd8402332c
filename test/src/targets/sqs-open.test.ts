import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openQueue } from "@leasehold/core";
import type { Logger } from "@leasehold/core/driver";
import { type SqsEmulator, startSqs } from "@leasehold/emulators";
import { openSqsQueue } from "@leasehold/sqs";
import { message } from "../queue/support.ts";
import { awsConfig } from "./aws.ts";

async function start(context: TestContext): Promise<{ readonly emulator: SqsEmulator; readonly client: object }> {
  const emulator = await startSqs();
  context.after(() => emulator.stop());
  return { emulator, client: awsConfig(emulator.endpoint) };
}

const policyOf = (name: string, maxReceiveCount: number): string =>
  JSON.stringify({ deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${name}`, maxReceiveCount });

test("a queue is opened by name and by URL, through core as well, and its own clients end with it", async (context) => {
  const { emulator, client } = await start(context);
  const url = emulator.createQueue("orders");
  for (const queue of [`sqs://orders`, `sqs://${url}`]) {
    const driver = await openQueue(queue, { client });
    assert.deepEqual([driver.provider, driver.queue], ["sqs", "orders"]);
    assert.equal((await driver.send([message("one")]))[0]?.status, "confirmed");
    const [delivery] = await driver.receive({ max: 1, waitMs: 0, leaseMs: 1_000 });
    assert.equal(delivery?.body, message("one").body);
    await driver.settle([{ verb: "complete", delivery: delivery as NonNullable<typeof delivery> }]);
    await driver.close();
  }
});

test("what a queue is like is read when it is opened", async (context) => {
  const { emulator, client } = await start(context);
  emulator.createQueue("dead.fifo");
  emulator.createQueue("old", { MaximumMessageSize: "262144" });
  emulator.createQueue("orders.fifo", { RedrivePolicy: policyOf("dead.fifo", 100) });
  const old = await openSqsQueue({ queue: "old", client });
  const orders = await openSqsQueue({ queue: "orders.fifo", client });
  context.after(async () => {
    await old.close();
    await orders.close();
  });
  const seen = ({ capabilities }: typeof old) => ({
    maxMessageBytes: capabilities.maxMessageBytes,
    deadLetter: capabilities.deadLetter,
    ordering: capabilities.ordering,
    maxSendDelayMs: capabilities.maxSendDelayMs,
    settleConfirmation: capabilities.settleConfirmation,
  });
  assert.deepEqual(seen(old), {
    maxMessageBytes: 262_144,
    deadLetter: "store",
    ordering: false,
    maxSendDelayMs: 900_000,
    settleConfirmation: "unconfirmed",
  });
  assert.deepEqual(seen(orders), {
    maxMessageBytes: 1_048_576,
    deadLetter: "copy",
    ordering: true,
    maxSendDelayMs: 0,
    settleConfirmation: "confirmed",
  });
  for (const [name, value] of Object.entries(orders.capabilities)) {
    if (name === "sources" || name === "settle") continue;
    const link = (orders.capabilities.sources as Readonly<Record<string, string>>)[name];
    assert.match(link ?? "", /^https:\/\/docs\.aws\.amazon\.com\//, `${name} (${value}) has no source`);
  }
});

test("a warning is given when SQS itself takes messages away early", async (context) => {
  const { emulator, client } = await start(context);
  emulator.createQueue("dead");
  emulator.createQueue("few", { RedrivePolicy: policyOf("dead", 49) });
  emulator.createQueue("many", { RedrivePolicy: policyOf("dead", 50) });
  const warnings: unknown[] = [];
  const logger: Logger = { info() {}, error() {}, warn: (_message, fields) => warnings.push(fields) };
  for (const queue of ["few", "many"]) await (await openSqsQueue({ queue, client, logger })).close();
  assert.deepEqual(warnings, [{ queue: "few", maxReceiveCount: 49 }]);
});

test("what is not there is said when the queue is opened", async (context) => {
  const { emulator, client } = await start(context);
  for (const queue of ["missing", `${emulator.endpoint}/000000000000/missing`]) {
    await assert.rejects(openSqsQueue({ queue, client }), { code: "NotFound", message: /missing/ });
  }
  emulator.createQueue("dead");
  const url = emulator.createQueue("orders", { RedrivePolicy: policyOf("dead", 100) });
  const deadLetterUrl = emulator.createQueue("elsewhere");
  const driver = await openSqsQueue({ queue: url, deadLetterUrl, client });
  context.after(() => driver.close());
  assert.equal(emulator.calls.of("GetQueueUrl").calls, 1, "a dead-letter queue that was given is not looked up");
});
