import { STATUSES, type Status } from "../record/record.ts";
import { byteLength, sha256Hex } from "../util/json.ts";
import { CHECK_SHARDS, STATUS_SHARDS } from "./task-store.ts";

/**
 * The keys of items and the partitions of the indexes. They are stored, so none of this may change between versions.
 *
 * A part of a key is escaped (`#` parts it, `%` escapes, `~` marks a hash, control characters and lone surrogates do not pass every
 * database) and, above 256 bytes, replaced by its hash.
 */

const PLAIN = /^[A-Za-z0-9_-]+$/;
const ESCAPED = /[%#~\p{Cc}]|\p{Cs}/gu;
const MAX_PART_BYTES = 256;

function part(text: string): string {
  if (PLAIN.test(text) && text.length <= MAX_PART_BYTES) return text;
  const escaped = text.replace(ESCAPED, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return byteLength(escaped) <= MAX_PART_BYTES ? escaped : `~${sha256Hex(escaped)}`;
}

/** The record of a task. */
export function taskKey(taskId: string): string {
  return `task#${part(taskId)}`;
}

/** The task of a record's key. Ids of records need no escape: `create` sees to it. */
export function taskIdOf(key: string): string {
  return key.slice("task#".length);
}

/** The input of a task. */
export function payloadKey(taskId: string, inputHash: string): string {
  return `payload#${part(taskId)}#${part(inputHash)}`;
}

/** Is this the key of a payload of that task? */
export function isPayloadKey(key: string, taskId: string): boolean {
  return key.startsWith(`payload#${part(taskId)}#`);
}

/** A result that is too large for the record, by the fence of the lease that brought it. */
export function resultKey(taskId: string, fence: number): string {
  return `result#${part(taskId)}#${fence}`;
}

/** The owner of an effect key that tasks share. */
export function sharedKeyKey(system: string, key: string): string {
  return `key#${part(system)}#${part(key)}`;
}

/** Partition of the check index. */
export function checkPartition(queue: string, kind: "waiting" | "leased", shard: number): string {
  return `${queue}#${kind === "waiting" ? "w" : "l"}${shard}`;
}

/** The partition of the check index that a task belongs to. */
export function checkShardOf(queue: string, kind: "waiting" | "leased", taskId: string): string {
  return checkPartition(queue, kind, hash(taskId) % CHECK_SHARDS);
}

/** The partitions of the status index; made once, as each change of a status names one. */
const STATUS_PARTITIONS = Object.fromEntries(
  STATUSES.map((status) => [status, Array.from({ length: STATUS_SHARDS }, (_, shard) => `${status}#${shard}`)]),
) as unknown as Readonly<Record<Status, readonly string[]>>;

/** The partitions of the status index for one status, by shard. */
export function statusPartitions(status: Status): readonly string[] {
  return STATUS_PARTITIONS[status];
}

/** The partition of the status index that a task belongs to. */
export function statusShardOf(status: Status, taskId: string): string {
  return STATUS_PARTITIONS[status][hash(taskId) % STATUS_SHARDS] as string;
}

/** FNV-1a over code units: spreads task ids over shards. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}
