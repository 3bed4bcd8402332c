import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as dial } from "node:net";
import { describe, it } from "node:test";
import { openAmqp } from "../testing/amqp.ts";
import { bodies, openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const FORCED = "amqp:link:detach-forced";

describe("connections to the Service Bus server", () => {
  it("1.1: the connection string is that of a development emulator on this machine", async (test) => {
    const { servicebus } = await openServicebus(test);
    assert.match(servicebus.endpoint, /^sb:\/\/127\.0\.0\.1:\d+$/);
    const parts = servicebus.connectionString.split(";").map((part) => part.split("=")[0]);
    assert.deepEqual(parts, ["Endpoint", "SharedAccessKeyName", "SharedAccessKey", "UseDevelopmentEmulator"]);
    assert.ok(servicebus.connectionString.startsWith(`Endpoint=${servicebus.endpoint};`));
    assert.ok(servicebus.connectionString.endsWith("UseDevelopmentEmulator=true"));
  });

  it("1.1: ANONYMOUS, PLAIN and MSSBCBS are offered", async (test) => {
    const { servicebus } = await openServicebus(test);
    const { hostname, port } = new URL(servicebus.endpoint);
    const socket = dial(Number(port), hostname);
    test.after(() => socket.destroy());
    let seen = "";
    socket.on("data", (bytes: Buffer) => {
      seen += bytes.toString("latin1");
    });
    await once(socket, "connect");
    socket.write(Buffer.from("AMQP\x03\x01\x00\x00", "latin1"));
    await until(() => ["ANONYMOUS", "PLAIN", "MSSBCBS"].every((mechanism) => seen.includes(mechanism)));
  });

  it("1.1: with a password too one is let in", async (test) => {
    const { servicebus } = await openServicebus(test);
    await openAmqp(test, servicebus, { username: "somebody", password: "anything" });
  });

  it("1.1: $cbs answers a token with 202, by the name of the reply link", async (test) => {
    const { servicebus } = await openServicebus(test);
    const amqp = await openAmqp(test, servicebus, { token: false });
    const { message, properties } = await amqp.putToken(`${servicebus.endpoint}/q`);
    assert.equal(properties["status-code"], 202);
    assert.equal(typeof properties["status-description"], "string");
    assert.ok(message.correlation_id);
    assert.equal(servicebus.calls.of("PutToken").calls, 1);
  });

  it("1.1: the SDK sends a token for each link", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { send, one, receiver } = queue();
    await send("a");
    assert.equal(servicebus.calls.of("PutToken").calls, 1);
    const message = await one();
    assert.equal(servicebus.calls.of("PutToken").calls, 2);
    await receiver.renewMessageLock(message);
    assert.equal(servicebus.calls.of("PutToken").calls, 3);
  });

  it("SB-20: another key than the one that is let in is refused with UnauthorizedAccess", async (test) => {
    const { queue, servicebus, connect } = await openServicebus(test, { accessKeyId: "right" });
    const { send, path } = queue();
    await send("a");
    const wrong = connect(undefined, servicebus.connectionString.replace(/KeyName=\w+/, "KeyName=wrong"));
    await assert.rejects(wrong.createReceiver(path).receiveMessages(1), { code: "UnauthorizedAccess" });
  });

  it("1.1: a token for $management is enough for requests", async (test) => {
    const { queue } = await openServicebus(test, { accessKeyId: "right" });
    assert.deepEqual(await queue().receiver.peekMessages(1), []);
  });

  it("1.1: without a token there is no link", async (test) => {
    const { servicebus } = await openServicebus(test, { accessKeyId: "right" });
    servicebus.createQueue("q");
    const amqp = await openAmqp(test, servicebus, { token: false });
    assert.equal((await amqp.refusal("q")).condition, "amqp:unauthorized-access");
    assert.equal((await amqp.senderRefusal("q")).condition, "amqp:unauthorized-access");
    await amqp.putToken(`${servicebus.endpoint}/q`, "right");
    await amqp.receiver("q");
    await amqp.sender("q");
  });

  it("1.1: a link ends with its token", async (test) => {
    const { servicebus, clock } = await openServicebus(test, { tokenLifetimeMs: HOUR });
    servicebus.createQueue("q");
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver("q");
    clock.advance(HOUR);
    assert.equal((await receiver.closed)?.condition, "amqp:unauthorized-access");
    assert.equal((await amqp.refusal("q")).condition, "amqp:unauthorized-access");
  });

  it("1.1: a token that is renewed keeps the link", async (test) => {
    const { servicebus, clock } = await openServicebus(test, { tokenLifetimeMs: HOUR });
    servicebus.createQueue("q");
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver("q");
    for (let round = 0; round < 3; round++) {
      clock.advance(HOUR - SECOND);
      assert.equal((await amqp.putToken(servicebus.endpoint)).properties["status-code"], 202);
    }
    receiver.grant(1);
    await receiver.drain();
  });

  it("1.1: after its token the SDK goes on with another", async (test) => {
    const { queue, clock, servicebus, roundTrip } = await openServicebus(test, { tokenLifetimeMs: HOUR });
    const { send, take, receiver } = queue({ lockDurationMs: 300 * SECOND });
    await send("a");
    await receiver.completeMessage((await take(1))[0]!);
    const tokens = servicebus.calls.of("PutToken").calls;
    clock.advance(HOUR);
    await roundTrip();
    await send("b");
    assert.deepEqual(bodies(await take(1)), ["b"]);
    assert.ok(servicebus.calls.of("PutToken").calls > tokens);
  });

  it("SB-05: a link that nothing happens on is detached after ten minutes", async (test) => {
    const { servicebus, clock } = await openServicebus(test, { linkIdleMs: 600 * SECOND });
    servicebus.createQueue("q");
    const amqp = await openAmqp(test, servicebus);
    const idle = await amqp.receiver("q");
    const busy = await amqp.receiver("q");
    for (let round = 0; round < 3; round++) {
      clock.advance(200 * SECOND - 1);
      busy.grant(1);
      await busy.drain();
    }
    assert.equal(idle.link.is_open(), true);
    clock.advance(3);
    assert.equal((await idle.closed)?.condition, FORCED);
    busy.grant(1);
    await busy.drain();
    assert.equal(busy.link.is_open(), true);
  });

  it("SB-05: locks outlive the link that was idle, and the SDK opens another", async (test) => {
    const { queue, clock, roundTrip } = await openServicebus(test, { linkIdleMs: 60 * SECOND });
    const { send, one, receiver, acts } = queue({ lockDurationMs: 300 * SECOND });
    await send("a");
    const message = await one();
    clock.advance(120 * SECOND);
    await roundTrip();
    assert.equal(acts.counts().inFlight, 1);
    await receiver.completeMessage(message);
    assert.deepEqual(acts.messageIds(), []);
    await send("b");
    assert.equal(String((await one()).body), "b");
  });

  it("SB-05: links of an entity, or all, are detached by force, and counted", async (test) => {
    const { servicebus } = await openServicebus(test);
    servicebus.createQueue("q");
    servicebus.createQueue("other");
    const amqp = await openAmqp(test, servicebus);
    const [first, second, other] = [await amqp.receiver("q"), await amqp.receiver("q"), await amqp.receiver("other")];
    assert.equal(servicebus.detach("q"), 2);
    assert.equal((await first.closed)?.condition, FORCED);
    assert.equal((await second.closed)?.condition, FORCED);
    assert.equal(servicebus.detach("q"), 0);
    assert.equal(other.link.is_open(), true);
    assert.ok(servicebus.detach() >= 1);
    assert.equal((await other.closed)?.condition, FORCED);
  });

  it("1.2: a receive that waits learns of a forced detach, and the next one works", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path, receiver, send, one } = queue();
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 30 * SECOND });
    const told = assert.rejects(waiting, { name: "ServiceBusError", retryable: true });
    await until(() => servicebus.calls.of("Receive").calls === 1);
    assert.ok(servicebus.detach(path) >= 1);
    await told;
    await send("a");
    await one();
  });

  it("1.2: after the server was away, what was received before is settled, and what is there is received", async (test) => {
    const { queue, servicebus, clock } = await openServicebus(test);
    const { send, one, receiver, acts } = queue();
    await send("a");
    const a = await one();
    const { endpoint } = servicebus;
    const told = assert.rejects(receiver.receiveMessages(1, { maxWaitTimeInMs: 30 * SECOND }));
    await until(() => servicebus.calls.of("Receive").calls === 2);
    await servicebus.pause();
    await told;
    clock.advance(30 * SECOND);
    await servicebus.resume();
    assert.equal(servicebus.endpoint, endpoint);
    assert.equal(acts.counts().inFlight, 1);
    await receiver.completeMessage(a);
    await send("b");
    await receiver.completeMessage(await one());
    assert.deepEqual(acts.messageIds(), []);
  });

  it("1.2: settling what came before, after a receive on the same receiver, goes nowhere: ServiceTimeout", async (test) => {
    const { queue, servicebus, connect } = await openServicebus(test);
    const { send, one, open, acts } = queue();
    const hasty = connect(5 * SECOND);
    const receiver = open({}, hasty);
    await send("a");
    const a = await one(receiver);
    const told = assert.rejects(receiver.receiveMessages(1, { maxWaitTimeInMs: 30 * SECOND }));
    await until(() => servicebus.calls.of("Receive").calls === 2);
    await servicebus.pause();
    await told;
    await servicebus.resume();
    await send("b");
    assert.equal(String((await one(receiver)).body), "b");
    // The receiver has a new link of the same name: the SDK says the outcome on the delivery of the old one.
    await assert.rejects(receiver.completeMessage(a), { code: "ServiceTimeout" });
    assert.equal(servicebus.calls.of("Complete").calls, 0);
    assert.equal(acts.counts().inFlight, 2);
  });
});
