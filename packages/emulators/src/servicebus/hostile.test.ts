import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import rhea from "rhea";
import { longs, openAmqp, uuids } from "../testing/amqp.ts";
import { openServicebus } from "../testing/servicebus.ts";

const AMQP = Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 1, 0, 0]);
const SASL = Buffer.from([0x41, 0x4d, 0x51, 0x50, 3, 1, 0, 0]);

/** A frame: size, offset of the data, type, channel, and whatever follows. */
function frame(body: readonly number[], type = 0): Buffer {
  const head = Buffer.from([0, 0, 0, 0, 2, type, 0, 0]);
  head.writeUInt32BE(head.length + body.length);
  return Buffer.concat([head, Buffer.from(body)]);
}

/** Bytes that look like chance and are the same in each run. */
function noise(seed: number, length: number): Buffer {
  let state = seed;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    }),
  );
}

const SMALL_LIST_OF_NULLS = [0xc0, 0x04, 0x03, 0x40, 0x40, 0x40];
const GARBAGE: Readonly<Record<string, readonly Buffer[]>> = {
  "what is another protocol": [Buffer.from("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")],
  "another version": [Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1])],
  "a frame of no length": [AMQP, Buffer.alloc(8)],
  "a frame that is too short": [AMQP, Buffer.from([0, 0, 0, 5, 2, 0, 0, 0])],
  "a frame without a performative": [AMQP, frame([0x40])],
  "a performative that nobody knows": [AMQP, frame([0x00, 0x53, 0x7f, 0x45])],
  "a type that nobody knows": [AMQP, frame([0x00, 0x53, 0x10, 0xd9, 0, 0])],
  "an open that is a number": [AMQP, frame([0x00, 0x53, 0x10, 0x52, 1])],
  "a link on no session": [AMQP, frame([0x00, 0x53, 0x12, ...SMALL_LIST_OF_NULLS])],
  "a transfer on no link": [AMQP, frame([0x00, 0x53, 0x14, ...SMALL_LIST_OF_NULLS])],
  "an end of what never began": [AMQP, frame([0x00, 0x53, 0x17, 0x45])],
  "a frame of SASL after it": [AMQP, frame([0x00, 0x53, 0x41, 0x45], 1)],
  "a mechanism that there is not": [
    SASL,
    frame([0x00, 0x53, 0x41, 0xc0, 0x07, 0x01, 0xa3, 0x04, 0x4e, 0x4f, 0x4e, 0x45], 1),
  ],
  "a mechanism of every object": [
    SASL,
    frame([0x00, 0x53, 0x41, 0xc0, 0x0b, 0x01, 0xa3, 0x08, ...Buffer.from("toString")], 1),
  ],
  // Without a guard it is the memory of the process that ends.
  "an array of four billion items without bytes": [
    AMQP,
    frame([0x00, 0x53, 0x10, 0xf0, 0, 0, 0, 9, 0xff, 0xff, 0xff, 0xff, 0x45]),
  ],
  "an array of four billion ids that are not there": [
    AMQP,
    frame([0x00, 0x53, 0x10, 0xf0, 0, 0, 0, 9, 0xff, 0xff, 0xff, 0xff, 0x98]),
  ],
  "an answer that nobody asked for": [SASL, frame([0x00, 0x53, 0x43, 0xc0, 0x03, 0x01, 0xa0, 0x00], 1)],
};

