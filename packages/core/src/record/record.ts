import { z } from "zod";

/**
 * The task record: the one authority on who owns a task and how far it is. One zod schema defines it; fields that a later
 * version adds are kept. Each field says who sets it and when. Times are UTC text of the form
 * `YYYY-MM-DDTHH:mm:ss.sssZ`, compared as text; only `expire_at` is a number, in seconds (DDB-08).
 */

/** How far the work is. `settled` is final. */
export const STAGES = ["preflight", "external_call", "commit", "verify", "settled"] as const;
export type Stage = (typeof STAGES)[number];
/** The stages that a claim can name. */
export type ClaimStage = Exclude<Stage, "settled">;

/** Where the task stands. `settled`, `dead_lettered` and `cancelled` are ends; `parked` waits for a person. */
export const STATUSES = ["queued", "leased", "released", "parked", "settled", "dead_lettered", "cancelled"] as const;
export type Status = (typeof STATUSES)[number];

/** What makes it safe to commit an effect again: the system's idempotency keys, a deterministic name, or nothing. */
export const GUARDS = ["idempotent", "deterministic-id", "none"] as const;
export type Guard = (typeof GUARDS)[number];

const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, "a UTC time like 2026-01-31T12:00:00.000Z");
const count = z.int().min(0);

/** Durable proof that an effect was read back. Written once, never changed. */
export const receiptSchema = z.looseObject({
  task_id: z.string(),
  stage: z.enum(STAGES),
  /** The system that holds the effect, `none` for a task without effects. */
  external_system: z.string(),
  /** The system's own id of what was made; for a task without effects the SHA-256 of its canonical result. */
  external_id: z.string(),
  status: z.string(),
  idempotency_key: z.string(),
  verified_at: time,
  trace_id: z.string().optional(),
  /** `answer`: the system cannot be read, its answer is all there is. Otherwise the person who vouched for it. */
  verified_by: z.string().optional(),
  /** What `verify` chose to keep, as JSON text of at most 1 KB, clipped with a mark. */
  details: z.string().optional(),
});
export type Receipt = z.infer<typeof receiptSchema>;

/** One effect of the task, keyed by `<name>` or `<name>:<item>`. Written by the holder only. */
export const effectStateSchema = z.looseObject({
  key: z.string(),
  guard: z.enum(GUARDS),
  /** `started`: the intent is durable, the outcome unknown. `committed`: the system answered. `verified`: read back. `failed`: certainly not there. */
  state: z.enum(["started", "committed", "verified", "failed"]),
  /** When the latest begin was written; `windowMs` of an idempotent guard counts from the first (`first_begun_at`). */
  begun_at: time,
  first_begun_at: time,
  /** The fence of the latest begin. */
  fence: count,
  /** How many times the effect was begun. */
  begins: count,
  /** `key` is shared across tasks (`scope: "global"`). */
  shared: z.boolean().optional(),
  external_system: z.string(),
  external_id: z.string().optional(),
  receipt: receiptSchema.optional(),
});
export type EffectState = z.infer<typeof effectStateSchema>;

/** A renewal's words: what the holder said it was doing. */
export const claimSchema = z.looseObject({
  stage: z.enum(STAGES),
  /** At most 120 bytes. */
  reason: z.string(),
  at: time,
  /** `none` on a claim of `external_call`: a retry from here parks. */
  guard: z.enum(["none"]).optional(),
  progress: z.looseObject({ done: z.number(), total: z.number().optional(), unit: z.string().optional() }).optional(),
});
export type Claim = z.infer<typeof claimSchema>;

/** One finished attempt. `how` is how it ended: `settled`, `released`, `expired`, … */
export const attemptSchema = z.looseObject({
  attempt: count,
  fence: count,
  owner: z.string(),
  from: time,
  to: time,
  stage: z.enum(STAGES),
  how: z.string(),
});
export type AttemptEntry = z.infer<typeof attemptSchema>;

/** A person's decision on a parked task. */
export const resolutionSchema = z.looseObject({
  decision: z.enum(["retry", "commit-again", "committed"]),
  effect: z.string().optional(),
  external_id: z.string().optional(),
  by: z.string(),
  note: z.string().optional(),
  at: time,
});
export type Resolution = z.infer<typeof resolutionSchema>;

