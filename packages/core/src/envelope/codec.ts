import { z } from "zod";
import { formatTime } from "../clock.ts";
import { parseTraceparent } from "../telemetry/trace-context.ts";
import { describeIssues, kindOf } from "../util/issues.ts";
import { byteLength, parseJson } from "../util/json.ts";
import { parseRfc3339 } from "../util/time.ts";
import { type DecodeOutcome, EVENT_CONTENT_TYPE, type TaskEvent } from "./envelope.ts";

/** What the record and its indexes hold of an attribute, bytes. */
export const MAX_ATTRIBUTE_BYTES = 256;
/** Levels of `data`; deeper input has no canonical form. */
const MAX_DATA_LEVELS = 100;
/** Ordering keys that every broker takes: SQS groups and Service Bus sessions have 128 characters. */
export const ORDERING_KEY = /^[\x21-\x7e]{1,128}$/;

/** Characters of a trace header; W3C asks receivers to take a tracestate of 512. */
const MAX_TRACE_HEADER = 512;

const STORED_TIME = /^[^Z]{10}T[^Z]{8}\.\d{3}Z$/;
const text = z.string().min(1, "expected text with at least one character");
const stored = text.refine(isAttribute, `expected at most ${MAX_ATTRIBUTE_BYTES} bytes of well-formed text`);
const time = z.string().transform((value, context) => {
  const ms = parseRfc3339(value);
  if (ms !== undefined) return STORED_TIME.test(value) ? value : formatTime(ms);
  context.addIssue("expected an RFC 3339 time such as 2026-01-31T12:00:00Z, in the years 1970 to 9998");
  return z.NEVER;
});

/** The attributes that mean something here. CloudEvents lets an attribute that is not set be null. */
const eventSchema = z.object({
  specversion: z.literal("1.0"),
  id: text,
  source: text,
  type: stored,
  time: time.nullish(),
  datacontenttype: z.string().nullish(),
  dataref: z.string().min(1).max(2_048).nullish(),
  agentrunid: stored.nullish(),
  idempotencykey: stored.nullish(),
  partitionkey: z.string().regex(ORDERING_KEY, "expected 1 to 128 printable ASCII characters without spaces").nullish(),
  notbefore: time.nullish(),
  deadline: time.nullish(),
  deadletterfence: z.int().min(0).nullish(),
});

const KNOWN_MEMBERS: ReadonlySet<string> = new Set([
  ...Object.keys(eventSchema.shape),
  "data",
  "data_base64",
  "traceparent",
  "tracestate",
]);

/**
 * The event as CloudEvents 1.0 structured JSON. Every broker takes every character of it: control characters, lone
 * surrogates, U+FFFE and U+FFFF are written as escapes (SQS-44).
 */
export function encodeEnvelope(event: TaskEvent): string {
  const { extensions, data, ...attributes } = event;
  const members = {
    specversion: "1.0",
    ...attributes,
    ...(extensions === undefined ? {} : Object.fromEntries(Object.entries(extensions).filter(isUnknown))),
    ...(data === undefined ? {} : { datacontenttype: "application/json", data }),
  };
  return JSON.stringify(members).replace(/[\uFFFE\uFFFF]/g, (character) =>
    character === "\uFFFE" ? "\\ufffe" : "\\uffff",
  );
}

/**
 * Reads a message body. Never throws. Foreign producers are met half-way: a body that is a CloudEvent is taken with the content
 * type `application/json`, or with none, as well as with `application/cloudevents+json`; an event without data has the input
 * null; times come out in UTC; a trace context that is none is left out. `data` is kept exactly as JSON has it.
 */
export function decodeEnvelope(body: string, contentType: string | undefined): DecodeOutcome {
  const mediaType = mediaTypeOf(contentType);
  if (mediaType !== undefined && mediaType !== EVENT_CONTENT_TYPE && mediaType !== "application/json") {
    return unsupported(`content type: expected ${EVENT_CONTENT_TYPE}, got ${JSON.stringify(mediaType.slice(0, 80))}`);
  }
  if (typeof body !== "string" || body === "")
    return malformed(`the body: expected CloudEvents JSON, got ${kindOf(body)}`);
  const parsed = parseJson(body.charCodeAt(0) === 0xfeff ? body.slice(1) : body);
  if (parsed === undefined) return malformed("the body: expected CloudEvents JSON, got text that is not JSON");
  const { value } = parsed;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return malformed(`the body: expected one CloudEvent as a JSON object, got ${kindOf(value)}`);
  }
  return readEvent(value as Record<string, unknown>);
}

