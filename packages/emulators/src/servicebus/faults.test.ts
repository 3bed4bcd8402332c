import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Call } from "../calls.ts";
import { openAmqp } from "../testing/amqp.ts";
import { bodies, openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const BUSY = { code: "com.microsoft:server-busy", message: "the disk is full" };

describe("faults of the Service Bus server", () => {
  it("reject a message, and store nothing", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { send, take } = queue();
    await send("0");
    const fault = servicebus.faults.add({ operation: "Send", nth: 2, times: 2, error: BUSY });
    await send("1");
    for (const text of ["2", "3"])
      await assert.rejects(send(text), { code: "ServiceBusy", message: /the disk is full/ });
    await send("4");
    assert.equal(fault.hits(), 2);
    assert.deepEqual(bodies(await take(3)), ["0", "1", "4"]);
  });

  it("reject a settlement, and leave the message with its holder", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { send, receiver, one, acts } = queue();
    await send("a");
    const message = await one();
    servicebus.faults.add({ operation: "Complete", error: { code: "com.microsoft:timeout" } });
    await assert.rejects(receiver.completeMessage(message), { code: "ServiceTimeout" });
    assert.deepEqual(acts.counts(), { visible: 0, inFlight: 1, delayed: 0 });
    await receiver.renewMessageLock(message);
  });

  it("answer a request, whatever it is about", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { send, receiver, one, sender, acts } = queue();
    await send("a");
    const message = await one();
    servicebus.faults.add({ operation: "RenewLock", error: BUSY });
    await assert.rejects(receiver.renewMessageLock(message), { code: "ServiceBusy" });
    await receiver.renewMessageLock(message);
    servicebus.faults.add({ operation: "ScheduleMessage", error: { code: "amqp:resource-limit-exceeded" } });
    await assert.rejects(sender().scheduleMessages({ body: "b" }, new Date()), { code: "QuotaExceeded" });
    assert.equal(acts.messageIds().length, 1);
  });

  it("hit a settlement by request as one by disposition", async (test) => {
    const { queue, servicebus, roundTrip } = await openServicebus(test);
    const { path, send, receiver, one } = queue();
    await send("a");
    const message = await one();
    servicebus.detach(path);
    await roundTrip();
    const fault = servicebus.faults.add({ operation: "Complete", error: BUSY });
    await assert.rejects(receiver.completeMessage(message), { code: "ServiceBusy" });
    assert.equal(fault.hits(), 1);
    await receiver.completeMessage(message);
  });

  it("refuse a link, and end one that asks for messages", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { send, receiver, one, acts } = queue();
    await send("a");
    servicebus.faults.add({ operation: "Attach", error: BUSY });
    await assert.rejects(receiver.receiveMessages(1), { code: "ServiceBusy" });
    servicebus.faults.add({ operation: "Receive", error: BUSY });
    await assert.rejects(receiver.receiveMessages(1), { code: "ServiceBusy" });
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 0, delayed: 0 });
    await one();
  });

  it("refuse a token", async (test) => {
    const { queue, servicebus, connect } = await openServicebus(test);
    const { send } = queue();
    servicebus.faults.add({ operation: "PutToken", error: { code: "amqp:unauthorized-access" } });
    await assert.rejects(send("a"), { code: "UnauthorizedAccess" });
    assert.equal(servicebus.calls.of("Attach").calls, 0);
    await connect().createSender("queue-1").sendMessages({ body: "b" });
  });

  it("break the connection before a message is stored, or after", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path, send, take } = queue();
    for (const drop of ["before", "after"] as const) {
      const amqp = await openAmqp(test, servicebus);
      const { link } = await amqp.sender(path);
      await until(() => link.sendable());
      servicebus.faults.add({ operation: "Send", drop });
      const delivery = link.send({ body: drop });
      await amqp.ended;
      assert.equal(delivery.remote_settled, false);
    }
    await send("whole");
    assert.deepEqual(bodies(await take(2)), ["after", "whole"]);
  });

  it("break the connection after a settlement was applied: its answer is lost, and the lock too (SB-24)", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path, send, acts } = queue();
    await send("a");
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver(path);
    receiver.grant(1);
    const { delivery } = await receiver.next();
    servicebus.faults.add({ operation: "Complete", drop: "after" });
    delivery.accept();
    await amqp.ended;
    assert.equal(delivery.remote_settled, false);
    assert.deepEqual(acts.messageIds(), []);
    assert.equal(acts.counts().inFlight, 0);
  });

  it("lock what is there and break the connection before it is sent", async (test) => {
    const { queue, servicebus, clock } = await openServicebus(test);
    const { path, send, acts, one } = queue({ lockDurationMs: 30_000 });
    await send("a", "b", "c");
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver(path);
    servicebus.faults.add({ operation: "Receive", drop: "after", when: ({ input }) => input?.["credit"] === 2 });
    receiver.grant(2);
    await amqp.ended;
    assert.deepEqual(receiver.arrivals, []);
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 2, delayed: 0 });
    // Nobody knows the locks; they run out.
    clock.advance(30_000);
    assert.equal((await one()).deliveryCount, 1);
  });

  it("break the connection before anything is locked", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path, send, acts } = queue();
    await send("a");
    const amqp = await openAmqp(test, servicebus);
    servicebus.faults.add({ operation: "Receive", drop: "before" });
    (await amqp.receiver(path)).grant(1);
    await amqp.ended;
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 0, delayed: 0 });
  });

  it("let a call hang, applied or not", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path, acts } = queue();
    const amqp = await openAmqp(test, servicebus);
    const { link } = await amqp.sender(path);
    await until(() => link.sendable());
    for (const [index, hang] of (["before", "after"] as const).entries()) {
      servicebus.faults.add({ operation: "Send", hang });
      const delivery = link.send({ body: "a", message_id: hang });
      await until(() => servicebus.calls.of("Send").open > index);
      // What was answered before this has arrived with its answer.
      await amqp.renewLock(path, "00000000-0000-0000-0000-000000000000");
      assert.equal(delivery.remote_settled, false);
    }
    assert.deepEqual(acts.messageIds(), ["after"]);
    assert.equal(servicebus.calls.of("Send").open, 2);
  });

  it("let a receive hang with what it locked", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path, send, acts } = queue();
    await send("a");
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver(path);
    servicebus.faults.add({ operation: "Receive", hang: "after" });
    receiver.grant(1);
    await until(() => acts.counts().inFlight === 1);
    await amqp.renewLock(path, "00000000-0000-0000-0000-000000000000");
    assert.deepEqual(receiver.arrivals, []);
    assert.equal(servicebus.calls.of("Receive").open, 1);
  });

  it("delay a call, its answer, and with latency every call, by the emulator's clock", async (test) => {
    const { queue, servicebus, clock } = await openServicebus(test);
    const { send, acts, receiver, one } = queue();
    await send("a");
    const message = await one();

    async function waits(act: () => Promise<unknown>, operation: string, appliedAtOnce: boolean): Promise<void> {
      const before = servicebus.calls.of(operation).calls;
      let isDone = false;
      const call = act().then(() => {
        isDone = true;
      });
      await until(() => servicebus.calls.of(operation).calls > before);
      assert.equal(acts.messageIds().length === 2, appliedAtOnce);
      clock.advance(999);
      assert.equal(isDone, false);
      assert.equal(servicebus.calls.of(operation).open, 1);
      clock.advance(1);
      await call;
    }

    servicebus.faults.add({ operation: "Send", answerDelayMs: 1_000 });
    await waits(() => send("b"), "Send", true);
    servicebus.faults.add({ operation: "RenewLock", delayMs: 1_000 });
    await waits(() => receiver.renewMessageLock(message), "RenewLock", true);
    servicebus.faults.latencyMs = 1_000;
    await waits(() => receiver.completeMessage(message), "Complete", true);
    assert.equal(acts.messageIds().length, 1);
  });

  it("deliver late what was locked in time: its lock is as old", async (test) => {
    const { queue, servicebus, clock } = await openServicebus(test);
    const { path, send, acts } = queue({ lockDurationMs: 30_000 });
    await send("a");
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver(path);
    servicebus.faults.add({ operation: "Receive", answerDelayMs: 30_000 });
    receiver.grant(1);
    await until(() => acts.counts().inFlight === 1);
    clock.advance(30_000);
    const late = await receiver.next();
    const answer = await receiver.settle(late, (delivery) => delivery.accept());
    assert.equal(answer.error?.condition, "com.microsoft:message-lock-lost");
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 0, delayed: 0 });
  });

  it("answer a drain only after what the calls before it found", async (test) => {
    const { queue, servicebus, clock } = await openServicebus(test);
    const { path, send } = queue();
    await send("a");
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver(path);
    servicebus.faults.latencyMs = 1_000;
    receiver.grant(5);
    await until(() => servicebus.calls.of("Receive").calls === 1);
    const drained = receiver.drain();
    servicebus.faults.latencyMs = 0;
    await amqp.renewLock(path, "00000000-0000-0000-0000-000000000000");
    assert.deepEqual(receiver.arrivals, []);
    clock.advance(1_000);
    await drained;
    assert.equal(receiver.arrivals.length, 1);
  });
});

