import {
  type Attributes,
  type Context,
  context,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { KEY } from "./attributes.ts";
import { errorTypeOf } from "./error-type.ts";
import { SPANS } from "./span-definitions.ts";
import type { AttemptEvent, ProcessSpan } from "./telemetry.ts";

/** Ends that are failures although no error may come with them. */
const FAILED_ENDS: ReadonlySet<string> = new Set(["dead_lettered", "lost"]);

/** Marks a span as failed, by error class; an `Error` is kept as an event of the span. */
export function failSpan(span: Span, errorType: string, error: unknown): void {
  span.setAttribute(KEY.errorType, errorType);
  if (error === undefined) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    return;
  }
  const exception = error instanceof Error ? error : String(error);
  span.recordException(exception);
  span.setStatus({
    code: SpanStatusCode.ERROR,
    message: typeof exception === "string" ? exception : exception.message,
  });
}

/** The attempt while a tracer is registered. `settling`: the attributes of its settle. */
export function recordedAttempt(
  tracer: Tracer,
  span: Span,
  within: Context,
  attempt: AttemptEvent,
  settling: Attributes,
): ProcessSpan {
  const spanContext = trace.setSpan(within, span);
  // Asked once: a span that ended says no, and a settle may follow the end.
  const recording = span.isRecording();
  // On the children too: they are all that is left of an attempt that died.
  const identity: Attributes = {
    [KEY.taskType]: attempt.type,
    [KEY.taskId]: attempt.taskId,
    [KEY.attempt]: attempt.attempt,
    [KEY.fence]: attempt.fence,
  };
  let ended = false;
  let lastClaim = "";
  return {
    context: spanContext,
    traceId: span.spanContext().traceId,
    claim(stage, reason) {
      const claim = `${stage} ${reason}`;
      if (!recording || claim === lastClaim) return;
      lastClaim = claim;
      const attributes = { ...identity, [KEY.stage]: stage, [KEY.claimReason]: reason };
      tracer.startSpan(`claim ${stage}`, { kind: SpanKind[SPANS.claim.kind], attributes }, spanContext).end();
    },
    effectStep(slot, step) {
      if (!recording) return;
      // The item may be any of thousands: it stays out of the span's name.
      const colon = slot.indexOf(":");
      const effect = colon < 0 ? slot : slot.slice(0, colon);
      const attributes: Attributes = { ...identity, [KEY.effectName]: effect, [KEY.effectStep]: step };
      if (colon >= 0) attributes[KEY.effectItem] = slot.slice(colon + 1);
      tracer
        .startSpan(`effect ${step} ${effect}`, { kind: SpanKind[SPANS.effect.kind], attributes }, spanContext)
        .end();
    },
    settle(verb) {
      if (!recording) return;
      const attributes = { ...settling, ...identity, [KEY.settleVerb]: verb };
      tracer.startSpan(`settle ${attempt.queue}`, { kind: SpanKind[SPANS.settle.kind], attributes }, spanContext).end();
    },
    end(how, error) {
      if (ended) return;
      ended = true;
      if (recording) {
        span.setAttribute(KEY.outcome, how);
        if (error !== undefined) failSpan(span, errorTypeOf(error), error);
        else if (FAILED_ENDS.has(how)) failSpan(span, how, undefined);
      }
      span.end();
    },
  };
}

/** The attempt while no tracer is registered: what the handler sends on still names the producer's trace. */
export function unrecordedAttempt(producer: SpanContext | undefined): ProcessSpan {
  const active = context.active();
  return {
    context: producer === undefined ? active : trace.setSpanContext(active, producer),
    traceId: producer?.traceId,
    claim: ignore,
    effectStep: ignore,
    settle: ignore,
    end: ignore,
  };
}

function ignore(): void {}
