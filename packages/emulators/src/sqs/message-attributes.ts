import { createHash } from "node:crypto";
import { invalidParameter, SqsError } from "./errors.ts";
import type { MessageAttribute } from "./message.ts";

export type MessageAttributes = Readonly<Record<string, MessageAttribute>>;

/** SQS-45. */
const MAX_ATTRIBUTES = 10;
const MAX_NAME_LENGTH = 256;
/** Bytes that the digest has for each kind of value. */
const STRING_MARK = 1;
const BINARY_MARK = 2;

/** SQS-44: what XML 1.0 can say, and no half of a surrogate pair. */
const REFUSED_CHARACTERS = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
const NAME = /^[\p{L}\p{N}_.-]+$/u;
const RESERVED_NAME = /^(?:aws\.|amazon\.|\.)|\.\.|\.$/i;
const TYPE = /^(?:String|Number|Binary)(?:\..+)?$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** Throws `InvalidMessageContents` for characters that the service does not carry. */
export function checkCharacters(text: string): void {
  if (!REFUSED_CHARACTERS.test(text)) return;
  throw new SqsError(
    "InvalidMessageContents",
    "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
  );
}

/** Throws `InvalidParameterValue` or `InvalidMessageContents`. */
export function checkAttributes(attributes: MessageAttributes): void {
  const names = Object.keys(attributes);
  if (names.length > MAX_ATTRIBUTES) {
    throw invalidParameter(
      `Number of message attributes [${names.length}] exceeds the allowed maximum [${MAX_ATTRIBUTES}].`,
    );
  }
  for (const name of names) checkAttribute(name, attributes[name] as MessageAttribute);
}

function checkAttribute(
  name: string,
  { DataType: type, StringValue: text, BinaryValue: bytes }: MessageAttribute,
): void {
  if (name.length > MAX_NAME_LENGTH || !NAME.test(name) || RESERVED_NAME.test(name)) {
    throw invalidParameter(
      `Message (user) attribute name '${name}' is invalid: at most ${MAX_NAME_LENGTH} letters, digits, '_', '-' and single '.', not reserved.`,
    );
  }
  if (typeof type !== "string" || !TYPE.test(type) || type.length > MAX_NAME_LENGTH) {
    throw invalidParameter(
      `The type of message (user) attribute '${name}' is invalid. You must use only String, Number or Binary.`,
    );
  }
  const value = type.startsWith("Binary") ? bytes : text;
  if (value === undefined || value === "") {
    throw invalidParameter(`Message (user) attribute '${name}' must contain a non-empty value of type '${type}'.`);
  }
  if (type.startsWith("Number") && !NUMBER.test(value)) {
    throw invalidParameter(`Can't cast the value of message (user) attribute '${name}' to a number.`);
  }
  if (!type.startsWith("Binary")) checkCharacters(value);
}

/** SQS-43: name, type and value count. */
export function attributesSize(attributes: MessageAttributes | undefined): number {
  let size = 0;
  for (const [name, attribute] of Object.entries(attributes ?? {})) {
    size += Buffer.byteLength(name) + Buffer.byteLength(attribute.DataType) + bytesOf(attribute).length;
  }
  return size;
}

/** The digest that SDKs compare: by sorted name, each part behind its length. */
export function attributesMd5(attributes: MessageAttributes | undefined): string | undefined {
  const names = Object.keys(attributes ?? {}).sort();
  if (attributes === undefined || names.length === 0) return undefined;
  const hash = createHash("md5");
  const add = (part: Buffer): void => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    hash.update(length).update(part);
  };
  for (const name of names) {
    const attribute = attributes[name] as MessageAttribute;
    add(Buffer.from(name));
    add(Buffer.from(attribute.DataType));
    hash.update(Buffer.of(attribute.DataType.startsWith("Binary") ? BINARY_MARK : STRING_MARK));
    add(bytesOf(attribute));
  }
  return hash.digest("hex");
}

function bytesOf({ DataType, StringValue = "", BinaryValue = "" }: MessageAttribute): Buffer {
  return DataType.startsWith("Binary") ? Buffer.from(BinaryValue, "base64") : Buffer.from(StringValue);
}
