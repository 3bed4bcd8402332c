import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CancelMessageMoveTaskCommand,
  ListDeadLetterSourceQueuesCommand,
  ListMessageMoveTasksCommand,
  SetQueueAttributesCommand,
  StartMessageMoveTaskCommand,
} from "@aws-sdk/client-sqs";
import { type Fixture, openSqs, type QueueFixture } from "../testing/sqs.ts";

const ALL = { MessageSystemAttributeNames: ["All" as const] };
const AT_ONCE = { VisibilityTimeout: 0 };

const policyOf = (dead: QueueFixture, maxReceiveCount: number): Record<string, string> => ({
  RedrivePolicy: JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount }),
});

/** A queue whose messages are dead-lettered after `maxReceiveCount` receives. */
function withDeadLetters({ queue }: Fixture, maxReceiveCount = 1): { main: QueueFixture; dead: QueueFixture } {
  const dead = queue();
  return { dead, main: queue(policyOf(dead, maxReceiveCount)) };
}

describe("attempts and dead letters", () => {
  it("SQS-50: the first receive counts 1; counts are texts and come when asked for", async (test) => {
    const fixture = await openSqs(test);
    const { send, one } = fixture.queue();
    const sentAt = Math.floor(fixture.clock.now());
    await send("a");
    fixture.clock.advance(5);
    assert.deepEqual((await one({ ...AT_ONCE, ...ALL })).Attributes, {
      SenderId: "AIDAEMULATOR",
      SentTimestamp: String(sentAt),
      ApproximateReceiveCount: "1",
      ApproximateFirstReceiveTimestamp: String(sentAt + 5),
    });
    fixture.clock.advance(5);
    const times = { MessageSystemAttributeNames: ["ApproximateFirstReceiveTimestamp" as const] };
    const { Attributes } = await one({ ...AT_ONCE, ...times });
    assert.deepEqual(Attributes, { ApproximateFirstReceiveTimestamp: String(sentAt + 5) });
    const count = { MessageSystemAttributeNames: ["ApproximateReceiveCount" as const] };
    assert.deepEqual((await one({ ...AT_ONCE, ...count })).Attributes, { ApproximateReceiveCount: "3" });
    // The older parameter still works.
    assert.equal((await one({ ...AT_ONCE, AttributeNames: ["All"] })).Attributes?.ApproximateReceiveCount, "4");
    assert.equal((await one(AT_ONCE)).Attributes, undefined);
  });

  it("SQS-51: a receive whose answer is lost counts", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const { send, receive, one } = queue();
    await send("a");
    sqs.faults.add({ operation: "ReceiveMessage", drop: "after" });
    await assert.rejects(receive(AT_ONCE));
    assert.equal((await one(ALL)).Attributes?.ApproximateReceiveCount, "2");
  });

  it("SQS-51, SQS-54: dead-lettered by the next receive after the limit, with its id, count and source", async (test) => {
    const fixture = await openSqs(test);
    const { main, dead } = withDeadLetters(fixture, 2);
    const id = await main.send("a", { MessageAttributes: { k: { DataType: "String", StringValue: "v" } } });
    await main.one(AT_ONCE);
    await main.one(AT_ONCE);
    assert.equal(await dead.attribute("ApproximateNumberOfMessages"), "0");
    assert.deepEqual(await main.receive(), []);
    const message = await dead.one({ ...ALL, MessageAttributeNames: ["All"] });
    assert.equal(message.MessageId, id);
    assert.equal(message.Attributes?.ApproximateReceiveCount, "3");
    assert.equal(message.Attributes?.DeadLetterQueueSourceArn, main.arn);
    assert.equal(message.MessageAttributes?.["k"]?.StringValue, "v");
  });

  it("SQS-52: a release counts as an attempt, because the receive did", async (test) => {
    const { main, dead } = withDeadLetters(await openSqs(test), 1);
    await main.send("a");
    await main.change((await main.one()).ReceiptHandle, 0);
    assert.deepEqual(await main.receive(), []);
    assert.equal((await dead.one()).Body, "a");
  });

  it("SQS-54: on a FIFO queue the group goes on behind a dead letter", async (test) => {
    const { queue } = await openSqs(test);
    const fifo = { FifoQueue: "true", ContentBasedDeduplication: "true" };
    const dead = queue(fifo);
    const main = queue({ ...fifo, ...policyOf(dead, 2) });
    for (const body of ["a", "b"]) await main.send(body, { MessageGroupId: "g" });
    for (let count = 1; count <= 2; count++) assert.equal((await main.one(AT_ONCE)).Body, "a");
    assert.deepEqual(await main.bodies({ MaxNumberOfMessages: 10, ...AT_ONCE }), ["b"]);
    assert.deepEqual(await dead.bodies({ MaxNumberOfMessages: 10 }), ["a"]);
  });

  it("does without the policy when its target is gone, and by hand moves what nobody asked for", async (test) => {
    const fixture = await openSqs(test);
    const { main, dead } = withDeadLetters(fixture, 1);
    const id = await main.send("a");
    const { ReceiptHandle } = await main.one();
    assert.ok(fixture.sqs.acts(main.url).deadLetterByCount(id));
    await main.remove(ReceiptHandle);
    assert.equal((await dead.one()).MessageId, id);
    assert.equal(fixture.sqs.acts(dead.url).deadLetterByCount(id), false);
  });

  it("checks a redrive policy, and lists the sources of a dead-letter queue", async (test) => {
    const { queue, client } = await openSqs(test);
    const [dead, fifo, main] = [queue(), queue({ FifoQueue: "true" }), queue()];
    const set = (policy: unknown) =>
      client.send(
        new SetQueueAttributesCommand({ QueueUrl: main.url, Attributes: { RedrivePolicy: JSON.stringify(policy) } }),
      );
    for (const policy of [
      { deadLetterTargetArn: dead.arn },
      { maxReceiveCount: 1 },
      { deadLetterTargetArn: dead.arn, maxReceiveCount: "many" },
      { deadLetterTargetArn: `${dead.arn}-none`, maxReceiveCount: 1 },
      { deadLetterTargetArn: fifo.arn, maxReceiveCount: 1 },
      "no map",
    ]) {
      await assert.rejects(set(policy), { name: "InvalidParameterValue" }, JSON.stringify(policy));
    }
    await set({ deadLetterTargetArn: dead.arn, maxReceiveCount: "3" });
    const { queueUrls } = await client.send(new ListDeadLetterSourceQueuesCommand({ QueueUrl: dead.url }));
    assert.deepEqual(queueUrls, [main.url]);
  });

  it("SQS-56: a move task empties a dead-letter queue; what it moves is new", async (test) => {
    const fixture = await openSqs(test);
    const { main, dead } = withDeadLetters(fixture);
    const id = await main.send("a");
    await main.one(AT_ONCE);
    await main.receive();
    const { TaskHandle } = await fixture.client.send(new StartMessageMoveTaskCommand({ SourceArn: dead.arn }));
    assert.ok(TaskHandle);
    const moved = await main.one(ALL);
    assert.notEqual(moved.MessageId, id);
    assert.equal(moved.Attributes?.ApproximateReceiveCount, "1");
    assert.equal(moved.Attributes?.DeadLetterQueueSourceArn, undefined);
    const { Results } = await fixture.client.send(new ListMessageMoveTasksCommand({ SourceArn: dead.arn }));
    assert.deepEqual(
      Results?.map(({ Status, ApproximateNumberOfMessagesMoved }) => [Status, ApproximateNumberOfMessagesMoved]),
      [["COMPLETED", 1]],
    );
  });

  it("SQS-56: a task keeps its rate, can be cancelled, and fails when there is nowhere to move to", async (test) => {
    const fixture = await openSqs(test);
    const { main, dead } = withDeadLetters(fixture);
    const { client, clock, sqs } = fixture;
    for (const body of ["a", "b", "c", "d"]) assert.ok(sqs.acts(main.url).deadLetterByCount(await main.send(body)));
    await dead.send("sent here");
    const start = (more = {}) => client.send(new StartMessageMoveTaskCommand({ SourceArn: dead.arn, ...more }));
    const list = async () => {
      const { Results } = await client.send(new ListMessageMoveTasksCommand({ SourceArn: dead.arn, MaxResults: 10 }));
      return Results?.map((task) => [task.Status, task.ApproximateNumberOfMessagesMoved, task.FailureReason]);
    };
    const { TaskHandle } = await start({ MaxNumberOfMessagesPerSecond: 1 });
    await assert.rejects(start(), { name: "InvalidParameterValue", message: /already a task running/ });
    clock.advance(1_000);
    assert.deepEqual(await list(), [["RUNNING", 2, undefined]]);
    const cancel = () => client.send(new CancelMessageMoveTaskCommand({ TaskHandle }));
    assert.equal((await cancel()).ApproximateNumberOfMessagesMoved, 2);
    await assert.rejects(cancel(), { name: "ResourceNotFoundException" });
    clock.advance(10_000);
    await start();
    assert.deepEqual(await list(), [
      ["FAILED", 2, "CouldNotDetermineMessageSource"],
      ["CANCELLED", 2, undefined],
    ]);
    await start({ DestinationArn: main.arn });
    assert.equal((await main.receive({ MaxNumberOfMessages: 10 })).length, 5);
  });

  it("SQS-56: refuses a source that is no dead-letter queue", async (test) => {
    const { queue, client } = await openSqs(test);
    const { arn } = queue();
    const start = (SourceArn: string) => client.send(new StartMessageMoveTaskCommand({ SourceArn }));
    await assert.rejects(start(arn), { name: "InvalidParameterValue" });
    await assert.rejects(start(`${arn}-none`), { name: "ResourceNotFoundException" });
    await assert.rejects(client.send(new CancelMessageMoveTaskCommand({ TaskHandle: "none" })), {
      name: "InvalidParameterValue",
    });
  });
});
