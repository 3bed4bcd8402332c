import assert from "node:assert/strict";
import { test } from "node:test";
import { checkMessages } from "./message.ts";

test("names of attributes that are the service's own are refused, and those that its clients put in are not", () => {
  checkMessages([{ attributes: { googclient_traceparent: "00-1-2-01" } }]);
  assert.throws(() => checkMessages([{ attributes: { "google-own": "v" } }]), { status: "INVALID_ARGUMENT" });
});
