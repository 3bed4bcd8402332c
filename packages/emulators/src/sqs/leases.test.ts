import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openSqs } from "../testing/sqs.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

describe("leases of a standard queue", () => {
  it("SQS-01: each receive has a handle of its own", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, one } = queue();
    await send("a");
    const first = await one({ VisibilityTimeout: 1 });
    clock.advance(SECOND);
    const second = await one();
    assert.equal(second.MessageId, first.MessageId);
    assert.notEqual(second.ReceiptHandle, first.ReceiptHandle);
  });

  it("SQS-02: the receive says how long a lease is, else the queue; outside of 0 to 43200 s it is refused", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, one, receive } = queue({ VisibilityTimeout: "5" });
    await send("a");
    await one();
    clock.advance(5 * SECOND - 1);
    assert.deepEqual(await receive(), []);
    clock.advance(1);
    await one({ VisibilityTimeout: 43_200 });
    clock.advance(12 * HOUR - 1);
    assert.deepEqual(await receive(), []);
    clock.advance(1);
    await one();
    await assert.rejects(receive({ VisibilityTimeout: 43_201 }), { name: "InvalidParameterValue" });
  });

  it("SQS-02: the default lease is 30 s, and one of 0 s is over at once", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, one, receive, attribute } = queue();
    assert.equal(await attribute("VisibilityTimeout"), "30");
    await send("a");
    await one({ VisibilityTimeout: 0 });
    await one();
    clock.advance(30 * SECOND - 1);
    assert.deepEqual(await receive(), []);
    clock.advance(1);
    await one();
  });

  it("SQS-03: the leases of one receive end at the same instant", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, bodies } = queue();
    for (const body of ["a", "b", "c"]) await send(body);
    assert.deepEqual(await bodies({ MaxNumberOfMessages: 10, VisibilityTimeout: 10 }), ["a", "b", "c"]);
    clock.advance(10 * SECOND - 1);
    assert.deepEqual(await bodies({ MaxNumberOfMessages: 10 }), []);
    clock.advance(1);
    assert.deepEqual(await bodies({ MaxNumberOfMessages: 10 }), ["a", "b", "c"]);
  });

  it("SQS-04: a change counts from the call, and the next receive knows nothing of it", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, one, receive, change } = queue({ VisibilityTimeout: "10" });
    await send("a");
    const { ReceiptHandle } = await one();
    clock.advance(4 * SECOND);
    await change(ReceiptHandle, 20);
    clock.advance(20 * SECOND - 1);
    assert.deepEqual(await receive(), []);
    clock.advance(1);
    await one();
    clock.advance(10 * SECOND);
    await one();
  });

  it("SQS-04: a change to 0 gives the message back at once", async (test) => {
    const { queue } = await openSqs(test);
    const { send, one, change } = queue();
    await send("a");
    await change((await one()).ReceiptHandle, 0);
    await one();
  });

  it("SQS-05: past 12 h from the receive a change is refused, and the lease stays as it was", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, one, receive, change } = queue();
    await send("a");
    const { ReceiptHandle } = await one({ VisibilityTimeout: 100 });
    clock.advance(1);
    await assert.rejects(change(ReceiptHandle, 43_200), { name: "InvalidParameterValue", message: /43200 seconds/ });
    clock.advance(100 * SECOND - 2);
    assert.deepEqual(await receive(), []);
    await change(ReceiptHandle, 43_100);
    clock.advance(43_100 * SECOND - 1);
    await assert.rejects(change(ReceiptHandle, 1), { name: "InvalidParameterValue" });
    clock.advance(1);
    // The 12 h begin anew with the next receive.
    await change((await one()).ReceiptHandle, 43_200);
  });

  it("SQS-06: a change after expiry answers 200 and does nothing", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, one, change } = queue();
    await send("a");
    const { ReceiptHandle } = await one({ VisibilityTimeout: 1 });
    clock.advance(SECOND);
    await change(ReceiptHandle, 30);
    await one();
  });

  it("SQS-07: with a handle of an older receive a release takes the new holder's lease away", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, one, receive, change } = queue();
    await send("a");
    const { ReceiptHandle } = await one({ VisibilityTimeout: 1 });
    clock.advance(SECOND);
    await one();
    assert.deepEqual(await receive(), []);
    await change(ReceiptHandle, 0);
    await one();
  });

  it("SQS-06, SQS-07: under not-in-flight such changes are refused", async (test) => {
    const { queue, clock } = await openSqs(test, { staleChange: "not-in-flight" });
    const { send, one, receive, change } = queue();
    await send("a");
    const { ReceiptHandle } = await one({ VisibilityTimeout: 1 });
    clock.advance(SECOND);
    await assert.rejects(change(ReceiptHandle, 30), { name: "MessageNotInflight" });
    await one();
    await assert.rejects(change(ReceiptHandle, 0), { name: "MessageNotInflight" });
    assert.deepEqual(await receive(), []);
  });

  it("SQS-08: a delete after expiry works while nobody received the message again", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, one, receive, remove } = queue();
    await send("a");
    const { ReceiptHandle } = await one({ VisibilityTimeout: 1 });
    clock.advance(SECOND);
    await remove(ReceiptHandle);
    assert.deepEqual(await receive(), []);
  });

  for (const staleDelete of ["ignored", "deletes"] as const) {
    it(`SQS-09: a delete with an older handle succeeds; under ${staleDelete} that is what happens`, async (test) => {
      const { queue, clock } = await openSqs(test, { staleDelete });
      const { send, one, receive, remove } = queue();
      await send("a");
      const { ReceiptHandle } = await one({ VisibilityTimeout: 1 });
      clock.advance(SECOND);
      await one({ VisibilityTimeout: 1 });
      await remove(ReceiptHandle);
      clock.advance(SECOND);
      assert.equal((await receive()).length, staleDelete === "deletes" ? 0 : 1);
    });
  }

  it("SQS-09: a message may come once more after a good delete", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const { send, one, remove, url } = queue();
    const id = await send("a");
    const { ReceiptHandle } = await one();
    assert.ok(sqs.acts(url).duplicate(id));
    await remove(ReceiptHandle);
    const again = await one();
    assert.equal(again.MessageId, id);
    assert.notEqual(again.ReceiptHandle, ReceiptHandle);
  });

  it("SQS-11: deleting twice is fine, changing a deleted message is not", async (test) => {
    const { queue } = await openSqs(test);
    const { send, one, remove, change } = queue();
    await send("a");
    const { ReceiptHandle } = await one();
    await remove(ReceiptHandle);
    await remove(ReceiptHandle);
    await assert.rejects(change(ReceiptHandle, 10), {
      name: "InvalidParameterValue",
      message: /does not exist or is not available/,
    });
  });

  it("SQS-12: garbage and another queue's handles are refused", async (test) => {
    const { queue } = await openSqs(test);
    const [one, other] = [queue(), queue()];
    await other.send("a");
    const { ReceiptHandle } = await other.one();
    for (const handle of ["garbage", ReceiptHandle, `${ReceiptHandle}AAAA`]) {
      await assert.rejects(one.remove(handle), { name: "ReceiptHandleIsInvalid" });
      await assert.rejects(one.change(handle, 10), { name: "ReceiptHandleIsInvalid" });
    }
  });

  it("drops messages when their retention is over, held or not", async (test) => {
    const { queue, clock } = await openSqs(test);
    const { send, one, receive, attribute } = queue({ MessageRetentionPeriod: "60" });
    await send("held");
    await one({ VisibilityTimeout: 600 });
    await send("waiting");
    clock.advance(59 * SECOND);
    await send("young");
    clock.advance(SECOND);
    assert.equal(await attribute("ApproximateNumberOfMessages"), "1");
    assert.equal(await attribute("ApproximateNumberOfMessagesNotVisible"), "0");
    assert.equal((await one()).Body, "young");
    assert.deepEqual(await receive(), []);
  });
});
