import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ListQueuesCommand, SendMessageBatchCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { Call } from "../calls.ts";
import { credentials, openSqs, until } from "../testing/sqs.ts";

describe("faults at the front", () => {
  it("drops a connection before a call is applied, or after", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const { send, bodies } = queue();
    sqs.faults.add({ operation: "SendMessage", drop: "before" });
    await assert.rejects(send("before"));
    sqs.faults.add({ operation: "SendMessage", drop: "after" });
    await assert.rejects(send("after"));
    await send("whole");
    assert.deepEqual(await bodies({ MaxNumberOfMessages: 10 }), ["after", "whole"]);
  });

  it("lets a call hang, applied or not", async (test) => {
    const { queue, sqs, client } = await openSqs(test);
    const { url, bodies } = queue();
    for (const hang of ["before", "after"] as const) {
      const fault = sqs.faults.add({ operation: "SendMessage", hang });
      const abort = new AbortController();
      const command = new SendMessageCommand({ QueueUrl: url, MessageBody: hang });
      const call = client.send(command, { abortSignal: abort.signal });
      await until(() => fault.hits() === 1);
      abort.abort();
      await assert.rejects(call, { name: "AbortError" });
    }
    assert.deepEqual(await bodies({ MaxNumberOfMessages: 10 }), ["after"]);
  });

  it("answers an error for the n-th calls of an operation, and applies nothing", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const { send, bodies } = queue();
    const error = { code: "InternalFailure", message: "the disk is full" };
    const fault = sqs.faults.add({ operation: "SendMessage", nth: 2, times: 2, error });
    await send("1");
    await bodies({ VisibilityTimeout: 0 });
    for (const body of ["2", "3"]) {
      await assert.rejects(send(body), { name: "InternalFailure", message: "the disk is full", $fault: "server" });
    }
    await send("4");
    assert.equal(fault.hits(), 2);
    assert.deepEqual(await bodies({ MaxNumberOfMessages: 10 }), ["1", "4"]);
  });

  it("looks at a call before it hits, takes rules at the start, and forgets them", async (test) => {
    const error = { code: "RequestThrottled" };
    const when = (call: Call) => call.input?.["MessageBody"] === "bad";
    const { queue, sqs } = await openSqs(test, { faults: [{ when, times: Number.POSITIVE_INFINITY, error }] });
    const { send } = queue();
    await send("good");
    await assert.rejects(send("bad"), { name: "RequestThrottled" });
    const fault = sqs.faults.add({ error: { code: "Odd", status: 418 } });
    fault.remove();
    sqs.faults.clear();
    await send("bad");
    assert.equal(fault.hits(), 0);
  });

  it("delays a request before it is applied, an answer after", async (test) => {
    const { queue, sqs, clock } = await openSqs(test);
    const { send, attribute } = queue();
    const count = () => attribute("ApproximateNumberOfMessages");
    const slow = sqs.faults.add({ operation: "SendMessage", delayMs: 100 });
    const late = sqs.faults.add({ operation: "SendMessage", nth: 2, answerDelayMs: 100 });
    const first = send("a");
    await until(() => slow.hits() === 1);
    clock.advance(99);
    assert.equal(await count(), "0");
    clock.advance(1);
    await first;
    const second = send("b");
    await until(() => late.hits() === 1);
    assert.equal(await count(), "2");
    assert.equal(sqs.calls.of("SendMessage").open, 1);
    clock.advance(100);
    await second;
  });

  it("has a latency for every call, which can be changed", async (test) => {
    const { queue, sqs, clock } = await openSqs(test, { latencyMs: 5 });
    const { send } = queue();
    const sent = send("a");
    await until(() => sqs.calls.of("SendMessage").open === 1);
    clock.advance(4);
    assert.equal(sqs.calls.of("SendMessage").open, 1);
    clock.advance(1);
    await sent;
    sqs.faults.latencyMs = 0;
    await send("b");
  });
});

