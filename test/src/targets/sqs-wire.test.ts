import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import type { Delivery, Logger, QueueDriver } from "@leasehold/core/driver";
import { createTimeline } from "@leasehold/core/memory";
import { type SqsEmulator, type SqsOptions, startSqs } from "@leasehold/emulators";
import { createClients, openSqsQueue, type SqsDelivery } from "@leasehold/sqs";
import { abandon, complete, deadLetter, expectApplied, message, send, settle } from "../queue/support.ts";
import { awsConfig } from "./aws.ts";

/** What only SQS has: sums, limits in flight, chunks, dead letters in two steps, groups that mean no order, twelve hours. */
async function open(
  context: TestContext,
  { emulator: options = {}, fifo = false, dead = {}, more = {} }: Setup = {},
): Promise<{
  readonly emulator: SqsEmulator;
  readonly driver: QueueDriver;
  readonly url: string;
  readonly deadUrl: string;
}> {
  const emulator = await startSqs(options);
  const suffix = fifo ? ".fifo" : "";
  const deadUrl = emulator.createQueue(`dead${suffix}`, dead);
  const arn = `arn:aws:sqs:us-east-1:000000000000:dead${suffix}`;
  const policy = JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: 100 });
  const url = emulator.createQueue(`main${suffix}`, { RedrivePolicy: policy });
  const driver = await openSqsQueue({ queue: url, client: awsConfig(emulator.endpoint), ...more });
  context.after(async () => {
    await driver.close();
    await emulator.stop();
  });
  emulator.calls.reset();
  return { emulator, driver, url, deadUrl };
}

interface Setup {
  readonly emulator?: SqsOptions;
  readonly fifo?: boolean;
  readonly dead?: Readonly<Record<string, string>>;
  readonly more?: Partial<Parameters<typeof openSqsQueue>[0]>;
}

const LEASE_MS = 60_000;

async function take(driver: QueueDriver, max = 10): Promise<readonly Delivery[]> {
  return driver.receive({ max, waitMs: 0, leaseMs: LEASE_MS });
}

async function takeOne(driver: QueueDriver): Promise<Delivery> {
  const [delivery] = await take(driver, 1);
  assert.ok(delivery !== undefined, "nothing can be received");
  return delivery;
}

const letters = (driver: QueueDriver) => driver.deadLetters?.look({ max: 10, leaseMs: LEASE_MS }) ?? [];

test("a body with a wrong sum costs its own message alone, and is reported (SQS-30)", async (context) => {
  const warnings: unknown[] = [];
  const logger: Logger = { info() {}, error() {}, warn: (_message, fields) => warnings.push(fields?.["messageId"]) };
  const { emulator, driver, url } = await open(context, { more: { logger } });
  await send(driver, message("a"), message("b"), message("c"));
  const [, bad = ""] = emulator.acts(url).messageIds();
  emulator.acts(url).corrupt(bad);
  const good = await take(driver);
  assert.deepEqual(
    good.map((delivery) => delivery.body),
    [message("a").body, message("c").body],
  );
  assert.deepEqual(warnings, [bad]);
  emulator.acts(url).expire(bad);
  assert.equal((await takeOne(driver)).messageId, bad, "it came again, and whole");
});

test("too many in flight is told from an empty queue where SQS tells it (SQS-70)", async (context) => {
  const { driver } = await open(context, { emulator: { inFlightLimit: 1 } });
  await send(driver, message("a"), message("b"));
  await takeOne(driver);
  await assert.rejects(take(driver), { code: "ResourceExhausted" });
  assert.deepEqual(await driver.receive({ max: 1, waitMs: 1_000, leaseMs: LEASE_MS }), []);
  assert.equal(await driver.countVisible?.(), 1, "the count tells it, where the receive does not");
});

