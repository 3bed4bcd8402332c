import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  PurgeQueueCommand,
  SetQueueAttributesCommand,
} from "@aws-sdk/client-sqs";
import { openSqs } from "../testing/sqs.ts";

describe("queues", () => {
  it("are made, found and deleted; their URLs are of this server", async (test) => {
    const { client, sqs } = await openSqs(test);
    const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: "jobs" }));
    assert.equal(QueueUrl, `${sqs.endpoint}/000000000000/jobs`);
    assert.match(sqs.endpoint, /^http:\/\/127\.0\.0\.1:\d+$/);
    const find = () => client.send(new GetQueueUrlCommand({ QueueName: "jobs" }));
    assert.equal((await find()).QueueUrl, QueueUrl);
    await client.send(new DeleteQueueCommand({ QueueUrl }));
    await assert.rejects(find(), { name: "QueueDoesNotExist" });
  });

  it("can be made again with the same attributes, not with others", async (test) => {
    const { client } = await openSqs(test);
    const make = (VisibilityTimeout: string) =>
      client.send(new CreateQueueCommand({ QueueName: "jobs", Attributes: { VisibilityTimeout } }));
    const { QueueUrl } = await make("10");
    assert.equal((await make("10")).QueueUrl, QueueUrl);
    await assert.rejects(make("11"), { name: "QueueNameExists", Code: "QueueAlreadyExists" });
  });

  it("have names that say which are FIFO", async (test) => {
    const { client } = await openSqs(test);
    const make = (QueueName: string, Attributes = {}) => client.send(new CreateQueueCommand({ QueueName, Attributes }));
    const fifo = { FifoQueue: "true" };
    for (const name of ["a b", "a.fifo", "x".repeat(81), ""]) {
      await assert.rejects(make(name), { name: "InvalidParameterValue" }, name);
    }
    await assert.rejects(make("a", fifo), { name: "InvalidParameterValue" });
    await make("a.fifo", fifo);
    await assert.rejects(make("b", { ContentBasedDeduplication: "true" }), { name: "InvalidAttributeName" });
  });

  it("are listed by prefix and page", async (test) => {
    const { client, queue } = await openSqs(test);
    for (const name of ["b-1", "a-2", "a-1", "a-3"]) queue({}, name);
    const list = async (input = {}) => {
      const { QueueUrls, NextToken } = await client.send(new ListQueuesCommand(input));
      return { names: QueueUrls?.map((url) => url.split("/").pop()), NextToken };
    };
    assert.deepEqual((await list()).names, ["a-1", "a-2", "a-3", "b-1"]);
    const first = await list({ QueueNamePrefix: "a-", MaxResults: 2 });
    assert.deepEqual(first.names, ["a-1", "a-2"]);
    const second = await list({ QueueNamePrefix: "a-", MaxResults: 2, NextToken: first.NextToken });
    assert.deepEqual(second, { names: ["a-3"], NextToken: undefined });
    assert.equal((await list({ QueueNamePrefix: "c" })).names, undefined);
  });

  it("SQS-43: tell their attributes, those asked for", async (test) => {
    const { client, queue, clock } = await openSqs(test);
    const { url, arn, send, one } = queue({ MaximumMessageSize: "262144" });
    const get = async (...AttributeNames: ("All" | "QueueArn" | "Policy")[]) =>
      (await client.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames }))).Attributes;
    await send("held");
    await one();
    await send("waiting");
    await send("delayed", { DelaySeconds: 1 });
    const createdAt = String(Math.floor(clock.now() / 1_000));
    assert.deepEqual(await get("All"), {
      QueueArn: arn,
      CreatedTimestamp: createdAt,
      LastModifiedTimestamp: createdAt,
      ApproximateNumberOfMessages: "1",
      ApproximateNumberOfMessagesNotVisible: "1",
      ApproximateNumberOfMessagesDelayed: "1",
      DelaySeconds: "0",
      MaximumMessageSize: "262144",
      MessageRetentionPeriod: "345600",
      ReceiveMessageWaitTimeSeconds: "0",
      VisibilityTimeout: "30",
    });
    assert.deepEqual(await get("QueueArn"), { QueueArn: arn });
    assert.equal(await get("Policy"), undefined);
    assert.equal(await get(), undefined);
  });

  it("take new attributes, and refuse what they do not know", async (test) => {
    const { client, queue, clock } = await openSqs(test);
    const { url, send, one, attribute } = queue();
    const set = (Attributes: Record<string, string>) =>
      client.send(new SetQueueAttributesCommand({ QueueUrl: url, Attributes }));
    await set({ VisibilityTimeout: "7" });
    await send("a");
    await one();
    clock.advance(7_000);
    await one();
    await set({ Policy: "{}" });
    assert.equal(await attribute("Policy"), "{}");
    await set({ Policy: "" });
    assert.equal(await attribute("Policy"), undefined);
    await assert.rejects(set({ Colour: "red" }), { name: "InvalidAttributeName" });
    for (const [name, value] of [
      ["VisibilityTimeout", "43201"],
      ["DelaySeconds", "901"],
      ["MaximumMessageSize", "1023"],
      ["MessageRetentionPeriod", "59"],
      ["ReceiveMessageWaitTimeSeconds", "x"],
      ["FifoQueue", "true"],
    ] as const) {
      await assert.rejects(set({ [name]: value }), { name: "InvalidAttributeValue" }, name);
    }
  });

  it("are purged of everything, once a minute", async (test) => {
    const { client, queue, clock } = await openSqs(test);
    const { url, send, one, receive, change } = queue();
    await send("a");
    const { ReceiptHandle } = await one();
    await send("b");
    const purge = () => client.send(new PurgeQueueCommand({ QueueUrl: url }));
    await purge();
    assert.deepEqual(await receive(), []);
    await assert.rejects(change(ReceiptHandle, 0), { name: "InvalidParameterValue" });
    await assert.rejects(purge(), { name: "PurgeQueueInProgress" });
    clock.advance(60_000);
    await purge();
  });
});