describe("counters", () => {
  it("count calls and entries by operation, dropped ones too", async (test) => {
    const seen: string[] = [];
    const { queue, sqs, client } = await openSqs(test, { onCall: ({ operation }) => seen.push(operation) });
    const { send, url } = queue();
    const Entries = ["a", "b", "c"].map((body) => ({ Id: body, MessageBody: body }));
    await client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    sqs.faults.add({ drop: "before" });
    await assert.rejects(send("d"));
    await send("e");
    assert.deepEqual(sqs.calls.all(), {
      SendMessageBatch: { calls: 1, entries: 3, open: 0 },
      SendMessage: { calls: 2, entries: 2, open: 0 },
    });
    assert.equal(sqs.calls.total(), 3);
    assert.deepEqual(seen, ["SendMessageBatch", "SendMessage", "SendMessage"]);
    sqs.calls.reset();
    assert.deepEqual(sqs.calls.of("SendMessage"), { calls: 0, entries: 0, open: 0 });
    assert.deepEqual(sqs.calls.of("Never"), { calls: 0, entries: 0, open: 0 });
  });
});

describe("access", () => {
  it("refuses any access key but the one that it was given", async (test) => {
    const { sqs, client } = await openSqs(test, { accessKeyId: credentials.accessKeyId });
    await client.send(new ListQueuesCommand({}));
    const config = { endpoint: sqs.endpoint, region: "us-east-1", maxAttempts: 1 };
    const stranger = new SQSClient({ ...config, credentials: { accessKeyId: "wrong", secretAccessKey: "secret" } });
    test.after(() => stranger.destroy());
    await assert.rejects(stranger.send(new ListQueuesCommand({})), (error: Error & { $response?: object }) => {
      assert.equal(error.name, "InvalidClientTokenId");
      assert.equal((error as unknown as { $metadata: { httpStatusCode: number } }).$metadata.httpStatusCode, 403);
      return true;
    });
    const unsigned = await fetch(sqs.endpoint, { method: "POST", headers: { "x-amz-target": "AmazonSQS.ListQueues" } });
    assert.equal(unsigned.status, 403);
  });
});

describe("the server", () => {
  it("cannot be reached while it is paused; then it has the same port and the same messages", async (test) => {
    const { queue, sqs, clock } = await openSqs(test);
    const { send, receive, one } = queue();
    await send("a");
    const held = await one({ VisibilityTimeout: 10 });
    const poll = receive({ WaitTimeSeconds: 20 });
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    await sqs.pause();
    await assert.rejects(poll);
    await assert.rejects(send("b"), { code: "ECONNREFUSED" });
    clock.advance(10_000);
    await sqs.resume();
    await sqs.resume();
    assert.equal((await one()).MessageId, held.MessageId);
  });

  it("can be stopped twice, with long polls open", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const poll = queue().receive({ WaitTimeSeconds: 20 });
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    // The answer and the end of the connection race; either is an end.
    const ended = poll.then(
      (messages) => assert.deepEqual(messages, []),
      (error: unknown) => assert.ok(error instanceof Error),
    );
    await sqs.stop();
    await ended;
    await sqs.stop();
    await assert.rejects(fetch(sqs.endpoint));
  });

  it("takes the port that it is told, and says so when it is not free", async (test) => {
    const { sqs } = await openSqs(test);
    const port = Number(new URL(sqs.endpoint).port);
    await assert.rejects(openSqs(test, { port }), { code: "EADDRINUSE" });
    await sqs.stop();
    const { sqs: second } = await openSqs(test, { port });
    assert.equal(second.endpoint, sqs.endpoint);
  });

  it("can have a Date that is off, for checks of skew", async (test) => {
    const { sqs } = await openSqs(test, { dateSkewMs: -600_000 });
    const response = await fetch(sqs.endpoint);
    const skewMs = Date.parse(response.headers.get("date") ?? "") - Date.now();
    assert.ok(Math.abs(skewMs + 600_000) < 60_000, `${skewMs} ms`);
  });
});