test("ten of anything are one call", async (context) => {
  const { emulator, driver } = await open(context);
  await send(driver, ...Array.from({ length: 10 }, (_, index) => message(`m-${index}`)));
  const deliveries = await take(driver);
  assert.equal(deliveries.length, 10);
  await driver.extend(deliveries.map((delivery) => ({ delivery, leaseMs: LEASE_MS })));
  const [first, second, ...others] = deliveries;
  const ends = [abandon(first as Delivery, 0), abandon(second as Delivery, 0)];
  await settle(driver, ...others.map((delivery) => ({ verb: "complete", delivery }) as const), ...ends);
  const calls = Object.fromEntries(Object.entries(emulator.calls.all()).map(([name, count]) => [name, count.calls]));
  assert.deepEqual(calls, {
    GetQueueAttributes: 0,
    GetQueueUrl: 0,
    SendMessageBatch: 1,
    ReceiveMessage: 1,
    ChangeMessageVisibilityBatch: 2,
    DeleteMessageBatch: 1,
  });
});

test("what exceeds the bytes of a call is sent in several, in order (SQS-43)", async (context) => {
  const { emulator, driver } = await open(context, { fifo: true });
  const messages = Array.from({ length: 7 }, (_, index) =>
    message(`m-${index}`, { body: `${index}${"x".repeat(300_000)}`, orderingKey: "key" }),
  );
  await send(driver, ...messages);
  assert.equal(emulator.calls.of("SendMessageBatch").calls, 3);
  const order = (await take(driver)).map((delivery) => delivery.body[0]);
  assert.deepEqual(order, ["0", "1", "2", "3", "4", "5", "6"].slice(0, order.length));
});

test("after a call that failed the rest is not sent, so that nothing overtakes", async (context) => {
  const { emulator, driver } = await open(context, { fifo: true });
  emulator.faults.add({ operation: "SendMessageBatch", error: { code: "RequestThrottled" } });
  const big = (id: string) => message(id, { body: "x".repeat(600_000), orderingKey: "key" });
  const outcomes = await driver.send([big("a"), big("b")]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status === "failed" && outcome.code),
    ["ResourceExhausted", "ResourceExhausted"],
  );
  assert.equal(emulator.calls.of("SendMessageBatch").calls, 1);
});

test("a copy that is refused is sent once more with the code only; what cannot be copied stays", async (context) => {
  const { driver } = await open(context, { dead: { MaximumMessageSize: "1024" } });
  await send(driver, message("fits", { body: "x".repeat(700) }), message("never", { body: "x".repeat(1_024) }));
  const [fits, never] = await take(driver);
  const text = "a reason that is long, ".repeat(40);
  const outcomes = await settle(
    driver,
    deadLetter(fits as Delivery, "poison", text, 7),
    deadLetter(never as Delivery, "poison", text, 7),
  );
  expectApplied(driver, outcomes[0]);
  assert.equal(outcomes[1]?.status === "failed" && outcomes[1].code, "PayloadTooLarge");
  const [letter, ...others] = await letters(driver);
  assert.deepEqual([letter?.reason, letter?.fence, others.length], [{ code: "poison", text: "" }, 7, 0]);
  await complete(driver, never as Delivery);
});

test("a crash between copy and delete leaves both, and the repeat is swallowed where ids count", async (context) => {
  const { emulator, driver, url } = await open(context, { fifo: true });
  await send(driver, message("one"));
  const first = await takeOne(driver);
  emulator.faults.add({ operation: "DeleteMessageBatch", drop: "before" });
  const [cut] = await settle(driver, deadLetter(first, "poison", "text"));
  assert.equal(cut?.status, "unconfirmed");
  emulator.acts(url).expire(first.messageId);
  expectApplied(driver, (await settle(driver, deadLetter(await takeOne(driver), "poison", "text")))[0]);
  assert.equal((await letters(driver)).length, 1);
  assert.deepEqual(await take(driver), []);
});

