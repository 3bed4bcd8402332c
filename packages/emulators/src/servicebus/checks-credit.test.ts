import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openAmqp } from "../testing/amqp.ts";
import { openServicebus } from "../testing/servicebus.ts";

describe("credit and drain of the Service Bus server", () => {
  it("1.3: nothing is sent without credit", async (test) => {
    const { amqp, path, acts, send } = await openCredit(test);
    const receiver = await amqp.receiver(path);
    await send("a", "b");
    await amqp.receiver(path);
    assert.equal(receiver.arrivals.length, 0);
    assert.deepEqual(acts.counts(), { visible: 2, inFlight: 0, delayed: 0 });
  });

  it("1.3: as many are locked and sent as there is credit for", async (test) => {
    const { amqp, path, acts, send } = await openCredit(test);
    await send("a", "b", "c", "d", "e");
    const receiver = await amqp.receiver(path);
    receiver.grant(3);
    for (const body of ["a", "b", "c"]) assert.equal((await receiver.next()).message.body, body);
    await receiver.drain();
    assert.equal(receiver.arrivals.length, 3);
    assert.deepEqual(acts.counts(), { visible: 2, inFlight: 3, delayed: 0 });
    receiver.grant(1);
    assert.equal((await receiver.next()).message.body, "d");
  });

  it("1.3: credit that is left serves what is sent later", async (test) => {
    const { amqp, path, send, acts } = await openCredit(test);
    const receiver = await amqp.receiver(path);
    receiver.grant(2);
    await send("a");
    await receiver.next();
    await send("b", "c");
    await receiver.next();
    await receiver.drain();
    assert.equal(receiver.arrivals.length, 2);
    assert.equal(acts.counts().visible, 1);
  });

  it("1.3: a drain brings what there is first, and then takes all credit", async (test) => {
    const { amqp, path, send, acts } = await openCredit(test);
    await send("a", "b");
    const receiver = await amqp.receiver(path);
    receiver.grant(10);
    await receiver.drain();
    assert.deepEqual(
      receiver.arrivals.map(({ message }) => message.body),
      ["a", "b"],
    );
    assert.equal(Reflect.get(receiver.link, "credit"), 0);
    await send("c");
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 2, delayed: 0 });
    assert.equal(receiver.arrivals.length, 2);
  });

  it("1.3: a drain of an empty queue is confirmed", async (test) => {
    const { amqp, path, send, acts } = await openCredit(test);
    const receiver = await amqp.receiver(path);
    receiver.grant(5);
    await receiver.drain();
    await send("a");
    assert.equal(acts.counts().visible, 1);
    receiver.grant(1);
    await receiver.next();
  });

  it("1.3: a drain is confirmed even when the last credit was just used up", async (test) => {
    const { amqp, path, send } = await openCredit(test);
    const receiver = await amqp.receiver(path);
    for (let round = 0; round < 10; round++) {
      await send("a");
      receiver.grant(1);
      await receiver.next();
      await receiver.drain();
    }
    assert.equal(receiver.arrivals.length, 10);
  });

  it("1.3: a drain without any credit is confirmed too", async (test) => {
    const { amqp, path } = await openCredit(test);
    const receiver = await amqp.receiver(path);
    await receiver.drain();
  });

  it("1.2: what one link has no credit for goes to another that has", async (test) => {
    const { amqp, path, send } = await openCredit(test);
    const poor = await amqp.receiver(path);
    const rich = await amqp.receiver(path);
    poor.grant(1);
    rich.grant(10);
    await send("a", "b", "c");
    await rich.drain();
    await poor.drain();
    assert.equal(poor.arrivals.length + rich.arrivals.length, 3);
    assert.ok(poor.arrivals.length <= 1);
  });

  it("1.2: the credit of a link that was closed takes nothing", async (test) => {
    const { amqp, servicebus, path, send, acts } = await openCredit(test);
    const closed = await amqp.receiver(path);
    closed.grant(10);
    await closed.drain();
    closed.grant(10);
    closed.link.close();
    await closed.closed;
    const lost = await openAmqp(test, servicebus);
    const cut = await lost.receiver(path);
    cut.grant(10);
    await cut.drain();
    cut.grant(10);
    lost.connection.close();
    await lost.ended;
    await send("a", "b");
    assert.deepEqual(acts.counts(), { visible: 2, inFlight: 0, delayed: 0 });
    const receiver = await amqp.receiver(path);
    receiver.grant(2);
    await receiver.next();
    await receiver.next();
  });

  it("1.4 (1): what a link that was closed has locked can be settled over $management", async (test) => {
    const { client, queue } = await openServicebus(test);
    const { path, send, one, open, acts } = queue();
    await send("a");
    const receiver = open();
    const message = await one(receiver);
    assert.ok(message.lockToken);
    assert.equal(acts.counts().inFlight, 1);
    await receiver.close();
    const other = client.createReceiver(path);
    await other.renewMessageLock(message);
    assert.equal(acts.counts().inFlight, 1);
  });
});

async function openCredit(test: Parameters<typeof openServicebus>[0]) {
  const { queue, servicebus } = await openServicebus(test);
  const { path, acts } = queue();
  const amqp = await openAmqp(test, servicebus);
  const sender = await amqp.sender(path);
  return {
    servicebus,
    amqp,
    path,
    acts,
    async send(...texts: readonly string[]) {
      for (const body of texts) assert.equal(await sender.send({ body }), undefined);
    },
  };
}