describe("counts of the Service Bus server", () => {
  it("are of calls and of the messages in them, and are told of each call before it is applied", async (test) => {
    const seen: Call[] = [];
    const { queue, servicebus } = await openServicebus(test, { onCall: (call) => seen.push(call) });
    const { path, send, sender, take, receiver } = queue();
    await sender().sendMessages([
      { body: "a", messageId: "1" },
      { body: "b", messageId: "2" },
    ]);
    await send("c");
    for (const message of await take(3)) await receiver.completeMessage(message);
    assert.deepEqual(servicebus.calls.of("Send"), { calls: 2, entries: 3, open: 0 });
    assert.deepEqual(servicebus.calls.of("Complete"), { calls: 3, entries: 3, open: 0 });
    assert.deepEqual(servicebus.calls.of("Attach"), { calls: 2, entries: 2, open: 0 });
    assert.deepEqual(servicebus.calls.of("PutToken"), { calls: 2, entries: 2, open: 0 });
    const [batch] = seen.filter(({ operation }) => operation === "Send");
    assert.deepEqual(batch?.input, { entity: path, messageIds: ["1", "2"] });
  });

  it("keep a receive open until it has all that it asked for, or nothing more comes", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path, send } = queue();
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver(path);
    const open = (): number => servicebus.calls.of("Receive").open;
    receiver.grant(2);
    await until(() => open() === 1);
    await send("a");
    await receiver.next();
    assert.equal(open(), 1);
    await send("b");
    await receiver.next();
    assert.equal(open(), 0);
    receiver.grant(1);
    await until(() => open() === 1);
    await receiver.drain();
    assert.equal(open(), 0);
    receiver.grant(1);
    await until(() => open() === 1);
    receiver.link.close();
    await receiver.closed;
    assert.equal(open(), 0);
  });
});

