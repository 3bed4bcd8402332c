import { LeaseholdError } from "../errors.ts";
import { kindOf } from "../util/issues.ts";
import { canonicalJson, sha256Hex, shortHash } from "../util/json.ts";
import { ownSource, type TaskEvent } from "./envelope.ts";

/** Characters of a message id that every broker takes (SQS deduplication ids, Service Bus message ids). */
export const MAX_MESSAGE_ID = 128;
/** Characters of an idempotency key; common external systems take 255. */
const MAX_EFFECT_KEY = 255;

const TASK_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** ASCII that can be seen: no space, no control character. */
const PRINTABLE = /^[\x21-\x7e]*$/;

/** The id of the task that a key names: the same for each call with this queue, type and key. */
export function deriveTaskId(queue: string, type: string, key: string): string {
  return shortHash(queue, type, key);
}

/** The id of the task that a foreign event asks for. Never equal to one of {@link deriveTaskId}. */
export function foreignTaskId(queue: string, source: string, id: string): string {
  return shortHash("foreign", queue, source, id);
}

export type TaskIdOutcome =
  | { readonly ok: true; readonly taskId: string }
  /** For a person: what is wrong with the event's id. */
  | { readonly ok: false; readonly code: "malformed_event"; readonly reason: string };

/** The task that an event on `queue` is about: an own event (its source names this queue) by its id, any other by source and id. */
export function taskIdOf(event: Pick<TaskEvent, "id" | "source">, queue: string): TaskIdOutcome {
  if (event.source !== ownSource(queue)) return { ok: true, taskId: foreignTaskId(queue, event.source, event.id) };
  if (TASK_ID.test(event.id)) return { ok: true, taskId: event.id };
  return {
    ok: false,
    code: "malformed_event",
    reason: `id: expected a task id of 1 to 64 of A-Z a-z 0-9 _ -, because source is ${ownSource(queue)}; use another source for an id of your own`,
  };
}

/** Throws `InvalidArgument` unless `taskId` is one that a user may give. */
export function checkTaskId(taskId: unknown, field: string): asserts taskId is string {
  if (typeof taskId === "string" && TASK_ID.test(taskId)) return;
  throw new LeaseholdError(
    "InvalidArgument",
    `${field}: got ${kindOf(taskId)}, expected 1 to 64 of A-Z a-z 0-9 _ -; leave it out to have one derived from the key`,
  );
}

/** The task's key for external systems: what the producer chose, else the task id. */
export function idempotencyKeyOf(event: Pick<TaskEvent, "idempotencykey">, taskId: string): string {
  return event.idempotencykey ?? taskId;
}

/**
 * The key of one effect, `<idempotency key>:<name>[:<item>]`; without a name the key as it is (a key that tasks share).
 * Printable ASCII of at most 255 characters: a key that is not ends in a hash of the whole.
 */
export function effectKey(idempotencyKey: string, name: string | undefined, item: string | undefined): string {
  const parts = [idempotencyKey, name, item].filter((part) => part !== undefined);
  return reduced(parts.join(":"), MAX_EFFECT_KEY);
}

/**
 * The id of a copy that replaces a message: the same after a crash between send and settle, another at the next hop, so
 * that duplicate detection swallows only true repeats.
 */
export function copyId(taskId: string, messageId: string): string {
  return reduced(`${taskId}.${messageId}`, MAX_MESSAGE_ID);
}

/** The id of a ring: one for each move of `check_at` (ms since the epoch). */
export function ringId(taskId: string, checkAt: number): string {
  return reduced(`${taskId}.r${checkAt}`, MAX_MESSAGE_ID);
}

/** Text that is no printable ASCII, or too long, keeps its beginning and gets a hash of the whole, so that two texts stay two. */
function reduced(text: string, maxLength: number): string {
  if (text.length <= maxLength && PRINTABLE.test(text)) return text;
  const hash = shortHash(text);
  return `${text.replace(/[^\x21-\x7e]/g, "_").slice(0, maxLength - hash.length - 1)}.${hash}`;
}

/** A task's input as it is stored and compared. */
export interface CanonicalInput {
  /** Canonical JSON. */
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly hash: string;
}

/** The canonical form of an input. Throws `InvalidArgument` naming the member that JSON would silently change. */
export function inputOf(value: unknown): CanonicalInput {
  const text = canonicalJson(value, "input");
  return { text, hash: sha256Hex(text) };
}
