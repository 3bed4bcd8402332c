import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Delivery } from "rhea";
import { openAmqp } from "../testing/amqp.ts";
import { openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

/** The condition with which a delivery was rejected; `undefined`: it was accepted. */
const conditionOf = ({ remote_state: state }: Delivery): string | undefined => state?.["error"]?.condition;

describe("neighbours that are settled in one turn on the Service Bus server", () => {
  it("have outcomes of their own: one is completed, the lock of the next is lost", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { path, send, acts } = queue();
    for (const messageId of ["1", "2", "3", "4"]) await send({ body: "a", messageId });
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver(path);
    receiver.grant(4);
    const deliveries: Delivery[] = [];
    while (deliveries.length < 4) deliveries.push((await receiver.next()).delivery);
    acts.expire("2");
    acts.expire("3");
    for (const delivery of deliveries) delivery.accept();
    await until(() => deliveries.every((delivery) => delivery.remote_settled));
    const lost = "com.microsoft:message-lock-lost";
    assert.deepEqual(deliveries.map(conditionOf), [undefined, lost, lost, undefined]);
    assert.deepEqual(acts.messageIds(), ["2", "3"]);
  });

  it("have outcomes of their own: one is stored, the next is too large", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { path, acts } = queue({ maxMessageBytes: 1_000 });
    const amqp = await openAmqp(test, servicebus);
    const { link } = await amqp.sender(path);
    await until(() => link.sendable());
    const bodies = ["short", "x".repeat(2_000), "short"];
    const deliveries = bodies.map((body, index) => link.send({ message_id: String(index), body }));
    await until(() => deliveries.every((delivery) => delivery.remote_settled));
    assert.deepEqual(deliveries.map(conditionOf), [undefined, "amqp:link:message-size-exceeded", undefined]);
    assert.deepEqual(acts.messageIds(), ["0", "2"]);
  });
});
