import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import { openSqs, until } from "../testing/sqs.ts";

const SECOND = 1_000;

describe("delays, long polls, the in-flight limit", () => {
  it("SQS-53: a message waits for its delay, or for its queue's; 900 s at most", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, receive, bodies, attribute } = queue({ DelaySeconds: "10" });
    await send("own", { DelaySeconds: 900 });
    await send("none", { DelaySeconds: 0 });
    await send("queue's");
    assert.equal(await attribute("ApproximateNumberOfMessagesDelayed"), "2");
    assert.deepEqual(await bodies(), ["none"]);
    clock.advance(10 * SECOND - 1);
    assert.deepEqual(await receive(), []);
    clock.advance(1);
    assert.deepEqual(await bodies(), ["queue's"]);
    clock.advance(890 * SECOND);
    assert.deepEqual(await bodies({ MaxNumberOfMessages: 10, VisibilityTimeout: 0 }), ["none", "queue's", "own"]);
    await assert.rejects(send("x", { DelaySeconds: 901 }), { name: "InvalidParameterValue" });
  });

  it("a long poll gets what is sent meanwhile, a whole batch at once", async (test) => {
    const { queue, client, sqs } = await openSqs(test);
    const { url, bodies } = queue();
    const poll = bodies({ WaitTimeSeconds: 20, MaxNumberOfMessages: 10 });
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    const Entries = ["a", "b"].map((body) => ({ Id: body, MessageBody: body }));
    await client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    assert.deepEqual(await poll, ["a", "b"]);
  });

  it("a long poll ends empty when its time is over, not sooner", async (test) => {
    const { queue, sqs, clock } = await openSqs(test);
    const { receive } = queue({ ReceiveMessageWaitTimeSeconds: "10" });
    const poll = receive();
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    clock.advance(10 * SECOND - 1);
    assert.deepEqual(await receive({ WaitTimeSeconds: 0 }), []);
    assert.equal(sqs.calls.of("ReceiveMessage").open, 1);
    clock.advance(1);
    assert.deepEqual(await poll, []);
  });

  it("long polls are served in their order, and one that gets nothing waits on", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const { bodies, send } = queue();
    const wait = { WaitTimeSeconds: 20 };
    const first = bodies(wait);
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    const second = bodies(wait);
    await until(() => sqs.calls.of("ReceiveMessage").open === 2);
    await send("a");
    assert.deepEqual(await first, ["a"]);
    assert.equal(sqs.calls.of("ReceiveMessage").open, 1);
    await send("b");
    assert.deepEqual(await second, ["b"]);
  });

  it("a long poll gets what becomes visible: an expired lease, a delay, a release", async (test) => {
    const { queue, sqs, clock } = await openSqs(test);
    const { one, send, change } = queue();
    const open = () => until(() => sqs.calls.of("ReceiveMessage").open === 1);
    const wait = { WaitTimeSeconds: 20 };
    await send("a", { DelaySeconds: 5 });
    const delayed = one(wait);
    await open();
    clock.advance(5 * SECOND);
    await delayed;
    clock.advance(20 * SECOND);
    const lapsed = one(wait);
    await open();
    clock.advance(10 * SECOND);
    const { ReceiptHandle } = await lapsed;
    const released = one(wait);
    await open();
    await change(ReceiptHandle, 0);
    await released;
  });

  it("a long poll wakes for the message that is visible first, not for the one it saw first", async (test) => {
    const { queue, sqs, clock } = await openSqs(test);
    const { one, send } = queue();
    await send("later", { DelaySeconds: 15 });
    const poll = one({ WaitTimeSeconds: 20 });
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    await send("sooner", { DelaySeconds: 5 });
    clock.advance(5 * SECOND);
    assert.equal((await poll).Body, "sooner");
    assert.equal(sqs.calls.of("ReceiveMessage").open, 0);
  });

  it("a dead letter reaches a long poll of the dead-letter queue", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const dead = queue();
    const policy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 1 });
    const main = queue({ RedrivePolicy: policy });
    await main.send("a");
    await main.one({ VisibilityTimeout: 0 });
    const poll = dead.one({ WaitTimeSeconds: 20 });
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    assert.deepEqual(await main.receive(), []);
    assert.equal((await poll).Body, "a");
  });

  it("SQS-70: the limit is an error for a short poll of a standard queue, silence for every other receive", async (test) => {
    const { queue, sqs, clock } = await openSqs(test, { inFlightLimit: 2 });
    const standard = queue();
    for (const body of ["a", "b", "c"]) await standard.send(body);
    const held = await standard.receive({ MaxNumberOfMessages: 10 });
    assert.equal(held.length, 2);
    await assert.rejects(standard.receive(), { name: "OverLimit" });
    const poll = standard.receive({ WaitTimeSeconds: 5 });
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    clock.advance(5 * SECOND);
    assert.deepEqual(await poll, []);
    const second = standard.bodies({ WaitTimeSeconds: 5 });
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    await standard.remove(held[0]?.ReceiptHandle);
    assert.deepEqual(await second, ["c"]);
    const fifo = queue({ FifoQueue: "true", ContentBasedDeduplication: "true" });
    for (const group of ["g1", "g2", "g3"]) await fifo.send(group, { MessageGroupId: group });
    assert.equal((await fifo.receive({ MaxNumberOfMessages: 10 })).length, 2);
    assert.deepEqual(await fifo.receive(), []);
  });

  it("SQS-73: aborting a long poll before anything came leases nothing", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const { url, send, one } = queue();
    const abort = new AbortController();
    const body = JSON.stringify({ QueueUrl: url, WaitTimeSeconds: 20 });
    const headers = { "x-amz-target": "AmazonSQS.ReceiveMessage" };
    const poll = fetch(sqs.endpoint, { method: "POST", headers, body, signal: abort.signal });
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    abort.abort();
    await assert.rejects(poll, { name: "AbortError" });
    await until(() => sqs.calls.of("ReceiveMessage").open === 0);
    await send("a");
    await one();
  });

  it("SQS-73: so does aborting one on its way", async (test) => {
    const { queue, sqs, clock } = await openSqs(test);
    const { url, send, one } = queue();
    const abort = new AbortController();
    sqs.faults.add({ operation: "ReceiveMessage", delayMs: 100 });
    const body = JSON.stringify({ QueueUrl: url, WaitTimeSeconds: 20 });
    const headers = { "x-amz-target": "AmazonSQS.ReceiveMessage" };
    const poll = fetch(sqs.endpoint, { method: "POST", headers, body, signal: abort.signal });
    await until(() => sqs.calls.of("ReceiveMessage").open === 1);
    abort.abort();
    await assert.rejects(poll, { name: "AbortError" });
    await until(() => sqs.calls.of("ReceiveMessage").open === 0);
    clock.advance(100);
    await send("a");
    await one();
  });

  it("SQS-73: leases of an answer that nobody got stay until they expire", async (test) => {
    const { queue, sqs, clock } = await openSqs(test);
    const { send, receive, one } = queue();
    await send("a");
    sqs.faults.add({ operation: "ReceiveMessage", drop: "after" });
    await assert.rejects(receive({ VisibilityTimeout: 10 }));
    assert.deepEqual(await receive(), []);
    clock.advance(10 * SECOND);
    await one();
  });

  it("SQS-80: a group id on a standard queue orders and locks nothing", async (test) => {
    const { queue } = await openSqs(test);
    const { send, one } = queue();
    for (const body of ["a", "b"]) await send(body, { MessageGroupId: "tenant" });
    await one();
    const second = await one({ MessageSystemAttributeNames: ["MessageGroupId", "SequenceNumber"] });
    assert.equal(second.Body, "b");
    assert.deepEqual(second.Attributes, { MessageGroupId: "tenant" });
    await assert.rejects(send("c", { MessageDeduplicationId: "d" }), { name: "InvalidParameterValue" });
  });

  it("ends a lease or a delay on request", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const { send, one, receive, url } = queue();
    const acts = sqs.acts(url);
    const id = await send("a", { DelaySeconds: 900 });
    assert.ok(acts.expire(id));
    await one();
    assert.ok(acts.expire(id));
    assert.equal(acts.expire(id), false);
    await one();
    assert.deepEqual(acts.messageIds(), [id]);
    assert.deepEqual(acts.counts(), { visible: 0, inFlight: 1, delayed: 0 });
    assert.ok(acts.lose(id));
    assert.equal(acts.lose(id), false);
    assert.deepEqual(await receive(), []);
  });
});
