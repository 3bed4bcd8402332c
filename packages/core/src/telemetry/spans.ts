import {
  context,
  isSpanContextValid,
  type Link,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { KEY } from "./attributes.ts";
import { errorTypeOf } from "./error-type.ts";
import { SCOPE } from "./instruments.ts";
import { failSpan, recordedAttempt, unrecordedAttempt } from "./process-span.ts";
import { createSeries, type Series } from "./series.ts";
import { SPANS, systemOf } from "./span-definitions.ts";
import type { AttemptEvent, ProcessSpan, SendEvent, Telemetry, TraceHeaders } from "./telemetry.ts";
import { formatTraceHeaders, type Origin, parseTraceparent } from "./trace-context.ts";

export interface Spans extends Pick<Telemetry, "send" | "received"> {
  process(attempt: AttemptEvent, origin: Origin): ProcessSpan;
}

type Operation = "send" | "receive" | "process" | "settle";

/** @param provider Default: the API's global one, looked up at each use, so that an SDK registered later still counts. */
export function createSpans(provider: TracerProvider | undefined): Spans {
  const findTracer = createTracerSource(provider);
  const series = createSeries();

  /** What a sampler may want to know: given at the start of a span, and made once. */
  const startOf = (operation: Operation, providerName: string, queue: string): Series =>
    series
      .with(KEY.operationName, operation)
      .with(KEY.operationType, operation)
      .with(KEY.system, systemOf(providerName))
      .with(KEY.queue, queue);

  const startOfTask = (operation: Operation, event: SendEvent) =>
    startOf(operation, event.provider, event.queue).with(KEY.taskType, event.type).attributes;

  return {
    async send(event, call) {
      const active = context.active();
      const tracer = findTracer();
      if (tracer === undefined) return call(formatTraceHeaders(trace.getSpanContext(active)));
      const attributes = startOfTask("send", event);
      const span = tracer.startSpan(`send ${event.queue}`, { kind: SpanKind[SPANS.send.kind], attributes }, active);
      if (span.isRecording()) span.setAttribute(KEY.taskId, event.taskId);
      try {
        const headers = formatTraceHeaders(span.spanContext());
        return await context.with(trace.setSpan(active, span), call, undefined, headers);
      } catch (error) {
        failSpan(span, errorTypeOf(error), error);
        throw error;
      } finally {
        span.end();
      }
    },

    received(queue, count, providerName, events = []) {
      const tracer = findTracer();
      if (tracer === undefined) return;
      const { attributes } = startOf("receive", providerName, queue);
      const links = linksTo(events.map((event: TraceHeaders) => parseTraceparent(event.traceparent, event.tracestate)));
      const span = tracer.startSpan(
        `receive ${queue}`,
        { kind: SpanKind[SPANS.receive.kind], attributes, links },
        ROOT_CONTEXT,
      );
      span.setAttribute(KEY.batchCount, count).end();
    },

    process(attempt, { producer, other, link }) {
      const tracer = findTracer();
      if (tracer === undefined) return unrecordedAttempt(producer);
      const active = context.active();
      const links = linksTo([producer, other, trace.getSpanContext(active)]);
      // The worker's loop may have been started within some span; tasks that nobody traced are not part of that.
      const parent = producer === undefined ? trace.deleteSpan(active) : trace.setSpanContext(active, producer);
      const attributes = startOfTask("process", attempt);
      const options = { kind: SpanKind[SPANS.process.kind], attributes, links };
      const span = tracer.startSpan(`process ${attempt.queue}`, options, parent);
      if (span.isRecording()) {
        span.setAttributes({
          [KEY.taskId]: attempt.taskId,
          [KEY.attempt]: attempt.attempt,
          [KEY.fence]: attempt.fence,
          [KEY.traceLink]: link,
        });
        if (attempt.agentRunId !== undefined) span.setAttribute(KEY.agentRunId, attempt.agentRunId);
      }
      return recordedAttempt(
        tracer,
        span,
        active,
        attempt,
        startOf("settle", attempt.provider, attempt.queue).attributes,
      );
    },
  };
}

function linksTo(contexts: readonly (SpanContext | undefined)[]): Link[] {
  return contexts.flatMap((target) =>
    target !== undefined && isSpanContextValid(target) ? [{ context: target }] : [],
  );
}

/** `undefined` while no SDK is registered: the API then has a tracer that makes objects for nothing. */
function createTracerSource(provider: TracerProvider | undefined): () => Tracer | undefined {
  let seen: TracerProvider | undefined;
  let tracer: Tracer | undefined;
  return () => {
    const current = provider ?? trace.getTracerProvider();
    if (current === seen && tracer !== undefined) return tracer;
    seen = current;
    tracer = current instanceof ProxyTracerProvider ? current.getDelegateTracer(SCOPE) : current.getTracer(SCOPE);
    return tracer;
  };
}
