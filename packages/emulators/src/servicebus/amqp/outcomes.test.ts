import assert from "node:assert/strict";
import { describe, it } from "node:test";
import rhea from "rhea";
import { outcomeOf, plainProperties } from "./outcomes.ts";

interface Codec {
  readonly types: { readonly Reader: new (bytes: Buffer) => { read(): unknown } };
  readonly message: { unwrap_outcome(outcome: unknown): unknown };
}

/** An outcome as rhea shows it, from its bytes. */
function read(...bytes: readonly number[]): unknown {
  const { types, message } = rhea as unknown as Codec;
  return message.unwrap_outcome(new types.Reader(Buffer.from(bytes)).read());
}

describe("outcomes of Service Bus", () => {
  it("tell defer from abandon, however long a boolean is written", () => {
    const modified = (...fields: readonly number[]) =>
      outcomeOf("modified", read(0x00, 0x53, 0x27, 0xc0, fields.length + 1, 2, ...fields)).kind;
    assert.equal(modified(0x41, 0x41), "defer");
    assert.equal(modified(0x41, 0x56, 1), "defer");
    assert.equal(modified(0x41, 0x56, 0), "abandon");
    assert.equal(modified(0x41, 0x42), "abandon");
    assert.equal(modified(0x40, 0x40), "abandon");
  });

  it("keep the types of what they add", () => {
    const long = [0xa3, 1, 0x61, 0x55, 7];
    const modified = outcomeOf("modified", read(0x00, 0x53, 0x27, 0xc0, 11, 3, 0x41, 0x42, 0xc1, 6, 2, ...long));
    assert.ok(modified.kind === "abandon");
    const typed = modified.properties?.["a"] as {
      readonly type: { readonly typecode: number };
      readonly value: number;
    };
    assert.deepEqual([typed.type.typecode, typed.value], [0x55, 7]);
    assert.deepEqual(plainProperties(modified.properties), { a: 7 });
  });

  it("take what makes no sense for nothing", () => {
    const text = [0xa1, 1, 0x78];
    assert.deepEqual(outcomeOf("rejected", read(0x00, 0x53, 0x25, 0xc0, 4, 1, ...text)), {
      kind: "dead-letter",
      properties: {},
    });
    assert.deepEqual(outcomeOf("modified", read(0x00, 0x53, 0x27, ...text)), { kind: "abandon", properties: {} });
  });
});
