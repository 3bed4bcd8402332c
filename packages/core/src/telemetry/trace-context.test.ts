import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTraceState, INVALID_SPAN_CONTEXT, TraceFlags } from "@opentelemetry/api";
import { formatTime } from "../clock.ts";
import { formatTraceHeaders, parseTraceparent, STALE_AFTER_MS, traceLinkOf } from "./trace-context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${spanId}-01`;
const sameTrace = `00-${traceId}-b7ad6b7169203331-01`;
const otherTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("traceparent", () => {
  it("is read as the producer's remote span", () => {
    assert.deepEqual(parseTraceparent(traceparent), {
      traceId,
      spanId,
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    });
    assert.equal(parseTraceparent(traceparent, "vendor=1")?.traceState?.get("vendor"), "1");
  });

  const refused: Readonly<Record<string, string | undefined>> = {
    absent: undefined,
    empty: "",
    "of another form": "not-a-trace",
    "too short": traceparent.slice(0, -1),
    "of version 00 with more behind it": `${traceparent}-01`,
    "of version ff": `ff${traceparent.slice(2)}`,
    "upper case": traceparent.toUpperCase(),
    "a trace of zeros": `00-${"0".repeat(32)}-${spanId}-01`,
    "a span of zeros": `00-${traceId}-${"0".repeat(16)}-01`,
    "with a line break": `${traceparent}\n`,
  };
  for (const [name, text] of Object.entries(refused)) {
    it(`is none when it is ${name}`, () => assert.equal(parseTraceparent(text), undefined));
  }

  it("of a later version is read as far as it is known", () => {
    assert.equal(parseTraceparent(`01${traceparent.slice(2)}-more`)?.spanId, spanId);
    assert.equal(parseTraceparent(`01${traceparent.slice(2)}`)?.traceId, traceId);
  });

  it("is written as it was read", () => {
    assert.deepEqual(formatTraceHeaders(parseTraceparent(traceparent)), { traceparent });
    const unsampled = `00-${traceId}-${spanId}-00`;
    assert.deepEqual(formatTraceHeaders(parseTraceparent(unsampled)), { traceparent: unsampled });
    const state = { traceId, spanId, traceFlags: 1, traceState: createTraceState("a=1,b=2") };
    assert.deepEqual(formatTraceHeaders(state), { traceparent, tracestate: "a=1,b=2" });
  });

  it("of a context that is none is left out", () => {
    assert.deepEqual(formatTraceHeaders(undefined), {});
    assert.deepEqual(formatTraceHeaders(INVALID_SPAN_CONTEXT), {});
  });
});

describe("trace link", () => {
  const nowMs = Date.UTC(2026, 0, 31, 12);
  const at = (ageMs: number): string => formatTime(nowMs - ageMs);

  it("is missing when neither event nor record has a valid traceparent", () => {
    assert.equal(traceLinkOf(undefined, undefined, nowMs), "missing");
    assert.equal(traceLinkOf({ time: at(0) }, undefined, nowMs), "missing");
    assert.equal(traceLinkOf({ traceparent: "junk", time: at(STALE_AFTER_MS + 1) }, "junk", nowMs), "missing");
  });

  it("is there when either has one, or both name the same trace", () => {
    assert.equal(traceLinkOf({ traceparent, time: at(0) }, undefined, nowMs), "ok");
    assert.equal(traceLinkOf({ time: at(0) }, traceparent, nowMs), "ok");
    assert.equal(traceLinkOf(undefined, traceparent, nowMs), "ok");
    assert.equal(traceLinkOf({ traceparent }, traceparent, nowMs), "ok");
    assert.equal(traceLinkOf({ traceparent: sameTrace }, traceparent, nowMs), "ok");
    assert.equal(traceLinkOf({ traceparent }, "junk", nowMs), "ok");
  });

  it("is stale when they name different traces", () => {
    assert.equal(traceLinkOf({ traceparent: otherTrace, time: at(0) }, traceparent, nowMs), "stale");
  });

  it("is stale when the event is over 7 days old", () => {
    assert.equal(traceLinkOf({ traceparent, time: at(STALE_AFTER_MS) }, traceparent, nowMs), "ok");
    assert.equal(traceLinkOf({ traceparent, time: at(STALE_AFTER_MS + 1) }, traceparent, nowMs), "stale");
    assert.equal(traceLinkOf({ time: at(STALE_AFTER_MS + 1) }, traceparent, nowMs), "stale");
  });

  it("takes a time from the future, or none that can be read, for young", () => {
    assert.equal(traceLinkOf({ traceparent, time: at(-60_000) }, traceparent, nowMs), "ok");
    assert.equal(traceLinkOf({ traceparent, time: "last week" }, traceparent, nowMs), "ok");
  });
});
