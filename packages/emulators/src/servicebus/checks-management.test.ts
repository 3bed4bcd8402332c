import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import rhea from "rhea";
import { longs, uuids } from "../testing/amqp.ts";
import { openDesk } from "../testing/desk.ts";
import { sectionsOf } from "../testing/wire.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const { wrap_int: int, wrap_long: long, wrap_timestamp: timestamp, wrap_uint: uint } = rhea.types;

describe("requests to $management of the Service Bus server", () => {
  it("1.3: a reply names its request, and says how it went", async (test) => {
    const { request, lock } = await openDesk(test);
    const { message, properties } = await request("renew-lock", { "lock-tokens": uuids(await lock()) });
    assert.equal(properties["statusCode"], 200);
    assert.equal(typeof properties["statusDescription"], "string");
    assert.ok(message.correlation_id);
  });

  it("1.3: a request may name the link that it is about", async (test) => {
    const { request, lock, receiver } = await openDesk(test);
    const token = await lock();
    const { properties } = await request(
      "renew-lock",
      { "lock-tokens": uuids(token) },
      { "associated-link-name": receiver.link.name },
    );
    assert.equal(properties["statusCode"], 200);
  });

  it("1.3: renew-lock answers until when for each token", async (test) => {
    const { request, lock, clock } = await openDesk(test);
    const tokens = [await lock(), await lock()];
    clock.advance(10 * SECOND);
    const { properties, body } = await request("renew-lock", { "lock-tokens": uuids(...tokens) });
    assert.equal(properties["statusCode"], 200);
    const until = Math.floor(clock.now()) + 60 * SECOND;
    assert.deepEqual(body.expirations.map(Number), [until, until]);
  });

  it("1.3: renew-lock of a lock that is lost is refused with 410 and message-lock-lost", async (test) => {
    const { request, lock, clock } = await openDesk(test);
    const token = await lock();
    clock.advance(60 * SECOND);
    for (const lost of [token, randomUUID()]) {
      const { properties } = await request("renew-lock", { "lock-tokens": uuids(lost) });
      assert.equal(properties["statusCode"], 410);
      assert.equal(properties["errorCondition"], "com.microsoft:message-lock-lost");
    }
  });

  it("1.3: schedule-message answers a number for each, cancel-scheduled-message takes them back", async (test) => {
    const { request, clock, acts } = await openDesk(test);
    const due = rhea.types.wrap_timestamp(Math.floor(clock.now()) + HOUR);
    const messages = ["m-1", "m-2", "m-3"].map((id) => ({
      "message-id": id,
      message: rhea.message.encode({
        body: id,
        message_id: id,
        message_annotations: { "x-opt-scheduled-enqueue-time": due },
      }),
    }));
    const scheduled = await request("schedule-message", { messages });
    assert.equal(scheduled.properties["statusCode"], 200);
    const [first, second] = scheduled.body["sequence-numbers"];
    assert.equal(acts.counts().delayed, 3);
    const cancelled = await request("cancel-scheduled-message", { "sequence-numbers": longs(first, second) });
    assert.equal(cancelled.properties["statusCode"], 200);
    assert.deepEqual(acts.messageIds(), ["m-3"]);
    const again = await request("cancel-scheduled-message", { "sequence-numbers": longs(first) });
    assert.equal(again.properties["statusCode"], 404);
    assert.equal(again.properties["errorCondition"], "com.microsoft:message-not-found");
  });

  it("1.3: peek-message answers encoded messages from a number on, and 204 when there are none", async (test) => {
    const { request, send } = await openDesk(test);
    const peek = (from: number, count: number) =>
      request("peek-message", { "from-sequence-number": long(from), "message-count": int(count) });
    assert.equal((await peek(1, 10)).properties["statusCode"], 204);
    await send("a", "b", "c");
    const { properties, body } = await peek(2, 1);
    assert.equal(properties["statusCode"], 200);
    assert.equal(body.messages.length, 1);
    assert.equal(sectionsOf(body.messages[0].message).value?.value, "b");
    assert.equal((await peek(1, 10)).body.messages.length, 3);
    assert.equal((await peek(4, 10)).properties["statusCode"], 204);
  });

  it("1.3: peek-message tells the state: 0 active, 1 deferred, 2 scheduled", async (test) => {
    const { request, send, lock, settle, clock } = await openDesk(test);
    await settle("defered", await lock());
    await send("active");
    const message = rhea.message.encode({
      body: "scheduled",
      message_annotations: { "x-opt-scheduled-enqueue-time": timestamp(Math.floor(clock.now()) + HOUR) },
    });
    await request("schedule-message", { messages: [{ message, "message-id": "m" }] });
    const { body } = await request("peek-message", { "from-sequence-number": long(1), "message-count": int(10) });
    const states = body.messages.map(
      (entry: { readonly message: Buffer }) =>
        sectionsOf(entry.message).annotations.get("x-opt-message-state")?.value ?? 0,
    );
    assert.deepEqual(states, [1, 0, 2]);
  });

  it("1.3: receive-by-sequence-number locks what is deferred, with a token in the order of RFC 4122", async (test) => {
    const { request, lock, settle, renew } = await openDesk(test);
    await settle("defered", await lock());
    const { properties, body } = await request("receive-by-sequence-number", {
      "sequence-numbers": longs(1),
      "receiver-settle-mode": uint(1),
    });
    assert.equal(properties["statusCode"], 200);
    const [entry] = body.messages;
    const token = rhea.uuid_to_string(entry["lock-token"]);
    assert.equal(await renew(token), 200);
    const { annotations } = sectionsOf(entry.message);
    assert.equal(annotations.get("x-opt-locked-until")?.type, "Timestamp");
    // The client of Python looks for it there.
    assert.ok(rhea.message.decode(entry.message)["delivery_annotations"]["x-opt-lock-token"]);
  });

  it("1.3: receive-by-sequence-number with mode 0 gives away, and then the number is not there", async (test) => {
    const { request, lock, settle, acts } = await openDesk(test);
    await settle("defered", await lock());
    const body = { "sequence-numbers": longs(1), "receiver-settle-mode": uint(0) };
    assert.equal((await request("receive-by-sequence-number", body)).properties["statusCode"], 200);
    assert.deepEqual(acts.messageIds(), []);
    const { properties } = await request("receive-by-sequence-number", body);
    assert.equal(properties["statusCode"], 404);
    assert.equal(properties["errorCondition"], "com.microsoft:message-not-found");
  });

  it("1.3: update-disposition settles by token: completed, abandoned, defered, suspended", async (test) => {
    const { lock, settle, acts, deadLetterIds } = await openDesk(test);
    assert.equal(await settle("completed", await lock("m-1")), 200);
    assert.deepEqual(acts.messageIds(), []);
    assert.equal(await settle("defered", await lock("m-2")), 200);
    assert.deepEqual(acts.counts(), { visible: 0, inFlight: 0, delayed: 1 });
    const more = { "deadletter-reason": "reason", "deadletter-description": "description" };
    assert.equal(await settle("suspended", await lock("m-3"), more), 200);
    assert.deepEqual(deadLetterIds(), ["m-3"]);
    assert.equal(await settle("abandoned", await lock("m-4")), 200);
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 0, delayed: 1 });
  });

  it("1.3: update-disposition changes properties, and settles several at once", async (test) => {
    const { request, lock, receiver, acts } = await openDesk(test);
    const tokens = [await lock("m-1"), await lock("m-2")];
    const { properties } = await request("update-disposition", {
      "lock-tokens": uuids(...tokens),
      "disposition-status": "abandoned",
      "properties-to-modify": { added: 7 },
    });
    assert.equal(properties["statusCode"], 200);
    assert.equal(acts.counts().visible, 2);
    receiver.grant(2);
    for (const _ of tokens) {
      const { message } = await receiver.next();
      assert.equal(message.application_properties?.["added"], 7);
      assert.equal(message.delivery_count, 1);
    }
  });

  it("1.3: update-disposition of a lock that is lost is refused with 410 and message-lock-lost", async (test) => {
    const { request, lock, acts, clock } = await openDesk(test);
    const token = await lock();
    clock.advance(60 * SECOND);
    for (const status of ["completed", "abandoned", "defered", "suspended"]) {
      const { properties } = await request("update-disposition", {
        "lock-tokens": uuids(token),
        "disposition-status": status,
      });
      assert.equal(properties["statusCode"], 410);
      assert.equal(properties["errorCondition"], "com.microsoft:message-lock-lost");
    }
    assert.equal(acts.counts().visible, 1);
  });

  it("1.3: a session is renewed, and has a state that is bytes or nothing", async (test) => {
    const { amqp, servicebus, clock } = await openDesk(test);
    servicebus.createQueue("s", { requiresSession: true });
    await amqp.receiver({ address: "s", filter: { "com.microsoft:session-filter": "a" } });
    const ask = (operation: string, more = {}) => amqp.request("s", operation, { "session-id": "a", ...more });
    clock.advance(10 * SECOND);
    const renewed = await ask("renew-session-lock");
    assert.equal(renewed.properties["statusCode"], 200);
    assert.equal(Number(renewed.body.expiration), Math.floor(clock.now()) + 60 * SECOND);
    assert.equal((await ask("get-session-state")).body["session-state"], null);
    const state = Buffer.from([0, 1, 255]);
    assert.equal((await ask("set-session-state", { "session-state": state })).properties["statusCode"], 200);
    assert.deepEqual((await ask("get-session-state")).body["session-state"], state);
    assert.equal((await ask("set-session-state", { "session-state": null })).properties["statusCode"], 200);
    assert.equal((await ask("get-session-state")).body["session-state"], null);
  });

  it("1.3: get-message-sessions lists the sessions that have messages, a part at a time", async (test) => {
    const { amqp, servicebus, clock } = await openDesk(test);
    servicebus.createQueue("s", { requiresSession: true });
    const list = (skip: number, top: number) =>
      amqp.request("s", "get-message-sessions", {
        "last-updated-time": timestamp(Math.floor(clock.now()) - HOUR),
        skip: int(skip),
        top: int(top),
      });
    const sender = await amqp.sender("s");
    for (const group_id of ["a", "b", "c", "a"]) await sender.send({ body: "x", group_id });
    assert.deepEqual([...(await list(0, 10)).body["sessions-ids"]].toSorted(), ["a", "b", "c"]);
    const parts = [...(await list(0, 2)).body["sessions-ids"], ...(await list(2, 2)).body["sessions-ids"]];
    assert.deepEqual(parts.toSorted(), ["a", "b", "c"]);
  });

  it("SB-61: batch-delete-messages takes the oldest that nobody has locked", async (test) => {
    const { request, send, lock, renew, acts, clock } = await openDesk(test);
    const token = await lock("m-1");
    await send("m-2", "m-3");
    clock.advance(SECOND);
    const before = timestamp(Math.floor(clock.now()));
    await send("m-4");
    const remove = (count: number) =>
      request("batch-delete-messages", { "message-count": int(count), "enqueued-time-utc": before });
    const { properties, body } = await remove(1);
    assert.equal(properties["statusCode"], 200);
    assert.equal(body["message-count"], 1);
    assert.deepEqual(acts.messageIds(), ["m-1", "m-3", "m-4"]);
    assert.equal((await remove(10)).body["message-count"], 1);
    assert.deepEqual(acts.messageIds(), ["m-1", "m-4"]);
    assert.equal(await renew(token), 200);
  });

  it("1.3: two pairs of links have replies of their own", async (test) => {
    const { request, amqp, servicebus } = await openDesk(test);
    servicebus.createQueue("other");
    const replies = await Promise.all([
      request("peek-message", { "from-sequence-number": long(1), "message-count": int(1) }),
      amqp.request("other", "renew-lock", { "lock-tokens": uuids(randomUUID()) }),
    ]);
    assert.deepEqual(
      replies.map(({ properties }) => properties["statusCode"]),
      [204, 410],
    );
  });
});
