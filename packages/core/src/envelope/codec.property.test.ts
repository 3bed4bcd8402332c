import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { decodeEnvelope, encodeEnvelope, isAttribute } from "./codec.ts";
import { EVENT_CONTENT_TYPE, type TaskEvent } from "./envelope.ts";

const runs = { numRuns: 500, seed: 1 };
const unit = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
const attribute = unit.filter(isAttribute);
const time = fc
  .date({ min: new Date(0), max: new Date("9998-12-31T23:59:59.999Z"), noInvalidDate: true })
  .map((date) => date.toISOString());
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const extensionName = fc.stringMatching(/^[a-z0-9]{1,20}$/).filter((name) => !(name in KNOWN));
const KNOWN: Readonly<Record<string, true>> = {
  data: true,
  id: true,
  source: true,
  type: true,
  time: true,
  dataref: true,
  deadline: true,
  notbefore: true,
};

/** Everything that an event can say; what is `undefined` is left out. */
const event: fc.Arbitrary<TaskEvent> = fc
  .record({
    id: unit,
    source: unit,
    type: attribute,
    time: optional(time),
    data: fc.jsonValue({ noUnicodeString: false }),
    agentrunid: optional(attribute),
    idempotencykey: optional(attribute),
    partitionkey: optional(fc.stringMatching(/^[\x21-\x7e]{1,128}$/)),
    notbefore: optional(time),
    deadline: optional(time),
    deadletterfence: optional(fc.nat()),
    extensions: optional(
      fc.dictionary(extensionName, fc.oneof(unit, fc.integer(), fc.boolean()), { minKeys: 1, noNullPrototype: true }),
    ),
  })
  .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never);

/** What every broker takes in a body (SQS-44). */
const TAKEN = /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]*$/u;

describe("any event", () => {
  test("is read as it was written", () => {
    fc.assert(
      fc.property(event, (written) => {
        const decoded = decodeEnvelope(encodeEnvelope(written), EVENT_CONTENT_TYPE);
        assert.ok(decoded.ok, decoded.ok ? "" : decoded.reason);
        // As JSON has it: -0 is 0.
        assert.deepEqual(decoded.event, JSON.parse(JSON.stringify(written)));
      }),
      runs,
    );
  });

  test("is made of characters that every broker takes", () => {
    fc.assert(
      fc.property(event, (written) => TAKEN.test(encodeEnvelope(written))),
      runs,
    );
  });
});

describe("any body", () => {
  const refusedWell = (body: string, contentType: string | undefined): void => {
    const decoded = decodeEnvelope(body, contentType);
    if (decoded.ok) return;
    assert.match(decoded.code, /^(malformed_event|unsupported_content)$/);
    assert.ok(decoded.reason.length > 10, decoded.reason);
  };

  test("of text is an event, or is refused with a reason", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), optional(fc.string()), refusedWell), runs);
  });

  test("of JSON is an event, or is refused with a reason", () => {
    fc.assert(
      fc.property(fc.json(), (body) => refusedWell(body, EVENT_CONTENT_TYPE)),
      runs,
    );
  });

  test("of an event with one member changed to anything is an event, or is refused with a reason", () => {
    const name = fc.oneof(
      fc.constantFrom(
        "specversion",
        "id",
        "source",
        "type",
        "time",
        "data",
        "data_base64",
        "datacontenttype",
        "dataref",
        "partitionkey",
        "notbefore",
        "deadline",
        "deadletterfence",
        "traceparent",
        "tracestate",
        "__proto__",
        "constructor",
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(event, name, fc.jsonValue(), (written, member, value) => {
        const members = JSON.parse(encodeEnvelope(written)) as Record<string, unknown>;
        const changed = Object.fromEntries([...Object.entries(members), [member, value]]);
        refusedWell(JSON.stringify(changed), EVENT_CONTENT_TYPE);
      }),
      runs,
    );
  });

  test("that was cut short, or has a character changed, is an event, or is refused with a reason", () => {
    fc.assert(
      fc.property(event, fc.nat(), fc.string({ unit: "binary", maxLength: 1 }), (written, place, character) => {
        const body = encodeEnvelope(written);
        const at = place % body.length;
        refusedWell(body.slice(0, at), EVENT_CONTENT_TYPE);
        refusedWell(body.slice(0, at) + character + body.slice(at + 1), EVENT_CONTENT_TYPE);
      }),
      runs,
    );
  });
});
