import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLeaseholdError } from "@leasehold/core/driver";
import fc from "fast-check";
import { fromAttributes, toAttributes } from "./attributes.ts";
import { cursorOf, placeOf } from "./cursor.ts";
import { fromDynamo } from "./errors.ts";
import { conditionExpression, createPlaceholders, updateExpression } from "./expressions.ts";
import { KEY_FIELD } from "./table-shape.ts";

const runs = { numRuns: 500, seed: 1 };
const anything = fc.anything({ withNullPrototype: true, withDate: true, withBigInt: true });
const name = fc.oneof(fc.constantFrom("__proto__", "constructor", "a.b", "#a", ":a", "size", "status"), fc.string());

test("an item is read as it was written, whatever its fields are called", () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.tuple(name, fc.jsonValue({ maxDepth: 3 }))), (key, fields) => {
      fc.pre(fields.every(([field]) => field !== KEY_FIELD));
      const item = Object.fromEntries(fields) as never;
      const attributes = toAttributes(key, item);
      assert.deepEqual(attributes[KEY_FIELD], { S: key });
      // As text: -0 is 0 in JSON and in DynamoDB.
      assert.equal(JSON.stringify(fromAttributes(attributes)), JSON.stringify(item));
    }),
    runs,
  );
});

describe("expressions", () => {
  test("name every field and value by a placeholder, so that no name can be taken for syntax", () => {
    const path = fc.oneof(name, fc.array(name, { minLength: 1, maxLength: 3 }));
    fc.assert(
      fc.property(path, name, fc.jsonValue({ maxDepth: 1 }), (first, field, value) => {
        const placeholders = createPlaceholders();
        const texts = [
          conditionExpression({ all: [{ exists: first }, { field, is: "=", value: "x" }] } as never, placeholders),
          updateExpression({ set: { [field]: value } } as never, placeholders) ?? "",
        ];
        for (const text of texts) assert.match(text, /^[#:A-Za-z0-9_ .,()=<>+-]*$/);
      }),
      runs,
    );
  });
});

test("a cursor names the place that it was made from; any other text is refused", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string({ unit: "binary" }), (sort, key, text) => {
      assert.deepEqual(placeOf(cursorOf({ sort, key })), { sort, key });
      try {
        placeOf(text);
      } catch (error) {
        assert.ok(isLeaseholdError(error, "InvalidArgument"));
      }
    }),
    runs,
  );
});

test("whatever the client throws is one error of leasehold", () => {
  const known = fc.record(
    {
      name: fc.oneof(fc.constantFrom("ThrottlingException", "ValidationException", "TimeoutError"), anything),
      message: fc.oneof(fc.string(), anything),
      code: fc.oneof(fc.constantFrom("ECONNRESET", "ETIMEDOUT"), anything),
      $metadata: anything,
      $retryable: anything,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(known, anything), (thrown) => {
      const error = fromDynamo(thrown, { doing: "update", table: "tasks" });
      assert.ok(isLeaseholdError(error));
      assert.ok(error.message.startsWith("update in table tasks failed"));
    }),
    runs,
  );
});
