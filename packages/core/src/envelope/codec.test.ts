import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeEnvelope, encodeEnvelope } from "./codec.ts";
import { EVENT_CONTENT_TYPE, type TaskEvent } from "./envelope.ts";
import { inputOf } from "./ids.ts";

const EVENT: TaskEvent = {
  id: "task_1",
  source: "leasehold:orders",
  type: "publish_post",
  time: "2026-01-31T12:00:00.000Z",
  data: { title: "Hello" },
};
const MEMBERS = { specversion: "1.0", id: "1", source: "urn:shop", type: "order" };

function decoded(body: string, contentType: string | undefined = EVENT_CONTENT_TYPE): TaskEvent {
  const outcome = decodeEnvelope(body, contentType);
  assert.ok(outcome.ok, outcome.ok ? "" : outcome.reason);
  return outcome.event;
}

function refused(members: unknown, contentType: string | undefined = EVENT_CONTENT_TYPE): string {
  const outcome = decodeEnvelope(typeof members === "string" ? members : JSON.stringify(members), contentType);
  assert.ok(!outcome.ok);
  return `${outcome.code}: ${outcome.reason}`;
}

test("an event with everything comes back as it was", () => {
  const event: TaskEvent = {
    ...EVENT,
    agentrunid: "run-8842",
    idempotencykey: "run-8842:publish",
    partitionkey: "customer/7",
    notbefore: "2026-02-01T00:00:00.000Z",
    deadline: "2026-03-01T00:00:00.000Z",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    tracestate: "vendor=1",
    deadletterfence: 3,
    extensions: { tenant: "a", priority: 7, dryrun: true },
  };
  assert.deepEqual(decoded(encodeEnvelope(event)), event);
  const { data, ...byReference } = event;
  assert.deepEqual(decoded(encodeEnvelope({ ...byReference, dataref: "abc" })), { ...byReference, dataref: "abc" });
});

test("what is on the wire is CloudEvents 1.0", () => {
  assert.deepEqual(JSON.parse(encodeEnvelope({ ...EVENT, extensions: { tenant: "a" } })), {
    specversion: "1.0",
    id: "task_1",
    source: "leasehold:orders",
    type: "publish_post",
    time: "2026-01-31T12:00:00.000Z",
    tenant: "a",
    datacontenttype: "application/json",
    data: { title: "Hello" },
  });
});

test("an extension cannot take the place of a member", () => {
  const body = encodeEnvelope({
    ...EVENT,
    extensions: { id: "other", data: "other", data_base64: "AA==", specversion: "2" },
  });
  assert.deepEqual(decoded(body), EVENT);
});

test("every code unit survives, and every broker takes the text", () => {
  for (let start = 0; start < 0x10000; start += 0x400) {
    let text = "";
    for (let unit = start; unit < start + 0x400; unit++) text += String.fromCharCode(unit);
    const event = { ...EVENT, data: { [text]: text, nested: [text] } };
    const body = encodeEnvelope(event);
    // The XML 1.0 character set is the narrowest there is (SQS-44); a lone surrogate would not survive UTF-8.
    assert.match(body, /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]*$/u);
    assert.equal(Buffer.from(body, "utf8").toString("utf8"), body);
    assert.deepEqual(decoded(body), event);
  }
  const astral = { ...EVENT, data: "\u{1F916}\u{1FFFE}\u{10FFFF}" };
  assert.deepEqual(decoded(encodeEnvelope(astral)), astral);
});

test("data is kept exactly, members named __proto__ included", () => {
  const body = `{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"__proto__":{"admin":true},"constructor":{"prototype":1},"b":[null,0,"",false,{}]}}`;
  const { data } = decoded(body);
  assert.ok(Object.hasOwn(data as object, "__proto__"));
  assert.equal((data as { admin?: unknown }).admin, undefined);
  assert.equal(({} as { admin?: unknown }).admin, undefined);
  assert.equal(
    JSON.stringify(data),
    `{"__proto__":{"admin":true},"constructor":{"prototype":1},"b":[null,0,"",false,{}]}`,
  );
  assert.equal(
    JSON.stringify((JSON.parse(encodeEnvelope({ ...EVENT, data })) as TaskEvent).data),
    JSON.stringify(data),
  );
});

test("an attribute named __proto__ harms nothing", () => {
  for (const value of [`{"admin":true}`, `"text"`, "1", "null", "[]"]) {
    const event = decoded(`{"__proto__":${value},"specversion":"1.0","id":"1","source":"s","type":"t","data":1}`);
    assert.equal(Object.getPrototypeOf(event), Object.prototype);
    assert.equal((event as { admin?: unknown }).admin, undefined);
    assert.equal(decoded(encodeEnvelope(event)).data, 1);
  }
});

test("falsy data is data; no data is null", () => {
  for (const data of [0, "", false, null, [], {}])
    assert.deepEqual(decoded(JSON.stringify({ ...MEMBERS, data })).data, data);
  assert.deepEqual(decoded(JSON.stringify(MEMBERS)), { id: "1", source: "urn:shop", type: "order", data: null });
});

test("foreign producers are met half-way", () => {
  const body = JSON.stringify({ ...MEMBERS, data: 1, subject: "s", time: null, list: [1], object: {}, unsetext: null });
  const event = { id: "1", source: "urn:shop", type: "order", data: 1, extensions: { subject: "s" } };
  const types = [
    undefined,
    "",
    "application/json",
    "application/cloudevents+json; charset=UTF-8",
    "Application/CloudEvents+JSON",
  ];
  for (const contentType of types) assert.deepEqual(decoded(body, contentType), event);
  assert.deepEqual(decoded(`\uFEFF${body}`), event);
});

