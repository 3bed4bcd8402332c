import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { LeaseholdError } from "../errors.ts";
import { createTelemetry } from "./create-telemetry.ts";
import { SPANS } from "./span-definitions.ts";
import type { AttemptEvent, TraceHeaders } from "./telemetry.ts";

const exporter = new InMemorySpanExporter();
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
const telemetry = createTelemetry({ tracerProvider });

const sending = { queue: "posts", provider: "sqs", type: "publish_post", taskId: "t1" };
const attempt: AttemptEvent = {
  ...sending,
  at: Date.UTC(2026, 0, 31),
  event: undefined,
  recordTraceparent: undefined,
  attempt: 2,
  fence: 3,
  agentRunId: "run-1",
};
const ofAttempt = {
  "leasehold.task.type": "publish_post",
  "leasehold.task.id": "t1",
  "leasehold.attempt": 2,
  "leasehold.fence": 3,
};
const messaging = (operation: string) => ({
  "messaging.system": "aws_sqs",
  "messaging.destination.name": "posts",
  "messaging.operation.name": operation,
  "messaging.operation.type": operation,
});

/** Sends, and answers what the message would carry. */
const send = (): Promise<TraceHeaders> => telemetry.send(sending, async (headers) => headers);
const finished = (name: string): ReadableSpan => {
  const found = exporter.getFinishedSpans().filter((span) => span.name === name);
  assert.equal(found.length, 1, `spans named ${name}`);
  return found[0] as ReadableSpan;
};
const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;
const linksOf = (span: ReadableSpan): string[] => span.links.map((link) => link.context.spanId);