function readEvent(members: Record<string, unknown>): DecodeOutcome {
  const checked = eventSchema.safeParse(members);
  if (!checked.success) return malformed(describeIssues(checked.error, members, ""));
  const { id, source, type, datacontenttype, dataref } = checked.data;
  const { time, agentrunid, idempotencykey, partitionkey, notbefore, deadline, deadletterfence } = checked.data;
  if (isSet(members["data_base64"])) {
    return unsupported("data_base64: expected the input as JSON in data, got binary data");
  }
  const dataType = mediaTypeOf(datacontenttype);
  if (dataType !== undefined && !isJson(dataType)) {
    return unsupported(`datacontenttype: expected application/json, got ${JSON.stringify(dataType.slice(0, 80))}`);
  }
  const hasData = Object.hasOwn(members, "data");
  const wrong = hasData ? faultOf(members["data"], 0) : undefined;
  if (wrong !== undefined) return malformed(`data: ${wrong}`);

  const event: { -readonly [Name in keyof TaskEvent]: TaskEvent[Name] } = { id, source, type };
  if (isSet(time)) event.time = time;
  if (isSet(agentrunid)) event.agentrunid = agentrunid;
  if (isSet(idempotencykey)) event.idempotencykey = idempotencykey;
  if (isSet(partitionkey)) event.partitionkey = partitionkey;
  if (isSet(notbefore)) event.notbefore = notbefore;
  if (isSet(deadline)) event.deadline = deadline;
  if (isSet(deadletterfence)) event.deadletterfence = deadletterfence;
  if (isSet(dataref) && !hasData) event.dataref = dataref;
  else event.data = hasData ? members["data"] : null;
  const { traceparent, tracestate } = members;
  if (isTraceHeader(traceparent) && parseTraceparent(traceparent) !== undefined) {
    event.traceparent = traceparent;
    if (isTraceHeader(tracestate)) event.tracestate = tracestate;
  }
  const extensions = extensionsOf(members);
  if (extensions !== undefined) event.extensions = extensions;
  return { ok: true, event };
}

function isSet<T>(attribute: T | null | undefined): attribute is T {
  return attribute !== undefined && attribute !== null;
}

/** Extensions that this version does not know. CloudEvents has text, numbers and booleans there; anything else is left out. */
function extensionsOf(members: Record<string, unknown>): TaskEvent["extensions"] {
  let kept: [string, string | number | boolean][] | undefined;
  for (const name of Object.keys(members)) {
    if (KNOWN_MEMBERS.has(name)) continue;
    const value = members[name];
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") continue;
    kept ??= [];
    kept.push([name, value]);
  }
  // From entries, so that a member named __proto__ is a member like any other.
  return kept === undefined ? undefined : Object.fromEntries(kept);
}

function isUnknown([name]: readonly [string, unknown]): boolean {
  return !KNOWN_MEMBERS.has(name);
}

/** What keeps parsed JSON from being an input: numbers that JSON text can name and JSON values cannot hold, and bottomless nesting. */
function faultOf(value: unknown, level: number): string | undefined {
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : "expected finite numbers, got one beyond the range of a double";
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (level >= MAX_DATA_LEVELS) return `expected at most ${MAX_DATA_LEVELS} levels of nesting, got more`;
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    const fault = faultOf(member, level + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Can the record hold this text as an attribute: 1 to 256 bytes, no half of a surrogate pair? */
export function isAttribute(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.isWellFormed() && byteLength(value) <= MAX_ATTRIBUTE_BYTES;
}

function isTraceHeader(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_TRACE_HEADER;
}

function isJson(mediaType: string): boolean {
  return mediaType === "application/json" || mediaType === "text/json" || mediaType.endsWith("+json");
}

/** The media type without parameters, lower case; `undefined` when there is none. */
function mediaTypeOf(contentType: string | null | undefined): string | undefined {
  if (typeof contentType !== "string") return undefined;
  const mediaType = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return mediaType === "" ? undefined : mediaType;
}

function malformed(reason: string): DecodeOutcome {
  return { ok: false, code: "malformed_event", reason };
}

function unsupported(reason: string): DecodeOutcome {
  return { ok: false, code: "unsupported_content", reason };
}
