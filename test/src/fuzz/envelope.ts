import assert from "node:assert/strict";
import { decodeEnvelope, EVENT_CONTENT_TYPE, encodeEnvelope, type TaskEvent } from "@leasehold/core/driver";
import { createDice } from "../simulation/random.ts";
import { mutate } from "./mutate.ts";

const EVENT: TaskEvent = {
  id: "task-1",
  source: "leasehold:fuzz",
  type: "publish_post",
  time: "2026-01-31T12:00:00.000Z",
  data: { title: "Hello, wörld", list: [1, 2.5, null, true], nested: { "": "\u0000\uffff" } },
  agentrunid: "run-1",
  idempotencykey: "key-1",
  partitionkey: "group-1",
  notbefore: "2026-01-31T12:00:00.000Z",
  deadline: "2026-02-01T12:00:00.000Z",
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  deadletterfence: 7,
  extensions: { color: "blue", size: 3 },
};

/** Reads an event in `inputs` wrong ways: each is an event, or is refused with a reason; none throws. */
export function fuzzEnvelope(inputs: number, seed: number): { readonly read: number; readonly refused: number } {
  const dice = createDice(seed, "envelope");
  const said = [Buffer.from(encodeEnvelope(EVENT))];
  let read = 0;
  for (let input = 0; input < inputs; input++) {
    const decoded = decodeEnvelope(mutate(said, dice).toString("utf8"), EVENT_CONTENT_TYPE);
    if (decoded.ok) {
      read++;
      // What was read can be sent on.
      assert.ok(decodeEnvelope(encodeEnvelope(decoded.event), EVENT_CONTENT_TYPE).ok);
    } else assert.ok(decoded.reason.length > 10);
  }
  return { read, refused: inputs - read };
}