describe("spans", () => {
  before(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  after(() => context.disable());
  beforeEach(() => exporter.reset());

  it("make one trace from the producer to the settle", async () => {
    const application = tracerProvider.getTracer("application");
    const turn = application.startSpan("chat turn");
    const headers = await context.with(trace.setSpan(context.active(), turn), send);
    turn.end();
    telemetry.received("posts", 1, "sqs", [headers]);
    const span = telemetry.process({ ...attempt, event: headers });
    span.claim("preflight", "loaded the draft");
    await context.with(span.context, async () => application.startSpan("render").end());
    span.effectStep("publish", "begin");
    span.effectStep("publish", "verified");
    span.end("settled");
    span.settle("complete");

    const sent = finished("send posts");
    assert.equal(sent.kind, SpanKind.PRODUCER);
    assert.equal(parentOf(sent), turn.spanContext().spanId);
    assert.deepEqual(sent.attributes, {
      ...messaging("send"),
      "leasehold.task.type": "publish_post",
      "leasehold.task.id": "t1",
    });
    const { traceId, spanId } = sent.spanContext();
    assert.deepEqual(headers, { traceparent: `00-${traceId}-${spanId}-01` });

    const received = finished("receive posts");
    assert.equal(received.kind, SpanKind.CLIENT);
    assert.equal(parentOf(received), undefined);
    assert.deepEqual(linksOf(received), [spanId]);
    assert.deepEqual(received.attributes, { ...messaging("receive"), "messaging.batch.message_count": 1 });

    const processed = finished("process posts");
    assert.equal(processed.kind, SpanKind.CONSUMER);
    assert.equal(parentOf(processed), spanId);
    assert.deepEqual(linksOf(processed), [spanId]);
    assert.equal(span.traceId, traceId);
    assert.equal(processed.status.code, SpanStatusCode.UNSET);
    assert.deepEqual(processed.attributes, {
      ...messaging("process"),
      ...ofAttempt,
      "leasehold.agent_run.id": "run-1",
      "leasehold.trace_link": "ok",
      "leasehold.outcome": "settled",
    });

    const names = ["claim preflight", "render", "effect begin publish", "effect verified publish", "settle posts"];
    for (const child of names.map(finished)) {
      assert.equal(parentOf(child), processed.spanContext().spanId, child.name);
      assert.equal(child.spanContext().traceId, traceId, child.name);
    }
    assert.deepEqual(finished("claim preflight").attributes, {
      ...ofAttempt,
      "leasehold.stage": "preflight",
      "leasehold.claim.reason": "loaded the draft",
    });
    assert.deepEqual(finished("effect begin publish").attributes, {
      ...ofAttempt,
      "leasehold.effect.name": "publish",
      "leasehold.effect.step": "begin",
    });
    assert.equal(finished("settle posts").kind, SpanKind.CLIENT);
    assert.deepEqual(finished("settle posts").attributes, {
      ...messaging("settle"),
      ...ofAttempt,
      "leasehold.settle.verb": "complete",
    });
  });

  it("carry the attributes that the documentation names", async () => {
    const failure = new LeaseholdError("Unavailable", "gone");
    await assert.rejects(telemetry.send(sending, () => Promise.reject(failure)));
    telemetry.received("posts", 2, "sqs");
    const span = telemetry.process(attempt);
    span.claim("commit", "wrote");
    span.effectStep("publish:page:7", "begin");
    span.settle("abandon");
    span.end("released", failure);
    const named = { send: "send posts", receive: "receive posts", process: "process posts", settle: "settle posts" };
    const spans = { ...named, claim: "claim commit", effect: "effect begin publish" };
    for (const [key, name] of Object.entries(spans)) {
      const { attributes, kind } = SPANS[key as keyof typeof SPANS];
      assert.deepEqual(Object.keys(finished(name).attributes).sort(), [...attributes].sort(), name);
      assert.equal(finished(name).kind, SpanKind[kind]);
    }
    assert.equal(finished("effect begin publish").attributes["leasehold.effect.item"], "page:7");
  });

  it("of claims and effects outlive an attempt that died", async () => {
    const headers = await send();
    const died = telemetry.process({ ...attempt, event: headers });
    died.claim("external_call", "waiting for batch 7");
    died.effectStep("publish", "begin");
    assert.deepEqual(
      exporter.getFinishedSpans().map((span) => span.name),
      ["send posts", "claim external_call", "effect begin publish"],
    );
    assert.equal(finished("claim external_call").spanContext().traceId, died.traceId);
  });

  it("of claims are not repeated when the claim says nothing new", () => {
    const span = telemetry.process(attempt);
    for (let index = 0; index < 3; index++) span.claim("external_call", "waiting for batch 7");
    span.claim("external_call", "waiting for batch 8");
    span.claim("verify", "waiting for batch 8");
    assert.deepEqual(
      exporter.getFinishedSpans().map((claim) => claim.attributes["leasehold.claim.reason"]),
      ["waiting for batch 7", "waiting for batch 8", "waiting for batch 8"],
    );
  });

  it("continue the record's trace when the message has none", async () => {
    const { traceparent } = await send();
    telemetry.process({ ...attempt, event: {}, recordTraceparent: traceparent }).end("settled");
    assert.equal(parentOf(finished("process posts")), finished("send posts").spanContext().spanId);
    assert.equal(finished("process posts").attributes["leasehold.trace_link"], "ok");
  });

  it("continue the message's trace and link the record's when they differ", async () => {
    const recorded = await send();
    const sent = await send();
    telemetry.process({ ...attempt, event: sent, recordTraceparent: recorded.traceparent }).end("settled");
    const [first, second] = exporter.getFinishedSpans().map((span) => span.spanContext().spanId);
    const processed = finished("process posts");
    assert.equal(parentOf(processed), second);
    assert.deepEqual(linksOf(processed), [second, first]);
    assert.equal(processed.attributes["leasehold.trace_link"], "stale");
  });

  it("begin a trace of their own when nobody sent one, and link the span around the worker", () => {
    const around = tracerProvider.getTracer("application").startSpan("POST /deliveries");
    context.with(trace.setSpan(context.active(), around), () => telemetry.process(attempt).end("settled"));
    const processed = finished("process posts");
    assert.equal(parentOf(processed), undefined);
    assert.notEqual(processed.spanContext().traceId, around.spanContext().traceId);
    assert.deepEqual(linksOf(processed), [around.spanContext().spanId]);
  });

  it("tell a failed attempt from one that went well", () => {
    const ends: readonly [string, unknown, SpanStatusCode, string | undefined][] = [
      ["settled", undefined, SpanStatusCode.UNSET, undefined],
      ["parked", undefined, SpanStatusCode.UNSET, undefined],
      ["released", new TypeError("x is no function"), SpanStatusCode.ERROR, "TypeError"],
      ["released", "a string", SpanStatusCode.ERROR, "_OTHER"],
      ["dead_lettered", undefined, SpanStatusCode.ERROR, "dead_lettered"],
      ["lost", undefined, SpanStatusCode.ERROR, "lost"],
    ];
    for (const [how, error, code, errorType] of ends) {
      exporter.reset();
      const span = telemetry.process(attempt);
      span.end(how, error);
      span.end("settled");
      const { status, attributes, events } = finished("process posts");
      assert.deepEqual(
        [attributes["leasehold.outcome"], status.code, attributes["error.type"]],
        [how, code, errorType],
      );
      assert.equal(events.length, error === undefined ? 0 : 1);
    }
  });

  it("of a failed send say so, and the error passes through", async () => {
    const failure = new LeaseholdError("ResourceExhausted", "too many calls");
    await assert.rejects(
      telemetry.send(sending, () => Promise.reject(failure)),
      (error) => error === failure,
    );
    const { status, attributes } = finished("send posts");
    assert.deepEqual(status, { code: SpanStatusCode.ERROR, message: "too many calls" });
    assert.equal(attributes["error.type"], "ResourceExhausted");
  });

  it("are active while the message is sent", async () => {
    const active = await telemetry.send(sending, async () => trace.getActiveSpan()?.spanContext().spanId);
    assert.equal(active, finished("send posts").spanContext().spanId);
  });
});