describe("pausing the Service Bus server", () => {
  it("cuts every connection and keeps what is stored; time goes on, and clients find it again at the same port", async (test) => {
    const { queue, servicebus, clock, connect } = await openServicebus(test);
    const { path, send, one, acts, take, open } = queue({ lockDurationMs: 30_000 });
    await send("a");
    await one();
    const amqp = await openAmqp(test, servicebus);
    await servicebus.pause();
    await amqp.ended;
    await assert.rejects(connect(500).createSender(path).sendMessages({ body: "c" }));
    clock.advance(30_000);
    await servicebus.resume();
    await servicebus.resume();
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 0, delayed: 0 });
    const again = connect();
    await again.createSender(path).sendMessages({ body: Buffer.from("b") });
    assert.deepEqual(bodies(await take(2, open({}, again))), ["a", "b"]);
  });

  it("gives sessions back, as a connection that ends does", async (test) => {
    const { queue, servicebus, connect } = await openServicebus(test);
    const { send, session } = queue({ requiresSession: true });
    await send({ body: "a", sessionId: "s" });
    await session("s");
    await servicebus.pause();
    await servicebus.resume();
    assert.equal((await session("s", connect())).sessionId, "s");
  });

  it("stops for good, twice", async (test) => {
    const { servicebus } = await openServicebus(test);
    await servicebus.stop();
    await servicebus.stop();
  });
});
