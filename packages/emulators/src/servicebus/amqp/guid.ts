/**
 * Delivery tags are lock tokens in the byte order of .NET's `Guid.ToByteArray()`: the first three groups are reversed. On
 * `$management` the same token is a UUID in its usual order.
 */
const ORDER = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
const GUID_BYTES = 16;

export function guidToBytes(guid: string): Buffer {
  return Buffer.from(guid.replaceAll("-", ""), "hex");
}

/** `undefined` when it has not the length of one. */
export function bytesToGuid(bytes: Uint8Array): string | undefined {
  if (bytes.length !== GUID_BYTES) return undefined;
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

export function tagOfToken(token: string): Buffer {
  const bytes = guidToBytes(token);
  return Buffer.from(ORDER.map((index) => bytes[index] ?? 0));
}

/** The order is its own reverse. */
export function tokenOfTag(tag: Uint8Array): string | undefined {
  return bytesToGuid(Uint8Array.from(ORDER, (index) => tag[index] ?? 0));
}
