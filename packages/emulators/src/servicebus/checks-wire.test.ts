import assert from "node:assert/strict";
import { describe, it } from "node:test";
import rhea, { type AmqpError, type Delivery } from "rhea";
import { type Arrival, openAmqp } from "../testing/amqp.ts";
import { openServicebus } from "../testing/servicebus.ts";
import { lockTokenOf, sectionsOf } from "../testing/wire.ts";

const SECOND = 1_000;
const FORMAT_BATCH = 0x80013700;

describe("deliveries of the Service Bus server on the wire", () => {
  it("1.3: the tag is the lock token in the byte order of .NET, on $management it goes in that of RFC 4122", async (test) => {
    const { amqp, path, deliver } = await openWire(test);
    const [arrival] = await deliver({ body: "a" });
    const tag = arrival.delivery.tag as Buffer;
    assert.equal(tag.length, 16);
    const { properties } = await amqp.renewLock(path, lockTokenOf(tag));
    assert.equal(properties["statusCode"], 200);
    const unordered = await amqp.renewLock(path, rhea.uuid_to_string(tag));
    assert.equal(unordered.properties["statusCode"], 410);
  });

  it("1.3: a locked delivery has its annotations, its count and its time to live", async (test) => {
    const { clock, deliver } = await openWire(test);
    const now = Math.floor(clock.now());
    const [{ message }] = await deliver({
      body: "a",
      ttl: 90_000,
      message_annotations: { "x-opt-partition-key": "p-1" },
    });
    const annotations = message.message_annotations ?? {};
    assert.equal(annotations["x-opt-sequence-number"], 1);
    assert.equal(annotations["x-opt-enqueue-sequence-number"], 1);
    assert.equal(Number(annotations["x-opt-enqueued-time"]), now);
    assert.equal(Number(annotations["x-opt-locked-until"]), now + 60 * SECOND);
    assert.equal(annotations["x-opt-message-state"], 0);
    assert.equal(annotations["x-opt-partition-key"], "p-1");
    assert.equal(message.delivery_count, 0);
    assert.equal(message.ttl, 90_000);
  });

  it("SB-30: the count in the header is that of earlier deliveries", async (test) => {
    const { receiver, deliver } = await openWire(test);
    const [first] = await deliver({ body: "a" });
    await receiver.settle(first, abandon);
    receiver.grant(1);
    assert.equal((await receiver.next()).message.delivery_count, 1);
  });

  it("1.3: numbers and times are long and timestamp, and the count is always there", async (test) => {
    const { amqp, path, sender } = await openWire(test);
    await sender.send({ body: "a" });
    const { body } = await amqp.request(path, "peek-message", {
      "from-sequence-number": rhea.types.wrap_long(1),
      "message-count": rhea.types.wrap_int(1),
    });
    const { header, annotations } = sectionsOf(body.messages[0].message);
    assert.deepEqual(header.at(4), { type: "Uint", value: 0 });
    assert.equal(annotations.get("x-opt-sequence-number")?.type, "Long");
    assert.equal(annotations.get("x-opt-enqueue-sequence-number")?.type, "Long");
    assert.equal(annotations.get("x-opt-enqueued-time")?.type, "Timestamp");
    assert.equal(annotations.has("x-opt-locked-until"), false);
  });

  it("1.4 (8): properties and bodies keep the types that their sender gave them", async (test) => {
    const { amqp, path, sender } = await openWire(test);
    await sender.send({
      body: rhea.types.wrap_short(3),
      application_properties: {
        short: rhea.types.wrap_short(1),
        long: rhea.types.wrap_long(2),
        byte: rhea.types.wrap_byte(3),
        float: rhea.types.wrap_float(0.5),
        symbol: rhea.types.wrap_symbol("s"),
      },
    });
    const { body } = await amqp.request(path, "peek-message", {
      "from-sequence-number": rhea.types.wrap_long(1),
      "message-count": rhea.types.wrap_int(1),
    });
    const { properties, value } = sectionsOf(body.messages[0].message);
    assert.deepEqual(
      ["short", "long", "byte", "float", "symbol"].map((name) => properties.get(name)?.type),
      ["Short", "Long", "Byte", "Float", "Symbol"],
    );
    assert.equal(value?.type, "Short");
  });

  it("1.3: receive-and-delete is settled when it is sent, and has no lock", async (test) => {
    const { amqp, acts, path, sender } = await openWire(test);
    await sender.send({ body: "a" });
    const receiver = await amqp.receiver(path, { snd_settle_mode: 1, rcv_settle_mode: 0 });
    assert.equal(receiver.link.snd_settle_mode, 1);
    receiver.grant(1);
    const { delivery, message } = await receiver.next();
    assert.equal(delivery.remote_settled, true);
    assert.equal(message.message_annotations?.["x-opt-locked-until"], undefined);
    assert.deepEqual(acts.messageIds(), []);
  });

  // The SDKs of Java and Python compare what comes back with what they said; a rejection is a failure when it has an error.
  it("1.3: every outcome that is done is settled with the same outcome, and no error", async (test) => {
    const { receiver, deliver, acts, servicebus, path } = await openWire(test);
    const outcomes = [complete, abandon, release, defer, deadLetter];
    const echoes = ["accepted", "modified", "released", "modified", "rejected"];
    const arrivals = await deliver(...outcomes.map((_, body) => ({ body })));
    for (const [index, say] of outcomes.entries()) {
      const settled = await receiver.settle(arrivals[index] as Arrival, say);
      assert.deepEqual(settled, { settled: true, outcome: echoes[index], error: undefined });
    }
    assert.deepEqual(acts.counts(), { visible: 2, inFlight: 0, delayed: 1 });
    assert.equal(servicebus.acts(`${path}/$DeadLetterQueue`).messageIds().length, 1);
  });

  it("SB-24: every outcome that comes too late is settled with rejected and message-lock-lost", async (test) => {
    const { receiver, deliver, acts, clock } = await openWire(test);
    const outcomes = [complete, abandon, release, defer, deadLetter];
    const arrivals = await deliver(...outcomes.map((_, body) => ({ body })));
    clock.advance(60 * SECOND);
    for (const [index, say] of outcomes.entries()) {
      const { settled, outcome, error } = await receiver.settle(arrivals[index] as Arrival, say);
      assert.deepEqual([settled, outcome], [true, "rejected"]);
      assert.equal(error?.condition, "com.microsoft:message-lock-lost");
    }
    assert.equal(acts.counts().visible, outcomes.length);
  });

  it("SB-31: released gives the message back in front without raising the count", async (test) => {
    const { receiver, deliver } = await openWire(test);
    const arrivals = await deliver({ body: "a" }, { body: "b" });
    await receiver.settle(arrivals[1] as Arrival, release);
    await receiver.settle(arrivals[0] as Arrival, release);
    receiver.grant(2);
    for (const body of ["a", "b"]) {
      const { message } = await receiver.next();
      assert.deepEqual([message.body, message.delivery_count], [body, 0]);
    }
  });

  it("1.3: the condition of a dead-letter brings its reason and properties along", async (test) => {
    const { amqp, receiver, deliver, path } = await openWire(test);
    const [arrival] = await deliver({ body: "a", application_properties: { kept: "yes" } });
    await receiver.settle(arrival, deadLetter);
    const dead = await amqp.receiver(`${path}/$DeadLetterQueue`);
    dead.grant(1);
    const { message } = await dead.next();
    assert.deepEqual(message.application_properties, {
      kept: "yes",
      DeadLetterReason: "reason",
      DeadLetterErrorDescription: "description",
      extra: "more",
    });
    assert.equal(message.message_annotations?.["x-opt-deadletter-source"], path);
  });

  it("1.3: a batch is one transfer of format 0x80013700 with a data section for each message", async (test) => {
    const { sender, receiver, acts } = await openWire(test);
    const messages = ["a", "b", "c"].map((body) => rhea.message.encode({ body, message_id: `m-${body}` }));
    const batch = rhea.message.encode({ body: rhea.message.data_sections(messages) });
    assert.equal(await sender.send(batch, FORMAT_BATCH), undefined);
    assert.deepEqual(acts.messageIds(), ["m-a", "m-b", "m-c"]);
    receiver.grant(3);
    for (const body of ["a", "b", "c"]) assert.equal((await receiver.next()).message.body, body);
  });

  it("1.3: what is too large is rejected with amqp:link:message-size-exceeded", async (test) => {
    const { amqp, servicebus } = await openWire(test);
    servicebus.createQueue("small", { maxMessageBytes: 1_024 });
    const sender = await amqp.sender("small");
    const error = await sender.send({ body: "x".repeat(1_025) });
    assert.equal(error?.condition, "amqp:link:message-size-exceeded");
    assert.equal(await sender.send({ body: "x" }), undefined);
  });
});

