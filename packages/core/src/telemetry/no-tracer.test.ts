import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { context, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { AlwaysOffSampler, InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createTelemetry } from "./create-telemetry.ts";
import { noTelemetry } from "./no-telemetry.ts";
import type { AttemptEvent, TraceHeaders } from "./telemetry.ts";
import { formatTraceHeaders, parseTraceparent } from "./trace-context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
const sending = { queue: "posts", provider: "memory", type: "publish_post", taskId: "t1" };
const attempt: AttemptEvent = {
  ...sending,
  at: Date.UTC(2026, 0, 31),
  event: undefined,
  recordTraceparent: undefined,
  attempt: 1,
  fence: 1,
  agentRunId: undefined,
};
const headersOf = async (headers: TraceHeaders): Promise<TraceHeaders> => headers;

describe("without a tracer", () => {
  before(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  after(() => context.disable());
  afterEach(() => trace.disable());

  it("a message carries the trace that the caller is in, if there is one", async () => {
    const telemetry = createTelemetry();
    assert.deepEqual(await telemetry.send(sending, headersOf), {});
    const producer = parseTraceparent(traceparent);
    assert.ok(producer);
    const within = trace.setSpanContext(context.active(), producer);
    assert.deepEqual(await context.with(within, () => telemetry.send(sending, headersOf)), { traceparent });
  });

  it("an attempt still hands the producer's trace on", () => {
    const span = createTelemetry().process({ ...attempt, event: { traceparent } });
    assert.equal(span.traceId, traceId);
    assert.deepEqual(formatTraceHeaders(trace.getSpanContext(span.context)), { traceparent });
    span.claim("preflight", "loaded the draft");
    span.effectStep("publish", "begin");
    span.end("settled");
    span.settle("complete");
  });

  it("an attempt that nobody traced has no trace, and what surrounds it stays", () => {
    const telemetry = createTelemetry();
    assert.equal(telemetry.process(attempt).traceId, undefined);
    const key = Symbol("tenant");
    context.with(context.active().setValue(key, "acme"), () => {
      assert.equal(telemetry.process(attempt).context.getValue(key), "acme");
      assert.equal(telemetry.process({ ...attempt, event: { traceparent } }).context.getValue(key), "acme");
    });
  });

  it("spans begin as soon as an SDK is registered", async () => {
    const telemetry = createTelemetry();
    telemetry.process(attempt).end("settled");
    const exporter = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
    await telemetry.send(sending, headersOf);
    telemetry.process(attempt).end("settled");
    assert.deepEqual(
      exporter.getFinishedSpans().map((span) => span.name),
      ["send posts", "process posts"],
    );
  });
});

describe("a tracer that samples nothing", () => {
  it("makes no spans, and passes the decision on", async () => {
    const exporter = new InMemorySpanExporter();
    const tracerProvider = new TracerProvider({
      sampler: new AlwaysOffSampler(),
      spanProcessors: [new SimpleSpanProcessor({ exporter })],
    });
    const telemetry = createTelemetry({ tracerProvider });
    const headers = await telemetry.send(sending, headersOf);
    assert.match(headers.traceparent ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    const span = telemetry.process({ ...attempt, event: headers });
    span.claim("preflight", "loaded the draft");
    span.effectStep("publish", "begin");
    span.settle("complete");
    span.end("lost", new Error("gone"));
    assert.equal(span.traceId, parseTraceparent(headers.traceparent)?.traceId);
    assert.equal(trace.getSpanContext(span.context)?.traceFlags, 0);
    assert.deepEqual(exporter.getFinishedSpans(), []);
  });
});

describe("no telemetry", () => {
  it("makes the call and passes nothing on", async () => {
    assert.deepEqual(await noTelemetry.send(sending, headersOf), {});
    const span = noTelemetry.process({ ...attempt, event: { traceparent } });
    assert.equal(span.traceId, undefined);
    assert.equal(span.context, ROOT_CONTEXT);
  });
});