test("a message whose copy is unclear is not deleted", async (context) => {
  const { emulator, driver } = await open(context);
  await send(driver, message("one"));
  emulator.faults.add({ operation: "SendMessageBatch", drop: "after" });
  const [outcome] = await settle(driver, deadLetter(await takeOne(driver), "poison", "text"));
  assert.equal(outcome?.status, "unconfirmed");
  assert.equal(emulator.calls.of("DeleteMessageBatch").calls, 0);
});

test("a letter that SQS moved from another queue is not redriven into this one", async (context) => {
  const { emulator, driver } = await open(context);
  const arn = "arn:aws:sqs:us-east-1:000000000000:dead";
  const policy = JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: 100 });
  const url = emulator.createQueue("other", { RedrivePolicy: policy });
  const other = await openSqsQueue({ queue: url, client: awsConfig(emulator.endpoint) });
  context.after(() => other.close());
  await send(other, message("one"));
  emulator.acts(url).deadLetterByCount(emulator.acts(url).messageIds()[0] ?? "");
  const found = await letters(driver);
  assert.equal(found.length, 1);
  const [refused] = (await driver.deadLetters?.redrive(found)) ?? [];
  assert.equal(refused?.status === "failed" && refused.code, "InvalidArgument");
  expectApplied(other, (await other.deadLetters?.redrive(found))?.[0]);
  assert.equal((await takeOne(other)).body, message("one").body);
});

test("a tenant of a fair queue is no ordering key, and its dead letter stays its own (SQS-80)", async (context) => {
  const { driver, url } = await open(context);
  const { poll, control } = createClients(awsConfig(new URL(url).origin));
  await control.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "{}", MessageGroupId: "tenant-7" }));
  for (const client of [poll, control]) client.destroy();
  const delivery = await takeOne(driver);
  assert.equal(delivery.orderingKey, undefined);
  await settle(driver, deadLetter(delivery, "poison", "text"));
  const [letter] = await letters(driver);
  assert.ok(letter !== undefined);
  assert.equal((letter.delivery as SqsDelivery).groupId, "tenant-7");
});

test("what would cost a whole batch is refused alone, before it is sent", async (context) => {
  const { driver } = await open(context, { fifo: true });
  const outcomes = await driver.send([
    message("control", { body: "\u0001" }),
    message("good"),
    message("attribute", { attributes: { name: "\ufffe" } }),
    message("attributes", {
      attributes: Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`a${index}`, "1"])),
    }),
    message("key", { orderingKey: "leasehold-keyless.x" }),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === "failed" ? outcome.code : outcome.status)),
    ["InvalidArgument", "confirmed", "InvalidArgument", "InvalidArgument", "InvalidArgument"],
  );
});

test("extensions and delays end with the twelve hours; beyond, an extension fails and the lease stays (SQS-05)", async (context) => {
  const timeline = createTimeline();
  const { driver } = await open(context, { emulator: { clock: timeline.clock() }, more: { clock: timeline.clock() } });
  const { maxLeaseMs, totalLeaseMs = 0 } = driver.capabilities;
  await send(driver, message("extended"), message("abandoned"));
  const [extended, abandoned] = await driver.receive({ max: 2, waitMs: 0, leaseMs: maxLeaseMs });
  assert.ok(extended !== undefined && abandoned !== undefined);
  await timeline.advance(totalLeaseMs / 2);
  const leaseMs = maxLeaseMs;
  assert.deepEqual(await driver.extend([{ delivery: extended, leaseMs }]), [{ status: "unconfirmed" }]);
  expectApplied(driver, (await settle(driver, abandon(abandoned, driver.capabilities.maxAbandonDelayMs)))[0]);
  await timeline.advance(totalLeaseMs / 2 - 500);
  const [late] = await driver.extend([{ delivery: extended, leaseMs }]);
  assert.equal(late?.status === "failed" && late.code, "InvalidArgument");
  await timeline.advance(500);
  assert.equal((await take(driver)).length, 2, "both are there again");
});