describe("what nobody should send to the Service Bus server", () => {
  for (const [name, parts] of Object.entries(GARBAGE)) {
    it(`${name} ends that connection, and others go on`, async (test) => {
      const { servicebus, queue } = await openServicebus(test);
      const { send, one } = queue();
      await send("before");
      const socket = connect(Number(new URL(servicebus.endpoint).port), "127.0.0.1");
      test.after(() => socket.destroy());
      socket.resume();
      socket.end(Buffer.concat(parts));
      await closeOf(socket);
      assert.equal(String((await one()).body), "before");
    });
  }

  it("a hundred bursts of noise end their connections, and others go on", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { send, one } = queue();
    const port = Number(new URL(servicebus.endpoint).port);
    for (let seed = 1; seed <= 100; seed++) {
      const socket = connect(port, "127.0.0.1");
      socket.resume();
      const bytes = noise(seed, 64);
      socket.end(Buffer.concat(seed % 2 === 0 ? [AMQP, frame([0x00, 0x53, 0x10 + (seed % 9), ...bytes])] : [bytes]));
      await closeOf(socket);
    }
    await send("after");
    assert.equal(String((await one()).body), "after");
  });

  it("a frame of two gigabytes is not waited for", async (test) => {
    const { servicebus } = await openServicebus(test);
    const socket = connect(Number(new URL(servicebus.endpoint).port), "127.0.0.1");
    test.after(() => socket.destroy());
    socket.resume();
    // No end: the server has to hang up by itself.
    socket.write(Buffer.concat([AMQP, Buffer.from([0x7f, 0xff, 0xff, 0xff, 2, 0, 0, 0])]));
    await closeOf(socket);
  });

  it("a link to nowhere is refused, and other links of the connection go on", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { path } = queue();
    servicebus.createTopic("topic");
    const amqp = await openAmqp(test, servicebus);
    const sender = await amqp.sender(path);
    assert.equal((await amqp.refusal("nowhere")).condition, "amqp:not-found");
    assert.equal((await amqp.senderRefusal("nowhere")).condition, "amqp:not-found");
    assert.equal((await amqp.refusal("")).condition, "amqp:not-found");
    assert.equal((await amqp.refusal("topic")).condition, "amqp:not-allowed");
    assert.equal((await amqp.senderRefusal(`${path}/$DeadLetterQueue`)).condition, "amqp:not-allowed");
    assert.equal(await sender.send({ body: "still here" }), undefined);
  });

  it("a message that is none is rejected, and the link goes on", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { path, acts } = queue();
    const amqp = await openAmqp(test, servicebus);
    const sender = await amqp.sender(path);
    const bodiless = Buffer.from([0x00, 0x53, 0x72, 0x52, 0x07]);
    const cases = [Buffer.from("no AMQP at all"), noise(7, 100), Buffer.from([0x00]), bodiless];
    for (const bytes of cases) assert.equal((await sender.send(bytes, 0))?.condition, "amqp:decode-error");
    const batch = 0x80013700;
    for (const bytes of cases) assert.equal((await sender.send(bytes, batch))?.condition, "amqp:decode-error");
    assert.equal(await sender.send({ body: "fine" }), undefined);
    assert.equal(acts.messageIds().length, 1);
  });

  it("a disposition for four billion deliveries that were never made changes nothing", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { path, send, acts } = queue();
    await send("a");
    const amqp = await openAmqp(test, servicebus);
    const receiver = await amqp.receiver(path);
    receiver.grant(1);
    const arrival = await receiver.next();
    const { session } = receiver.link;
    const frames = session as unknown as { output(frame: unknown): void };
    frames.output(disposition({ role: true, first: 1, last: 4_294_967_295, settled: true }));
    const answer = await receiver.settle(arrival, (delivery) => delivery.accept());
    assert.equal(answer.error, undefined);
    assert.deepEqual(acts.messageIds(), []);
  });

  const REQUESTS: Readonly<Record<string, readonly unknown[]>> = {
    "renew-lock": [undefined, "text", {}, { "lock-tokens": "x" }, { "lock-tokens": [] }, { "lock-tokens": longs(1) }],
    "schedule-message": [{ messages: [] }, { messages: ["x"] }, { messages: [{ message: "text" }] }],
    "cancel-scheduled-message": [{}, { "sequence-numbers": uuids("00000000-0000-0000-0000-000000000000") }],
    "peek-message": [{ "from-sequence-number": "1" }, { "from-sequence-number": 1 }, { "message-count": 1 }],
    "receive-by-sequence-number": [
      { "sequence-numbers": longs(1) },
      { "sequence-numbers": longs(1), "receiver-settle-mode": 7 },
      { "sequence-numbers": longs(1), "receiver-settle-mode": 1, "session-id": 5 },
    ],
    "update-disposition": [
      { "lock-tokens": uuids("00000000-0000-0000-0000-000000000000") },
      { "lock-tokens": uuids("00000000-0000-0000-0000-000000000000"), "disposition-status": "toString" },
      { "disposition-status": "completed" },
      {
        "lock-tokens": uuids("00000000-0000-0000-0000-000000000000"),
        "disposition-status": "suspended",
        "deadletter-reason": 5,
      },
    ],
    "renew-session-lock": [{}, { "session-id": 1 }],
    "set-session-state": [{ "session-id": null }],
    "get-message-sessions": [{}, { "last-updated-time": 1, skip: 0, top: 1 }],
    "batch-delete-messages": [{ "message-count": 1 }],
  };

  it("requests with fields of wrong types are answered amqp:invalid-field", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const { path } = queue();
    const amqp = await openAmqp(test, servicebus);
    for (const [operation, bodies] of Object.entries(REQUESTS)) {
      for (const body of bodies) {
        const { properties } = await amqp.request(path, operation, body);
        assert.deepEqual(
          [properties["statusCode"], properties["errorCondition"]],
          [400, "amqp:invalid-field"],
          operation,
        );
      }
    }
  });

  it("a message that cannot be read cannot be scheduled", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const amqp = await openAmqp(test, servicebus);
    const { properties } = await amqp.request(queue().path, "schedule-message", {
      messages: [{ message: noise(3, 20) }],
    });
    assert.deepEqual([properties["statusCode"], properties["errorCondition"]], [400, "amqp:decode-error"]);
  });

  it("operations that there are not are answered amqp:not-implemented", async (test) => {
    const { servicebus, queue } = await openServicebus(test);
    const amqp = await openAmqp(test, servicebus);
    const { path } = queue();
    for (const operation of ["add-rule", "toString", ""]) {
      const { properties } = await amqp.request(path, operation, {});
      assert.deepEqual([properties["statusCode"], properties["errorCondition"]], [501, "amqp:not-implemented"]);
    }
    const { properties } = await amqp.request("nowhere", "peek-message", {});
    assert.deepEqual([properties["statusCode"], properties["errorCondition"]], [404, "amqp:not-found"]);
  });
});

/** Hung up on in whatever way: `once` would reject where bytes of ours came too late. */
function closeOf(socket: Socket): Promise<void> {
  socket.on("error", () => undefined);
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

function disposition(fields: object): unknown {
  const types = rhea.types as unknown as { define_composite(definition: object): { create(fields: object): unknown } };
  return types
    .define_composite({
      name: "disposition",
      code: 0x15,
      fields: [
        { name: "role", type: "boolean", mandatory: true },
        { name: "first", type: "uint", mandatory: true },
        { name: "last", type: "uint" },
        { name: "settled", type: "boolean" },
        { name: "state", type: "*" },
      ],
    })
    .create(fields);
}
