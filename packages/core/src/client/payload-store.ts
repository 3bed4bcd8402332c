import { MAX_INPUT_BYTES } from "../envelope/envelope.ts";
import type { CanonicalInput } from "../envelope/ids.ts";
import { fromUnknown, LeaseholdError } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import { byteLength } from "../util/json.ts";

/**
 * Keeps inputs that are too large for the task store: a bucket, a file system. Client and workers of a queue need the same
 * one. What it keeps must live as long as the task may: twice the retention, and while a task is parked. Core makes none of
 * its calls again: retries are its own affair.
 */
export interface PayloadStore {
  /** Keeps `text` (JSON, UTF-8) under `key` (`<task id>/<hash>`, printable ASCII); resolves when it is durable. A key is only ever written with the same text. */
  put(key: string, text: string): Promise<void>;
  /** The text, or undefined when there is none. */
  get(key: string): Promise<string | undefined>;
}

/** What the task store keeps instead of a large input. No JSON text begins like this. */
const POINTER = "@payload-store ";

/**
 * The text that the task store is to keep for an input: the input itself up to 380 KB; above it a pointer, after the input was
 * put into the payload store. Throws `PayloadTooLarge` with `limitBytes` and `sizeBytes` when there is no payload store.
 */
export async function storedInput(
  payloadStore: PayloadStore | undefined,
  taskId: string,
  input: CanonicalInput,
): Promise<string> {
  const sizeBytes = byteLength(input.text);
  if (sizeBytes <= MAX_INPUT_BYTES) return input.text;
  if (payloadStore === undefined) {
    throw new LeaseholdError(
      "PayloadTooLarge",
      `input: got ${sizeBytes} bytes of JSON, expected at most ${MAX_INPUT_BYTES}; pass a reference to the data, or configure a payloadStore`,
      { details: { limitBytes: MAX_INPUT_BYTES, sizeBytes } },
    );
  }
  const key = `${taskId}/${input.hash}`;
  try {
    await payloadStore.put(key, input.text);
  } catch (error) {
    throw fromUnknown(error, "put into the payload store");
  }
  return POINTER + key;
}

/**
 * The input (JSON text) of a record, from wherever it is kept; undefined when it is gone. Throws `InvalidArgument` for an input
 * in a payload store when none is configured.
 */
export async function loadInput(
  store: Pick<TaskStore, "payload">,
  payloadStore: PayloadStore | undefined,
  taskId: string,
  payloadRef: string,
): Promise<string | undefined> {
  const text = await store.payload(taskId, payloadRef);
  if (text === undefined || !text.startsWith(POINTER)) return text;
  if (payloadStore !== undefined) return payloadStore.get(text.slice(POINTER.length));
  throw new LeaseholdError(
    "InvalidArgument",
    `task ${taskId}: its input is in a payload store, expected the worker to have one; configure the payloadStore that the client has`,
  );
}