async function openWire(test: Parameters<typeof openServicebus>[0]) {
  const { queue, servicebus, clock } = await openServicebus(test);
  const { path, acts } = queue();
  const amqp = await openAmqp(test, servicebus);
  const sender = await amqp.sender(path);
  const receiver = await amqp.receiver(path);
  return {
    servicebus,
    clock,
    path,
    acts,
    amqp,
    sender,
    receiver,
    /** Sends and receives them. */
    async deliver(...messages: readonly Parameters<typeof sender.send>[0][]): Promise<[Arrival, ...Arrival[]]> {
      for (const message of messages) assert.equal(await sender.send(message), undefined);
      receiver.grant(messages.length);
      const arrivals: Arrival[] = [];
      while (arrivals.length < messages.length) arrivals.push(await receiver.next());
      return arrivals as [Arrival, ...Arrival[]];
    },
  };
}

const DEAD_LETTER: AmqpError = {
  condition: "com.microsoft:dead-letter",
  info: { DeadLetterReason: "reason", DeadLetterErrorDescription: "description", extra: "more" },
};

function complete(delivery: Delivery): void {
  delivery.accept();
}

function abandon(delivery: Delivery): void {
  delivery.modified({ delivery_failed: false, undeliverable_here: false });
}

function release(delivery: Delivery): void {
  delivery.release();
}

function defer(delivery: Delivery): void {
  delivery.modified({ undeliverable_here: true });
}

function deadLetter(delivery: Delivery): void {
  delivery.reject(DEAD_LETTER);
}
