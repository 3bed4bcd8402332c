import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  MessageNotInflight,
  ReceiptHandleIsInvalid,
  ReceiveMessageCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { openSqs } from "../testing/sqs.ts";

interface SdkError extends Error {
  readonly Code?: string;
  readonly $metadata: { readonly attempts: number; readonly httpStatusCode: number };
}

async function errorOf(call: Promise<unknown>): Promise<SdkError> {
  try {
    await call;
  } catch (error) {
    return error as SdkError;
  }
  throw new assert.AssertionError({ message: "the call was expected to fail" });
}

describe("errors as the vendor's client shows them", () => {
  it("SQS-20, SQS-28: an expired FIFO handle is InvalidParameterValue, of no exported class", async (test) => {
    const { queue, clock } = await openSqs(test, {}, { maxAttempts: 3 });
    const { send, one, remove } = queue({ FifoQueue: "true", ContentBasedDeduplication: "true" });
    await send("a", { MessageGroupId: "g" });
    const { ReceiptHandle } = await one({ VisibilityTimeout: 1 });
    clock.advance(1_000);
    const error = await errorOf(remove(ReceiptHandle));
    assert.deepEqual([error.name, error.Code], ["InvalidParameterValue", "InvalidParameterValue"]);
    assert.equal(error.constructor.name, "SQSServiceException");
    assert.deepEqual([error.$metadata.httpStatusCode, error.$metadata.attempts], [400, 1]);
  });

  it("SQS-21: without the query header it has another name and no code", async (test) => {
    const { queue } = await openSqs(test, { omitQueryError: true });
    const error = await errorOf(queue().receive({ MaxNumberOfMessages: 11 }));
    assert.deepEqual([error.name, error.Code], ["InvalidParameterValueException", undefined]);
  });

  it("SQS-22: a malformed handle", async (test) => {
    const { queue } = await openSqs(test);
    const error = await errorOf(queue().remove("garbage"));
    assert.ok(error instanceof ReceiptHandleIsInvalid);
    assert.deepEqual([error.name, error.$metadata.httpStatusCode], ["ReceiptHandleIsInvalid", 404]);
  });

  for (const omitQueryError of [false, true]) {
    it(`SQS-23: not in flight, the query header ${omitQueryError ? "left out" : "sent"}`, async (test) => {
      const { queue } = await openSqs(test, { staleChange: "not-in-flight", omitQueryError });
      const { send, one, change } = queue();
      await send("a");
      const { ReceiptHandle } = await one({ VisibilityTimeout: 0 });
      const error = await errorOf(change(ReceiptHandle, 10));
      assert.ok(error instanceof MessageNotInflight);
      assert.equal(error.name, "MessageNotInflight");
      assert.equal(error.Code, omitQueryError ? undefined : "AWS.SimpleQueueService.MessageNotInflight");
    });
  }

  it("SQS-24: no such queue", async (test) => {
    const { client, sqs } = await openSqs(test);
    const command = new ReceiveMessageCommand({ QueueUrl: `${sqs.endpoint}/000000000000/none` });
    const error = await errorOf(client.send(command));
    assert.deepEqual([error.name, error.Code], ["QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"]);
  });

  it("SQS-25: a throttle is tried three times", async (test) => {
    const { queue, sqs } = await openSqs(test, {}, { maxAttempts: 3 });
    const { receive } = queue();
    sqs.faults.add({
      operation: "ReceiveMessage",
      error: { code: "RequestThrottled" },
      times: Number.POSITIVE_INFINITY,
    });
    const error = await errorOf(receive());
    assert.deepEqual([error.name, error.$metadata.attempts], ["RequestThrottled", 3]);
    assert.equal(sqs.calls.of("ReceiveMessage").calls, 3);
  });

  it("SQS-26: the in-flight limit is not retried", async (test) => {
    const { queue, sqs } = await openSqs(test, { inFlightLimit: 1 }, { maxAttempts: 3 });
    const { send, one, receive } = queue();
    await send("a");
    await one();
    const error = await errorOf(receive());
    assert.deepEqual([error.name, error.$metadata.attempts], ["OverLimit", 1]);
    assert.equal(sqs.calls.of("ReceiveMessage").calls, 2);
  });

  it("SQS-27: a 500 is retried, also for a receive whose leases nobody holds then", async (test) => {
    const { queue, sqs } = await openSqs(test, {}, { maxAttempts: 3 });
    const { send, one } = queue();
    for (const body of ["a", "b", "c"]) await send(body);
    sqs.faults.add({ operation: "ReceiveMessage", error: { code: "InternalFailure" } });
    sqs.faults.add({ operation: "ReceiveMessage", nth: 2, drop: "after" });
    assert.equal((await one()).Body, "b");
    assert.equal(sqs.calls.of("ReceiveMessage").calls, 3);
  });

  it("SQS-29: an empty receive has no list at all", async (test) => {
    const { queue, client } = await openSqs(test);
    const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl: queue().url }));
    assert.equal(Messages, undefined);
  });

  it("SQS-30: one wrong MD5 makes the whole receive throw, unless the check is off", async (test) => {
    const { queue, sqs, clock } = await openSqs(test);
    const { send, receive, url } = queue();
    const bad = await send("bad");
    await send("good");
    assert.ok(sqs.acts(url).corrupt(bad));
    const both = { MaxNumberOfMessages: 10, VisibilityTimeout: 1 };
    await assert.rejects(receive(both), /MD5/);
    assert.deepEqual(await receive(both), []);
    clock.advance(1_000);
    assert.equal((await receive(both)).length, 2);
    const unchecked = await openSqs(test, {}, { md5: false });
    const second = unchecked.queue();
    assert.ok(unchecked.sqs.acts(second.url).corrupt(await second.send("bad")));
    assert.equal((await second.one()).MD5OfBody, "0".repeat(32));
  });

  it("says that an operation is unknown, and that a body is no JSON", async (test) => {
    const { sqs, queue } = await openSqs(test);
    const { url } = queue();
    const post = async (target: string, body: string) => {
      const response = await fetch(sqs.endpoint, { method: "POST", headers: { "x-amz-target": target }, body });
      return [response.status, ((await response.json()) as { readonly __type: string }).__type.split("#")[1]];
    };
    assert.deepEqual(await post("AmazonSQS.TagQueue", "{}"), [400, "UnknownOperationException"]);
    assert.deepEqual(await post("Other.ListQueues", "{}"), [400, "UnknownOperationException"]);
    assert.deepEqual(await post("AmazonSQS.ListQueues", "{"), [400, "SerializationException"]);
    const wrongType = JSON.stringify({ QueueUrl: url, MaxNumberOfMessages: "1" });
    assert.deepEqual(await post("AmazonSQS.ReceiveMessage", wrongType), [400, "SerializationException"]);
  });

  it("names the parameter that is missing", async (test) => {
    const { client, queue } = await openSqs(test);
    const command = new SendMessageCommand({ QueueUrl: queue().url, MessageBody: undefined });
    await assert.rejects(client.send(command), { name: "MissingParameter", message: /MessageBody/ });
  });
});
