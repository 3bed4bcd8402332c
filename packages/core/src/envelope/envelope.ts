/** The event on the wire: CloudEvents 1.0 structured JSON. Any language can enqueue with it. */
export interface TaskEvent {
  /** The task id for own events; any event id for foreign ones. */
  readonly id: string;
  /** `leasehold:<queue>` for own events. */
  readonly source: string;
  /** The task type. */
  readonly type: string;
  /** When it was made, RFC 3339; part of CloudEvents, optional on the wire. */
  readonly time?: string;
  /** The input, up to 64 KB as JSON. */
  readonly data?: unknown;
  /** Instead of `data`: the input hash (= key part) of a stored payload. */
  readonly dataref?: string;
  readonly agentrunid?: string;
  readonly idempotencykey?: string;
  /** Ordering key. */
  readonly partitionkey?: string;
  readonly notbefore?: string;
  readonly deadline?: string;
  readonly traceparent?: string;
  readonly tracestate?: string;
  /** On dead letters: the fence at which leasehold dead-lettered the task. */
  readonly deadletterfence?: number;
  /** Extensions this version does not know; they survive copies. */
  readonly extensions?: Readonly<Record<string, string | number | boolean>>;
}

export type DecodeOutcome =
  | { readonly ok: true; readonly event: TaskEvent }
  /** `code` is the dead-letter code, `reason` says what is wrong with the body, for a person. */
  | { readonly ok: false; readonly code: "malformed_event" | "unsupported_content"; readonly reason: string };

/** The content type of a structured CloudEvent. */
export const EVENT_CONTENT_TYPE = "application/cloudevents+json";
/** Inputs above this travel by `dataref`. */
export const INLINE_DATA_BYTES = 64 * 1024;
/** Inputs above this need a PayloadStore. */
export const MAX_INPUT_BYTES = 380 * 1024;
/** What core leaves free below a broker's message limit. */
export const MESSAGE_RESERVE_BYTES = 8 * 1024;

/** The source of events that leasehold itself sends for a queue. */
export function ownSource(queue: string): string {
  return `leasehold:${queue}`;
}
