import { randomUUID } from "node:crypto";
import type { Content } from "../broker/message.ts";
import { bytesToGuid } from "./guid.ts";
import { isTrue, type Typed, types } from "./rhea.ts";
import { decodeError, listOf, pairsOf, SECTION, type Section, sectionsOf } from "./sections.ts";

/** What the broker says of a message itself, so that no sender can say it. */
const BROKER_ANNOTATIONS = new Set([
  "x-opt-sequence-number",
  "x-opt-enqueue-sequence-number",
  "x-opt-enqueued-time",
  "x-opt-locked-until",
  "x-opt-lock-token",
  "x-opt-message-state",
  "x-opt-deadletter-source",
]);
const SCHEDULED_AT = "x-opt-scheduled-enqueue-time";
/** Places in the list of a header, and in that of properties. */
const HEADER = { durable: 0, priority: 1, timeToLive: 2 } as const;
const PROPERTY = { messageId: 0, groupId: 10 } as const;
/** The message format of a batch: its data sections are messages. */
const BATCH_FORMAT = 0x80013700;

/** The messages of one transfer. Throws `amqp:decode-error` when there are none to be read. */
export function splitTransfer(bytes: Buffer, format: number | null | undefined): readonly Content[] {
  if (format !== BATCH_FORMAT) return [splitMessage(bytes)];
  const messages = sectionsOf(bytes).filter(({ code }) => code === SECTION.data);
  if (messages.length === 0) throw decodeError("A batch has to have messages.");
  return messages.map(({ value: { value } }) => {
    if (!Buffer.isBuffer(value)) throw decodeError("The messages of a batch have to be binary.");
    return splitMessage(value);
  });
}

/** Reads as much of a message as the broker needs, and keeps the bytes of the rest. */
export function splitMessage(received: Buffer): Content {
  // A copy, so that a small message does not hold on to all that came with it.
  const bytes = Buffer.from(received);
  const sections = sectionsOf(bytes);
  const find = (code: number): Section | undefined => sections.find((section) => section.code === code);
  const cut = (section: Section): Buffer => bytes.subarray(section.start, section.end);
  const header = listOf(find(SECTION.header));
  const [annotations, properties] = [find(SECTION.messageAnnotations), find(SECTION.properties)];
  const applicationProperties = find(SECTION.applicationProperties);
  const pairs = annotations === undefined ? [] : pairsOf(bytes, annotations);
  const fields = listOf(properties);
  const id = idOf(fields[PROPERTY.messageId]);
  const named = properties === undefined || id === undefined ? nameMessage(fields) : { id, section: cut(properties) };
  const body = sections.find(({ code }) => code > SECTION.applicationProperties);
  return {
    id: named.id,
    sessionId: stringOf(fields[PROPERTY.groupId]),
    timeToLiveMs: numberOf(header[HEADER.timeToLive]),
    scheduledAt: timeOf(pairs.find(({ key }) => key === SCHEDULED_AT)?.value),
    bytes: bytes.length,
    sections: {
      durable: isTrue(header[HEADER.durable]?.value),
      priority: numberOf(header[HEADER.priority]),
      annotations: pairs.filter(({ key }) => !BROKER_ANNOTATIONS.has(key)).map((pair) => pair.bytes),
      properties: named.section,
      applicationProperties: applicationProperties === undefined ? undefined : cut(applicationProperties),
      body: body === undefined ? Buffer.alloc(0) : bytes.subarray(body.start),
    },
  };
}

/** A message without an id gets one, as the service gives it: SDKs keep the timers of a lock by it. */
function nameMessage(fields: readonly (Typed | undefined)[]): { readonly id: string; readonly section: Buffer } {
  const id = randomUUID();
  const [, ...others] = fields;
  const list = types.wrap_list([types.wrap_string(id), ...others.map((field) => field ?? types.wrap(null))]);
  const writer = new types.Writer();
  writer.write(types.described_nc(types.wrap_ulong(SECTION.properties), list));
  return { id, section: writer.toBuffer() };
}

function idOf(field: Typed | undefined): string | undefined {
  const value = field?.value;
  if (value instanceof Uint8Array) return bytesToGuid(value) ?? Buffer.from(value).toString("hex");
  return value === undefined || value === null || value === "" ? undefined : String(value);
}

function stringOf(field: Typed | undefined): string | undefined {
  return typeof field?.value === "string" ? field.value : undefined;
}

function numberOf(field: Typed | undefined): number | undefined {
  return typeof field?.value === "number" ? field.value : undefined;
}

function timeOf(field: Typed | undefined): number | undefined {
  const time = field?.value instanceof Date ? field.value.getTime() : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
