import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import rhea, { type EventContext, type Message } from "rhea";
import { openAmqp, uuids } from "../testing/amqp.ts";
import { openServicebus } from "../testing/servicebus.ts";
import { lockTokenOf, sectionsOf } from "../testing/wire.ts";

const FILTER = "com.microsoft:session-filter";
const FILTER_DESCRIPTOR = 0x137_000_000c;

/** What was found with the SDKs of Python (azure-servicebus 7.15.0) and Go (azservicebus 1.11.0), said in plain AMQP. */
describe("what other clients need of the Service Bus server", () => {
  it("Python: an answer to a request that does not say where to comes on the link beside it", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { path } = queue();
    const { connection } = await openAmqp(test, servicebus);
    const desks = await Promise.all(
      ["one", "two"].map(async (name) => {
        const session = connection.create_session();
        session.open();
        const address = `${path}/$management`;
        const receiver = session.open_receiver({ name, source: { address } });
        const sender = session.open_sender({ target: { address } });
        await Promise.all([once(receiver, "receiver_open"), once(sender, "sendable")]);
        return { receiver, sender };
      }),
    );
    for (const { receiver, sender } of desks) {
      const answer = once(receiver, "message") as Promise<[EventContext]>;
      const operation = "com.microsoft:peek-message";
      const body = { "from-sequence-number": rhea.types.wrap_long(1), "message-count": 1 };
      sender.send({ message_id: receiver.name, application_properties: { operation }, body });
      const [{ message }] = await answer;
      assert.equal((message as Message).correlation_id, receiver.name);
    }
  });

  it("Go: the session filter of an answer is described when that of the attach is", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { path, send } = queue({ requiresSession: true });
    await send({ body: "a", sessionId: "next" });
    const amqp = await openAmqp(test, servicebus);
    for (const [asked, id] of [
      ["given", "given"],
      [null, "next"],
    ] as const) {
      const filter = { [FILTER]: rhea.types.wrap_described(asked, FILTER_DESCRIPTOR) };
      const { link } = await amqp.receiver({ address: path, filter });
      const answered = link.source.filter?.[FILTER];
      assert.deepEqual([answered.value, answered.descriptor.value], [id, FILTER_DESCRIPTOR]);
    }
  });

  it("Go: properties that a settlement adds keep their types, by disposition as by request", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { path, send } = queue();
    await send({ body: "a", applicationProperties: { sent: 1 } });
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver(path);
    receiver.grant(2);
    const annotations = { first: rhea.types.wrap_long(7), second: rhea.types.wrap_short(7) };
    await receiver.settle(await receiver.next(), (delivery) => delivery.modified({ message_annotations: annotations }));
    const { delivery } = await receiver.next();
    const { properties: answer } = await amqp.request(path, "update-disposition", {
      "lock-tokens": uuids(lockTokenOf(delivery.tag as Buffer)),
      "disposition-status": "abandoned",
      "properties-to-modify": { second: rhea.types.wrap_byte(7) },
    });
    assert.equal(answer["statusCode"], 200);
    const page = { "from-sequence-number": rhea.types.wrap_long(1), "message-count": 1 };
    const { body } = await amqp.request(path, "peek-message", page);
    const { properties } = sectionsOf(body.messages[0].message);
    assert.deepEqual(
      ["first", "second"].map((name) => properties.get(name)?.type),
      ["Long", "Byte"],
    );
    assert.equal(properties.get("sent")?.value, 1);
  });

  it("Python: an error has its three fields, also the one without a value", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const amqp = await openAmqp(test, servicebus);
    const { link } = await amqp.sender(queue({ maxMessageBytes: 10 }).path);
    const delivery = link.send({ body: "too large for this queue" });
    await once(link, "rejected");
    const fields = delivery.remote_state?.["value"]?.[0]?.value;
    assert.equal(fields?.length, 3);
  });
});
