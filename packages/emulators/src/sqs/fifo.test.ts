import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SendMessageBatchCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { openSqs, type QueueFixture } from "../testing/sqs.ts";

const SECOND = 1_000;
const FIFO = { FifoQueue: "true", ContentBasedDeduplication: "true" };
const TEN = { MaxNumberOfMessages: 10 };

/** Sends `g1-a g1-b g2-a` to groups g1 and g2. */
async function fill({ send }: QueueFixture, bodies: string): Promise<void> {
  for (const body of bodies.split(" ")) await send(body, { MessageGroupId: body.split("-")[0] });
}

const join = (bodies: readonly (string | undefined)[]): string => bodies.join(" ");

describe("FIFO queues", () => {
  it("SQS-60: one receive takes several of a group, in order, before it goes to the next group", async (test) => {
    const queue = (await openSqs(test)).queue(FIFO);
    await fill(queue, "g1-a g2-a g1-b g1-c");
    assert.equal(join(await queue.bodies(TEN)), "g1-a g1-b g1-c g2-a");
  });

  it("SQS-60: while one of a group is in flight, later ones wait; other groups do not", async (test) => {
    const queue = (await openSqs(test)).queue(FIFO);
    await fill(queue, "g1-a g1-b g1-c g2-a");
    const [first, second] = await queue.receive({ MaxNumberOfMessages: 2 });
    assert.equal(join(await queue.bodies(TEN)), "g2-a");
    await queue.remove(second?.ReceiptHandle);
    assert.equal(join(await queue.bodies(TEN)), "");
    await queue.remove(first?.ReceiptHandle);
    assert.equal(join(await queue.bodies(TEN)), "g1-c");
  });

  it("SQS-60: an expired batch comes again in order", async (test) => {
    const { queue: make, clock } = await openSqs(test);
    const queue = make(FIFO);
    await fill(queue, "g1-a g1-b g1-c");
    assert.equal(join(await queue.bodies({ ...TEN, VisibilityTimeout: 1 })), "g1-a g1-b g1-c");
    clock.advance(SECOND);
    assert.equal(join(await queue.bodies(TEN)), "g1-a g1-b g1-c");
  });

  it("SQS-60: groups take turns", async (test) => {
    const queue = (await openSqs(test)).queue(FIFO);
    await fill(queue, "g1-a g2-a g2-b g3-a g1-b");
    assert.equal(join(await queue.bodies({ MaxNumberOfMessages: 3, VisibilityTimeout: 0 })), "g1-a g1-b g2-a");
    assert.equal(join(await queue.bodies({ ...TEN, VisibilityTimeout: 0 })), "g3-a g1-a g1-b g2-a g2-b");
  });

  it("SQS-61: one that is released comes again while later ones of its batch are in flight", async (test) => {
    const queue = (await openSqs(test)).queue(FIFO);
    await fill(queue, "g1-a g1-b g2-a");
    const [first] = await queue.receive({ MaxNumberOfMessages: 2 });
    await queue.change(first?.ReceiptHandle, 0);
    assert.equal(join(await queue.bodies(TEN)), "g2-a g1-a");
  });

  it("SQS-61: a later one that is released waits for those before it", async (test) => {
    const queue = (await openSqs(test)).queue(FIFO);
    await fill(queue, "g1-a g1-b");
    const [first, second] = await queue.receive(TEN);
    await queue.change(second?.ReceiptHandle, 0);
    assert.equal(join(await queue.bodies(TEN)), "");
    await queue.remove(first?.ReceiptHandle);
    assert.equal(join(await queue.bodies(TEN)), "g1-b");
  });

  it("SQS-62: extending one keeps back what is behind it, and not what is before it", async (test) => {
    const { queue: make, clock } = await openSqs(test);
    const queue = make({ ...FIFO, VisibilityTimeout: "10" });
    await fill(queue, "g1-a g1-b g1-c g1-d");
    const [, second] = await queue.receive({ MaxNumberOfMessages: 3 });
    await queue.change(second?.ReceiptHandle, 60);
    clock.advance(10 * SECOND);
    assert.equal(join(await queue.bodies({ ...TEN, VisibilityTimeout: 100 })), "g1-a");
    clock.advance(50 * SECOND);
    assert.equal(join(await queue.bodies(TEN)), "");
  });

  it("SQS-10: after expiry a delete is refused, after a timely extension it works", async (test) => {
    const { queue: make, clock } = await openSqs(test);
    const queue = make(FIFO);
    await fill(queue, "g1-a");
    const late = await queue.one({ VisibilityTimeout: 1 });
    clock.advance(SECOND);
    await assert.rejects(queue.remove(late.ReceiptHandle), { name: "InvalidParameterValue", message: /has expired/ });
    await assert.rejects(queue.change(late.ReceiptHandle, 9), {
      name: "InvalidParameterValue",
      message: /not available/,
    });
    const timely = await queue.one({ VisibilityTimeout: 1 });
    await queue.change(timely.ReceiptHandle, 5);
    clock.advance(4 * SECOND);
    await queue.remove(timely.ReceiptHandle);
    clock.advance(SECOND);
    assert.deepEqual(await queue.receive(), []);
  });

  it("SQS-10: a stale handle cannot touch a new holder's lease, under any switch", async (test) => {
    const { queue: make, clock } = await openSqs(test, { staleChange: "ok", staleDelete: "deletes" });
    const queue = make(FIFO);
    await fill(queue, "g1-a");
    const stale = await queue.one({ VisibilityTimeout: 1 });
    clock.advance(SECOND);
    await queue.one();
    await assert.rejects(queue.change(stale.ReceiptHandle, 0), { name: "InvalidParameterValue" });
    await assert.rejects(queue.remove(stale.ReceiptHandle), { name: "InvalidParameterValue" });
    assert.deepEqual(await queue.receive(), []);
  });

  it("SQS-63: a repeated receive with its attempt id gets the same messages and handles, for 5 minutes", async (test) => {
    const { queue: make, clock } = await openSqs(test);
    const queue = make({ ...FIFO, VisibilityTimeout: "600" });
    await fill(queue, "g1-a g1-b");
    const attempt = { ...TEN, ReceiveRequestAttemptId: "one" };
    const first = await queue.receive(attempt);
    assert.equal(first.length, 2);
    assert.deepEqual(await queue.receive(attempt), first);
    assert.deepEqual(await queue.receive({ ...TEN, ReceiveRequestAttemptId: "two" }), []);
    clock.advance(300 * SECOND);
    assert.deepEqual(await queue.receive(attempt), []);
  });

  it("SQS-63: it does not once a visibility was changed", async (test) => {
    const queue = (await openSqs(test)).queue(FIFO);
    await fill(queue, "g1-a g1-b");
    const attempt = { ...TEN, ReceiveRequestAttemptId: "one" };
    const [first] = await queue.receive(attempt);
    await queue.change(first?.ReceiptHandle, 60);
    assert.deepEqual(await queue.receive(attempt), []);
  });

  it("SQS-64: a second send within 5 minutes is swallowed, deleted or not", async (test) => {
    const { queue: make, clock, client } = await openSqs(test);
    const queue = make({ FifoQueue: "true" });
    const send = (body: string) =>
      client.send(
        new SendMessageCommand({
          QueueUrl: queue.url,
          MessageBody: body,
          MessageGroupId: "g",
          MessageDeduplicationId: "same",
        }),
      );
    const first = await send("a");
    await queue.remove((await queue.one()).ReceiptHandle);
    const second = await send("b");
    assert.deepEqual([second.MessageId, second.SequenceNumber], [first.MessageId, first.SequenceNumber]);
    assert.deepEqual(await queue.receive(), []);
    clock.advance(300 * SECOND);
    await send("c");
    assert.equal((await queue.one()).Body, "c");
  });

  it("SQS-64: the scope of an id is the queue, or the group if the queue says so", async (test) => {
    const { queue: make } = await openSqs(test);
    for (const [DeduplicationScope, arrived] of [
      ["queue", 1],
      ["messageGroup", 2],
    ] as const) {
      const queue = make({ FifoQueue: "true", DeduplicationScope });
      for (const MessageGroupId of ["g1", "g2"]) await queue.send("a", { MessageGroupId, MessageDeduplicationId: "d" });
      assert.equal((await queue.receive(TEN)).length, arrived);
    }
  });

  it("refuses a send without group or deduplication id, the whole batch too", async (test) => {
    const { queue: make, client } = await openSqs(test);
    const queue = make({ FifoQueue: "true" });
    await assert.rejects(queue.send("a", { MessageDeduplicationId: "d" }), { name: "MissingParameter" });
    await assert.rejects(queue.send("a", { MessageGroupId: "g" }), { name: "InvalidParameterValue" });
    const whole = { MessageBody: "a", MessageGroupId: "g", MessageDeduplicationId: "d" };
    const batch = client.send(
      new SendMessageBatchCommand({
        QueueUrl: queue.url,
        Entries: [
          { Id: "whole", ...whole },
          { Id: "half", MessageBody: "b", MessageGroupId: "g" },
        ],
      }),
    );
    await assert.rejects(batch, { name: "InvalidParameterValue" });
    assert.deepEqual(await queue.receive(), []);
  });

  it("gives sequence numbers that grow and sort as text", async (test) => {
    const queue = (await openSqs(test)).queue(FIFO);
    await fill(queue, "g1-a g1-b g2-a");
    const messages = await queue.receive({ ...TEN, MessageSystemAttributeNames: ["All"] });
    const numbers = messages.map((message) => message.Attributes?.SequenceNumber ?? "");
    assert.deepEqual(numbers, [...numbers].sort());
    assert.equal(new Set(numbers).size, 3);
    assert.equal(messages[0]?.Attributes?.MessageGroupId, "g1");
    assert.equal(messages[0]?.Attributes?.MessageDeduplicationId?.length, 64);
  });

  it("SQS-53: takes the queue's delay, and none with a message", async (test) => {
    const { queue: make, clock } = await openSqs(test);
    const queue = make({ ...FIFO, DelaySeconds: "2" });
    await assert.rejects(queue.send("x", { MessageGroupId: "g", DelaySeconds: 1 }), { name: "InvalidParameterValue" });
    await fill(queue, "g1-a g1-b");
    assert.deepEqual(await queue.receive(TEN), []);
    clock.advance(2 * SECOND);
    assert.equal(join(await queue.bodies(TEN)), "g1-a g1-b");
  });
});