export const taskRecordSchema = z.looseObject({
  /** Set at creation: the stable identity of the unit of work. */
  task_id: z.string(),
  /** Set at creation: the registered task type. */
  task_type: z.string(),
  /** Set at creation: the queue whose workers own the task. */
  queue: z.string(),
  /** Set at creation: the conversation, plan or run that asked for it. */
  agent_run_id: z.string().optional(),
  /** Set by every verb that changes hands or ends. */
  status: z.enum(STATUSES),
  /** Set by holders, resume and reopen: the most dangerous of the open effects, else that of the last claim. */
  stage: z.enum(STAGES),
  /** Grows by one with each acquisition; 0: never acquired. */
  fence: count,
  /** Set at acquire: worker identity (name, host, instance). */
  lease_owner: z.string().optional(),
  /** Set at acquire, made for that call (at creation: the creating call's). In the condition of every write of that holder. */
  lease_token: z.string().optional(),
  /** Set by each holder write: its number. */
  lease_seq: count.optional(),
  /** Set at acquire and by renewals: another worker may take over after this plus the clock skew. */
  lease_expires_at: time.optional(),
  /** Set at acquire: when this lease began. */
  acquired_at: time.optional(),
  /** Renewals of this fence. */
  renewal_count: count,
  /** Attempts that count against the limit. Grows at acquire; given back by a shutdown; 0 again at reopen. */
  attempt: count,
  /** All attempts ever. */
  attempts_total: count,
  /** Acquires ever; 0: never delivered. */
  delivery_count: count,
  /** Not to be started before. Set at creation and by release. */
  not_before: time.optional(),
  /** Not worth doing after. */
  deadline: time.optional(),
  /** In the sparse index of the recovery loop; removed by every end. */
  check_at: time.optional(),
  /** Partition of that index: `<queue>#w<n>` waiting, `<queue>#l<n>` leased. */
  check_shard: z.string().optional(),
  /** When the message that should start this task was sent; for a released task its `not_before`. */
  sent_at: time.optional(),
  /** Partition of the status index, `<status>#<n>`; settled and cancelled tasks have none. */
  status_shard: z.string().optional(),
  ordering_key: z.string().optional(),
  /** Set at creation: hash of the canonical input. */
  input_hash: z.string(),
  /** Set at creation: key of the payload item. */
  payload_ref: z.string(),
  /** The task's key for external systems; each effect's key starts with it. */
  idempotency_key: z.string(),
  /** Set at settle: a result of at most 1 KB, as JSON text. */
  result: z.string().optional(),
  /** Set at settle: key of the result item of a larger result. */
  result_ref: z.string().optional(),
  effects: z.record(z.string(), effectStateSchema),
  /** How many effects are `started` or `committed`. A settle needs 0. */
  open_effects: count,
  /** The last three claims, newest last. */
  last_claims: z.array(claimSchema),
  claim_count: count,
  /** The last ten finished attempts, newest last. */
  attempts: z.array(attemptSchema),
  /** Releases at which an end could not read an effect back, since the last decision of a person; three park. */
  unread_releases: count.optional(),
  resolution: resolutionSchema.optional(),
  /** Set by `resume(commit-again)` to the fence it read: allows one begin of `resolution.effect`, which removes it. */
  allow_commit: count.optional(),
  /** Set by the recovery loop: the lapsed fence whose expiry it counted; the acquire that ends that fence does not count it again. */
  expiry_counted: count.optional(),
  /** Set at settle: the receipt of the task. */
  settlement_receipt: receiptSchema.optional(),
  /** Why the task was dead-lettered, parked or cancelled: `<code>: <text>`. */
  end_reason: z.string().optional(),
  last_error: z.string().optional(),
  cancel_requested_at: time.optional(),
  trace_id: z.string().optional(),
  /** W3C trace context of the producer, so that a ring continues the trace. */
  traceparent: z.string().optional(),
  /** The id of the last write made without a lease (cancel, resume, reopen, recovery), to recognise it after a lost answer. */
  write_id: z.string().optional(),
  created_at: time,
  updated_at: time,
  settled_at: time.optional(),
  /** TTL in epoch seconds. Set by settled, cancelled and dead-lettered, removed by every write that leaves them. */
  expire_at: z.int().optional(),
});
export type TaskRecord = z.infer<typeof taskRecordSchema>;

/** Statuses from which a task does not start again by itself. */
export const ENDED: ReadonlySet<Status> = new Set<Status>(["settled", "dead_lettered", "cancelled", "parked"]);
