import assert from "node:assert/strict";
import { test } from "node:test";
import { cursorOf, placeOf } from "./cursor.ts";

test("a cursor brings back the place that it was made of", () => {
  const place = { sort: "2026-01-01T00:00:00.000Z", key: 'task#"quoted", and # more' };
  assert.deepEqual(placeOf(cursorOf(place)), place);
});

test("other text is refused", () => {
  for (const text of ["", "x", "{}", "[]", '["a"]', '["a",1]', '["a","b","c"]', "null"]) {
    assert.throws(() => placeOf(text), { code: "InvalidArgument", message: /cursor/ }, text);
  }
});
