import assert from "node:assert/strict";
import { it } from "node:test";
import { attributesMd5, attributesSize } from "./message-attributes.ts";

it("digests of attributes are those that AWS gives", () => {
  const value = "1493147359900";
  // Known results, of one attribute and of two that are not in order.
  assert.equal(
    attributesMd5({ timestamp: { DataType: "Number.java.lang.Long", StringValue: value } }),
    "2e2e4876d8e0bd6b8c2c8f556831c349",
  );
  assert.equal(
    attributesMd5({
      ordinal: { DataType: "Number", StringValue: "1" },
      category: { DataType: "String", StringValue: "test" },
    }),
    "d21ae90c49061e927f57df5f5d72be1f",
  );
  assert.equal(attributesMd5({}), undefined);
  assert.equal(attributesMd5(undefined), undefined);
});

it("binary values count and are digested as bytes", () => {
  const text = { a: { DataType: "String", StringValue: "abc" } };
  const bytes = { a: { DataType: "Binary", BinaryValue: Buffer.from("abc").toString("base64") } };
  assert.equal(attributesSize(text), "aStringabc".length);
  assert.equal(attributesSize(bytes), "aBinaryabc".length);
  assert.notEqual(attributesMd5(bytes), attributesMd5(text));
});
