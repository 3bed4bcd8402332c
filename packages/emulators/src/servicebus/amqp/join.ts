import type { Message, Properties } from "../broker/message.ts";
import { guidToBytes } from "./guid.ts";
import { type Typed, types } from "./rhea.ts";
import { pairsOf, SECTION, sectionsOf } from "./sections.ts";

const STATES = { active: 0, deferred: 1, scheduled: 2, gone: 0 } as const;

/** A section of data without any: a message has to have a body. */
const EMPTY_BODY = Buffer.from([0x00, 0x53, SECTION.data, 0xa0, 0x00]);

export interface JoinOptions {
  /** Its lock token comes as a delivery annotation, where Python's SDK looks for it. */
  readonly hasToken?: boolean;
  readonly isBodyLeftOut?: boolean;
}

/**
 * A message as a receiver gets it: header and annotations are the broker's and come first, what was sent follows with the
 * bytes that it came with. `lockedUntil`: ms since the epoch, of one that is locked for this receiver.
 */
export function joinMessage(message: Message, lockedUntil: number | undefined, options: JoinOptions = {}): Buffer {
  const { sections } = message.content;
  const parts = [section(SECTION.header, headerOf(message))];
  if (options.hasToken === true && message.lock !== undefined) {
    const token = types.wrap_uuid(guidToBytes(message.lock.token));
    parts.push(mapSection(SECTION.deliveryAnnotations, [pair(types.wrap_symbol("x-opt-lock-token"), token)]));
  }
  const annotations = annotationsOf(message, lockedUntil).map(([key, value]) => pair(types.wrap_symbol(key), value));
  parts.push(mapSection(SECTION.messageAnnotations, [...sections.annotations, ...annotations]));
  parts.push(sections.properties, applicationProperties(sections.applicationProperties, message.properties));
  parts.push(options.isBodyLeftOut === true ? EMPTY_BODY : sections.body);
  return Buffer.concat(parts);
}

function headerOf({ content, enqueuedAt, expiresAt, deliveryCount }: Message): Typed {
  const { durable, priority } = content.sections;
  const timeToLiveMs = Math.round(expiresAt - enqueuedAt);
  return types.wrap_list([
    types.wrap_boolean(durable),
    priority === undefined ? types.wrap(null) : types.wrap_ubyte(priority),
    timeToLiveMs <= LONGEST_TIME_TO_LIVE_MS ? types.wrap_uint(timeToLiveMs) : types.wrap(null),
    types.wrap(null),
    // Always there: .NET's SDK fails without it.
    types.wrap_uint(deliveryCount),
  ]);
}

/** An AMQP uint. */
const LONGEST_TIME_TO_LIVE_MS = 2 ** 32 - 1;

function annotationsOf(message: Message, lockedUntil: number | undefined): readonly (readonly [string, Typed])[] {
  const { sequenceNumber, enqueuedSequenceNumber, enqueuedAt, state, deadLetterSource } = message;
  const annotations: [string, Typed][] = [
    ["x-opt-enqueued-time", types.wrap_timestamp(Math.floor(enqueuedAt))],
    ["x-opt-sequence-number", types.Long(sequenceNumber)],
    ["x-opt-enqueue-sequence-number", types.Long(enqueuedSequenceNumber)],
    ["x-opt-message-state", types.wrap_int(STATES[state])],
  ];
  if (lockedUntil !== undefined)
    annotations.push(["x-opt-locked-until", types.wrap_timestamp(Math.floor(lockedUntil))]);
  if (deadLetterSource !== undefined) {
    annotations.push(["x-opt-deadletter-source", types.wrap_string(deadLetterSource)]);
  }
  return annotations;
}

/** Those that were sent, with what settlements added to them or set anew. */
function applicationProperties(sent: Buffer | undefined, added: Properties): Buffer {
  const changes = Object.entries(added);
  if (changes.length === 0) return sent ?? Buffer.alloc(0);
  const [found] = sent === undefined ? [] : sectionsOf(sent);
  const kept = sent === undefined || found === undefined ? [] : pairsOf(sent, found);
  return mapSection(SECTION.applicationProperties, [
    ...kept.filter(({ key }) => !Object.hasOwn(added, key)).map(({ bytes }) => bytes),
    ...changes.map(([key, value]) => pair(types.wrap_string(key), types.wrap(value))),
  ]);
}

function pair(key: Typed, value: Typed): Buffer {
  const writer = new types.Writer();
  writer.write(key);
  writer.write(value);
  return writer.toBuffer();
}

function section(code: number, value: Typed): Buffer {
  const writer = new types.Writer();
  writer.write(types.described_nc(types.wrap_ulong(code), value));
  return writer.toBuffer();
}

const MAP32_TYPECODE = 0xd1;
const MAP32_HEADER_BYTES = 12;

/** A map of entries that are bytes already. */
function mapSection(code: number, pairs: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(MAP32_HEADER_BYTES);
  // A descriptor that is a small ulong, then the type, the size from after itself, and how many keys and values.
  head.writeUInt8(0x53, 1);
  head.writeUInt8(code, 2);
  head.writeUInt8(MAP32_TYPECODE, 3);
  head.writeUInt32BE(4 + pairs.reduce((sum, { length }) => sum + length, 0), 4);
  head.writeUInt32BE(2 * pairs.length, 8);
  return Buffer.concat([head, ...pairs]);
}
