import { createTraceState, isSpanContextValid, type SpanContext } from "@opentelemetry/api";
import { parseTime } from "../clock.ts";
import type { TaskEvent } from "../envelope/envelope.ts";
import type { TraceHeaders } from "./telemetry.ts";

/**
 * W3C Trace Context, read and written without the application's propagator: the event is a contract between programs
 * that may have configured different ones, or none.
 */

// https://www.w3.org/TR/trace-context/#traceparent-header. Ids of zeros alone are invalid, and so is version ff.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The sender of an event this old is no longer found in most tracing systems. */
export const STALE_AFTER_MS = 7 * 24 * 60 * 60 * 1000;

/** `ok`: the trace leads to the producer. See {@link traceLinkOf} for the others. */
export type TraceLink = "ok" | "missing" | "stale";

/** The producer's span of a traceparent; `undefined` when it is none. A later version is read as far as it is known. */
export function parseTraceparent(traceparent: string | undefined, tracestate?: string): SpanContext | undefined {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  if (match === null) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = match;
  if (version === "00" && rest !== undefined) return undefined;
  const context: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  if (tracestate !== undefined && tracestate !== "") context.traceState = createTraceState(tracestate);
  return context;
}

const NO_HEADERS: TraceHeaders = {};

/** What a message carries so that its receiver can go on with this trace; empty for a context that is invalid. */
export function formatTraceHeaders(context: SpanContext | undefined): TraceHeaders {
  if (context === undefined || !isSpanContextValid(context)) return NO_HEADERS;
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, "0");
  const traceparent = `00-${context.traceId}-${context.spanId}-${flags}`;
  const tracestate = context.traceState?.serialize() ?? "";
  return tracestate === "" ? { traceparent } : { traceparent, tracestate };
}

/** The parts of an event that say where it came from. */
export type LinkedEvent = Pick<TaskEvent, "traceparent" | "tracestate" | "time">;

/** Where a task came from, and how good that knowledge is. */
export interface Origin {
  readonly link: TraceLink;
  /** The span to continue: the event's, else the record's. */
  readonly producer: SpanContext | undefined;
  /** The record's span where it is of another trace than the event's. */
  readonly other: SpanContext | undefined;
}

export function originOf(event: LinkedEvent | undefined, recordTraceparent: string | undefined, nowMs: number): Origin {
  const sent = parseTraceparent(event?.traceparent, event?.tracestate);
  const same = sent !== undefined && event?.traceparent === recordTraceparent;
  const recorded = same ? sent : parseTraceparent(recordTraceparent);
  const producer = sent ?? recorded;
  if (producer === undefined) return { link: "missing", producer, other: undefined };
  const other = recorded !== undefined && recorded.traceId !== producer.traceId ? recorded : undefined;
  const old = event?.time !== undefined && nowMs - parseTime(event.time) > STALE_AFTER_MS;
  return { link: other !== undefined || old ? "stale" : "ok", producer, other };
}

/**
 * Does the trace lead from the task to its producer? `missing`: no valid traceparent in event or record. `stale`: they name
 * different traces, or the event's `time` is over 7 days before `nowMs` (milliseconds since the epoch).
 */
export function traceLinkOf(
  event: LinkedEvent | undefined,
  recordTraceparent: string | undefined,
  nowMs: number,
): TraceLink {
  return originOf(event, recordTraceparent, nowMs).link;
}
