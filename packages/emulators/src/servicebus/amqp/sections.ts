import { ServicebusError } from "../errors.ts";
import { type Typed, types } from "./rhea.ts";

/** Descriptors of the sections of a message. */
export const SECTION = {
  header: 0x70,
  deliveryAnnotations: 0x71,
  messageAnnotations: 0x72,
  properties: 0x73,
  applicationProperties: 0x74,
  data: 0x75,
  value: 0x77,
} as const;

export interface Section {
  readonly code: number;
  readonly value: Typed;
  readonly start: number;
  readonly end: number;
}

/** An entry of a section that is a map, with the bytes of its key and its value. */
export interface Pair {
  readonly key: string;
  readonly value: Typed;
  readonly bytes: Buffer;
}

/** Type codes, and how many bytes of size and count follow each. */
const MAP_HEADERS: Readonly<Record<number, number>> = { 193: 2, 209: 8 };
const NULL_TYPECODE = 0x40;

/** Throws `amqp:decode-error` when this is no message. */
export function sectionsOf(bytes: Buffer): readonly Section[] {
  const sections: Section[] = [];
  reading(() => {
    const reader = new types.Reader(bytes);
    while (reader.position < bytes.length) {
      const start = reader.position;
      const value = reader.read();
      const code = value.descriptor?.value;
      if (typeof code !== "number") throw decodeError("What is no section is no part of a message.");
      // rhea does not mind that bytes are missing at the end.
      if (reader.position > bytes.length) throw decodeError("The message ends too early.");
      sections.push({ code, value, start, end: reader.position });
    }
  });
  if (sections.length === 0) throw decodeError("A message has to have sections.");
  return sections;
}

/** The entries of annotations or application properties, in their order. */
export function pairsOf(bytes: Buffer, section: Section): readonly Pair[] {
  const entries = section.value.value;
  if (section.value.type.typecode === NULL_TYPECODE) return [];
  const pairs: Pair[] = [];
  reading(() => {
    const reader = new types.Reader(bytes);
    reader.position = section.start + 1;
    reader.read();
    const header = MAP_HEADERS[bytes[reader.position] ?? 0];
    if (header === undefined || !Array.isArray(entries))
      throw decodeError("Annotations and properties have to be maps.");
    reader.position += 1 + header;
    for (let left = entries.length; left > 1; left -= 2) {
      const start = reader.position;
      const key = String(reader.read().value);
      const value = reader.read();
      pairs.push({ key, value, bytes: bytes.subarray(start, reader.position) });
    }
  });
  return pairs;
}

/** The entries of a header or of properties, without those that are null. */
export function listOf(section: Section | undefined): readonly (Typed | undefined)[] {
  const entries = section?.value.value;
  if (!Array.isArray(entries)) return [];
  return entries.map((entry: Typed) => (entry.type.typecode === NULL_TYPECODE ? undefined : entry));
}

/** The entries of a map, each with the type that it has; of anything else none. */
export function propertiesIn(map: Typed | undefined): Readonly<Record<string, Typed>> {
  if (map === undefined || MAP_HEADERS[map.type.typecode] === undefined || !Array.isArray(map.value)) return {};
  const entries: readonly Typed[] = map.value;
  const pairs = entries.flatMap((key, index) => {
    const value = entries[index + 1];
    return index % 2 === 0 && value !== undefined ? [[String(key.value), value] as const] : [];
  });
  return Object.fromEntries(pairs);
}

export function decodeError(description: string): ServicebusError {
  return new ServicebusError("amqp:decode-error", description);
}

/** What rhea throws at bytes that make no sense is the sender's fault. */
function reading(read: () => void): void {
  try {
    read();
  } catch (error) {
    throw error instanceof ServicebusError ? error : decodeError(`This is no AMQP: ${String(error)}`);
  }
}