test("times come out in UTC", () => {
  const event = decoded(
    JSON.stringify({ ...MEMBERS, time: "2026-01-31T14:00:00.1239+02:00", deadline: "2026-02-01t00:00:00z" }),
  );
  assert.equal(event.time, "2026-01-31T12:00:00.123Z");
  assert.equal(event.deadline, "2026-02-01T00:00:00.000Z");
});

test("a trace context that is none is left out", () => {
  for (const traceparent of [7, "", "00-zz", `00-${"0".repeat(32)}-b7ad6b7169203331-01`, "x".repeat(9_999)]) {
    const event = decoded(JSON.stringify({ ...MEMBERS, traceparent, tracestate: "vendor=1" }));
    assert.ok(!("traceparent" in event) && !("tracestate" in event));
  }
});

test("the reason says what is wrong", () => {
  const data = 1;
  assert.equal(refused({ ...MEMBERS, source: 5, data }), "malformed_event: source: expected text, got a number");
  assert.equal(refused({ ...MEMBERS, id: undefined }), "malformed_event: id: expected text, got nothing");
  assert.match(refused({ ...MEMBERS, id: "" }), /^malformed_event: id: expected text with at least one character/);
  assert.equal(refused({ ...MEMBERS, specversion: "0.3" }), 'malformed_event: specversion: expected "1.0", got text');
  assert.match(
    refused({ ...MEMBERS, deadline: "2026-02-30T00:00:00Z" }),
    /^malformed_event: deadline: expected an RFC 3339 time/,
  );
  assert.match(
    refused({ ...MEMBERS, notbefore: "9999-12-31T00:00:00Z" }),
    /^malformed_event: notbefore: expected an RFC 3339 time/,
  );
  assert.equal(refused({ ...MEMBERS, notbefore: 5 }), "malformed_event: notbefore: expected text, got a number");
  assert.match(
    refused({ ...MEMBERS, partitionkey: "ä b" }),
    /^malformed_event: partitionkey: expected 1 to 128 printable ASCII/,
  );
  assert.match(
    refused({ ...MEMBERS, agentrunid: "x".repeat(257) }),
    /^malformed_event: agentrunid: expected at most 256 bytes/,
  );
  assert.match(refused({ ...MEMBERS, deadletterfence: -1 }), /^malformed_event: deadletterfence: /);
  assert.match(refused("[]"), /expected one CloudEvent as a JSON object, got a list/);
  assert.match(refused("not json"), /got text that is not JSON/);
  assert.match(refused(""), /got empty text/);
  assert.match(
    refused(`${JSON.stringify(MEMBERS).slice(0, -1)},"data":1e999}`),
    /^malformed_event: data: expected finite numbers/,
  );
  assert.match(
    refused(`${JSON.stringify(MEMBERS).slice(0, -1)},"data":${"[".repeat(101)}${"]".repeat(101)}}`),
    /data: expected at most 100 levels/,
  );
});

test("content that is not JSON is unsupported, not malformed", () => {
  assert.match(refused({ ...MEMBERS, data_base64: "AA==" }), /^unsupported_content: data_base64: /);
  assert.match(
    refused({ ...MEMBERS, datacontenttype: "application/xml", data: "<a/>" }),
    /^unsupported_content: datacontenttype: .+"application\/xml"/,
  );
  assert.match(refused({ ...MEMBERS, data: 1 }, "text/plain"), /^unsupported_content: content type: .+"text\/plain"/);
  assert.match(refused([], "application/cloudevents-batch+json"), /^unsupported_content: content type: /);
  for (const datacontenttype of [
    "application/json",
    "application/json; charset=utf-8",
    "application/vnd.shop+json",
    "text/json",
    null,
  ]) {
    assert.equal(decoded(JSON.stringify({ ...MEMBERS, datacontenttype, data_base64: null, data: 1 })).data, 1);
  }
});

test("decode never throws, and what it takes can be made canonical", () => {
  const values = [
    null,
    true,
    0,
    -1,
    1e308,
    "",
    "x",
    "\uD800",
    [],
    [[]],
    {},
    { a: 1 },
    "2026-01-31T12:00:00Z",
    "00-1-1-1",
  ];
  const names = [
    "specversion",
    "id",
    "source",
    "type",
    "time",
    "datacontenttype",
    "data",
    "data_base64",
    "dataref",
    "agentrunid",
  ];
  const more = [
    "idempotencykey",
    "partitionkey",
    "notbefore",
    "deadline",
    "traceparent",
    "tracestate",
    "deadletterfence",
    "__proto__",
  ];
  let taken = 0;
  for (const name of [...names, ...more]) {
    for (const value of values) {
      const outcome = decodeEnvelope(
        JSON.stringify({ ...MEMBERS, ...Object.fromEntries([[name, value]]) }),
        EVENT_CONTENT_TYPE,
      );
      if (!outcome.ok) {
        assert.notEqual(outcome.reason, "");
        continue;
      }
      taken += 1;
      if (outcome.event.dataref === undefined) inputOf(outcome.event.data);
      assert.deepEqual(decoded(encodeEnvelope(outcome.event)), outcome.event);
    }
  }
  assert.ok(taken > 50);
  const bodies = [undefined, null, 7, {}, "{", "\u0000", "\uD800", "[".repeat(200_000), `{"a":`.repeat(50_000)];
  for (const body of bodies) assert.equal(decodeEnvelope(body as string, undefined).ok, false);
  assert.equal(decodeEnvelope(JSON.stringify(MEMBERS), 5 as unknown as string).ok, true);
});
