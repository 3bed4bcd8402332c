import type {
  AttemptEntry,
  Claim,
  EffectState,
  Receipt,
  Resolution,
  Stage,
  Status,
  TaskRecord,
} from "../record/record.ts";

/**
 * The contract of the task store. Ownership is decided here and only here, by conditional single-item writes.
 *
 * Every call takes `at`, the caller's wall time in ms: what a write stores is computed from it, so that a retry writes the
 * same values, and the holder's own deadline counts from the same moment. Expected results are unions; errors
 * ({@link LeaseholdError}) are for the unexpected: `Unavailable`, `ResourceExhausted`, `DeadlineExceeded` (each may have been
 * applied: make the same call again, with the same token and number), `PermissionDenied`, `InvalidArgument`,
 * `PayloadTooLarge`, `Unknown` (a record that does not parse; the message names the field).
 */
export interface TaskStore {
  create(task: NewTask): Promise<CreateOutcome>;
  acquire(request: AcquireRequest): Promise<AcquireOutcome>;

  /** Writes claims and stage, and a full new lease. */
  renew(write: HolderWrite & { readonly leaseMs: number }): Promise<HolderOutcome>;
  /**
   * Writes the intent of an effect, stage `commit` and a full new lease, before anything is sent. Refused when the effect has
   * its receipt, and when its guard is `none`, it was begun before (`started`, `committed`) and no `allow_commit` for it is in the
   * record; a begin under `allow_commit` removes it. `effects` and `open_effects` in `state` already hold the new intent.
   */
  beginEffect(
    write: HolderWrite & { readonly leaseMs: number; readonly effect: string },
  ): Promise<HolderOutcome | Refused>;
  /** The system answered: the effect is `committed`, its external id kept. Renews the lease. */
  recordCommitted(
    write: HolderWrite & { readonly leaseMs: number; readonly effect: string },
  ): Promise<HolderOutcome | Refused>;
  /** The effect is certainly not there: `failed`. Renews the lease. */
  recordFailed(
    write: HolderWrite & { readonly leaseMs: number; readonly effect: string },
  ): Promise<HolderOutcome | Refused>;
  /** The effect was read back: `verified`, with its receipt. Renews the lease. */
  recordReceipt(
    write: HolderWrite & { readonly leaseMs: number; readonly effect: string },
  ): Promise<HolderOutcome | Refused>;

  /** The end: needs `open_effects = 0`. Stores the result (over 1 KB as an item of its own, written first). */
  settle(write: HolderWrite & SettleFields): Promise<HolderOutcome | Refused>;
  /** Gives the task back, to be started at `notBefore`. */
  release(write: HolderWrite & ReleaseFields): Promise<HolderOutcome>;
  /** Gives up. */
  deadLetter(write: HolderWrite & EndFields): Promise<HolderOutcome>;
  /** Waits for a person. Keeps the payload without expiry. */
  park(write: HolderWrite & { readonly endReason: string; readonly lastError?: string }): Promise<HolderOutcome>;
  /** The holder ends its own task as cancelled, as `cancel_requested_at` asked. */
  endCancelled(write: HolderWrite & EndFields): Promise<HolderOutcome>;

  /** From outside: leaves `parked`; attempt 0. `InvalidArgument` when the decision is about an effect and does not say which. */
  resume(request: ResumeRequest): Promise<OutsideOutcome>;
  /** From outside: leaves `dead_lettered`, `parked` or `cancelled`; attempt 0, effects stay. */
  reopen(
    request: OutsideRequest & {
      readonly deadline?: number;
      /** Only under this fence (a redrive by hand). */
      readonly fence?: number;
    },
  ): Promise<OutsideOutcome>;
  /**
   * From outside: a waiting or parked task ends at once; a leased one is asked through `cancel_requested_at`, and so is a waiting
   * one with an open effect, which a worker must read back first: then ring it.
   */
  cancel(request: OutsideRequest & { readonly reason: string }): Promise<OutsideOutcome>;

  /** A consistent read. Throws `Unknown` naming the field when the record does not parse. */
  get(taskId: string): Promise<TaskRecord | undefined>;
  /** The stored payload (JSON text) a record points to. */
  payload(taskId: string, payloadRef: string): Promise<string | undefined>;
  /** The result of a settled record (JSON text): the inline one or the one that `result_ref` names. */
  result(record: TaskRecord): Promise<string | undefined>;
  listByRun(agentRunId: string, page?: PageRequest): Promise<Page<TaskRecord>>;
  listByStatus(status: Exclude<Status, "settled" | "cancelled">, page?: PageRequest): Promise<Page<TaskRecord>>;

  /** Keys of one shard whose `check_at` has come, oldest first. */
  dueForCheck(request: DueRequest): Promise<Page<DueTask>>;
  /** Moves `check_at` under the values that were read. */
  moveCheck(request: MoveCheckRequest): Promise<OutsideOutcome>;

  /** Shared effect keys: names the owner of `key` in `system`, under exactly what was read. */
  claimKey(request: ClaimKeyRequest): Promise<ClaimKeyOutcome>;
  close(): Promise<void>;
}

export interface NewTask {
  readonly taskId: string;
  readonly type: string;
  readonly queue: string;
  /** Canonical JSON text of the input. Written as `payload#<id>#<inputHash>` before the record. */
  readonly input: string;
  readonly inputHash: string;
  readonly idempotencyKey: string;
  readonly agentRunId?: string;
  readonly orderingKey?: string;
  readonly traceId?: string;
  readonly traceparent?: string;
  readonly notBefore?: number;
  readonly deadline?: number;
  readonly at: number;
  readonly recoverAfterMs: number;
  readonly retentionMs: number;
  /** Made for this call: tells an own record after a lost answer. */
  readonly token: string;
  /** Create and acquire in one write: a worker that met an event without a record. */
  readonly lease?: { readonly owner: string; readonly leaseMs: number };
}

export type CreateOutcome =
  | { readonly outcome: "created"; readonly record: TaskRecord }
  /** A record of this id was there; the caller compares type and input hash. */
  | { readonly outcome: "exists"; readonly record: TaskRecord };

export interface AcquireRequest {
  readonly taskId: string;
  /** Acquired only if type and input agree. Absent: whatever they are. */
  readonly expect?: { readonly type: string; readonly inputHash: string };
  readonly owner: string;
  /** Made for this call; a retry of the call carries the same. */
  readonly token: string;
  readonly at: number;
  readonly leaseMs: number;
  readonly maxClockSkewMs: number;
}

export type AcquireOutcome =
  | {
      readonly outcome: "acquired";
      /** As it is now: fence, attempt, attempts_total and delivery_count grown by one, `lease_seq` 0; stage, claims, effects untouched. */
      readonly record: TaskRecord;
      /** As it was; absent when the answer of an earlier try of this call was lost. */
      readonly previous?: TaskRecord;
      /** A lease had lapsed, and its expiry was not counted yet: its stage. */
      readonly expiredStage?: Stage;
    }
  /** Not due, live, ended, or another type or input: see the record. */
  | { readonly outcome: "refused"; readonly record: TaskRecord }
  | { readonly outcome: "missing" };

/** What a holder carries in each write. */
export interface HolderWrite {
  readonly taskId: string;
  readonly token: string;
  /** The number of this write, one above the last. A retry of the write carries the same. */
  readonly seq: number;
  readonly at: number;
  /** Absolute values of what the holder has changed. */
  readonly state?: HolderState;
}

/** The fields a holder computes itself; it is their only writer while it holds the lease. */
export interface HolderState {
  readonly stage?: Stage;
  readonly last_claims?: readonly Claim[];
  readonly claim_count?: number;
  readonly renewal_count?: number;
  readonly effects?: Readonly<Record<string, EffectState>>;
  readonly open_effects?: number;
  readonly attempts?: readonly AttemptEntry[];
  readonly attempt?: number;
  readonly settlement_receipt?: Receipt;
  readonly unread_releases?: number;
}

export interface SettleFields {
  /** The fence of this lease: it is part of the key of a result item. */
  readonly fence: number;
  /** JSON text; absent: the handler returned nothing. */
  readonly result?: string;
  readonly receipt: Receipt;
  readonly retentionMs: number;
}

export interface ReleaseFields {
  /** The record's queue: its recovery loop finds the task again. */
  readonly queue: string;
  /** Wall time, ms. */
  readonly notBefore: number;
  readonly recoverAfterMs: number;
  readonly lastError?: string;
}

export interface EndFields {
  /** `<code>: <text>`. */
  readonly endReason: string;
  readonly lastError?: string;
  readonly retentionMs: number;
}

export type HolderOutcome =
  /** Written, by this call or by an earlier try of it. `record.cancel_requested_at` tells a holder about a cancel. */
  | { readonly outcome: "written"; readonly record: TaskRecord }
  /** The lease is gone: nothing was changed. */
  | { readonly outcome: "lost"; readonly record?: TaskRecord };

/** The lease holds, the write is not allowed: open effects at settle, a second begin of an effect without guard. */
export interface Refused {
  readonly outcome: "refused";
  readonly record: TaskRecord;
}

export interface OutsideRequest {
  readonly taskId: string;
  readonly at: number;
  readonly recoverAfterMs: number;
  readonly retentionMs: number;
  /** Made for this call; a retry carries the same. */
  readonly token: string;
}

export interface ResumeRequest extends OutsideRequest {
  readonly decision: Resolution["decision"];
  /** Needed when more than one effect is open. */
  readonly effect?: string;
  readonly externalId?: string;
  readonly by: string;
  readonly note?: string;
  readonly deadline?: number;
}

export type OutsideOutcome =
  | { readonly outcome: "written"; readonly record: TaskRecord }
  /** The record is not in a state that this verb leaves, or it changed under the call: see it. */
  | { readonly outcome: "refused"; readonly record: TaskRecord }
  | { readonly outcome: "missing" };

export interface PageRequest {
  /** Default 100. */
  readonly limit?: number;
  readonly cursor?: string;
}
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string;
}

export interface DueRequest {
  readonly queue: string;
  readonly kind: "waiting" | "leased";
  /** 0..{@link CHECK_SHARDS} - 1. */
  readonly shard: number;
  readonly at: number;
  /** Default 100. */
  readonly limit?: number;
  /** From an earlier page: what follows it. */
  readonly cursor?: string;
}
export interface DueTask {
  readonly taskId: string;
  readonly checkAt: number;
}

export interface MoveCheckRequest {
  readonly taskId: string;
  /** The record's queue. */
  readonly queue: string;
  /** What was read: the write happens only under exactly this. */
  readonly read: { readonly check_at: string; readonly status: Status; readonly fence: number };
  readonly at: number;
  readonly checkAt: number;
  /** A waiting task's ring: when its new message is sent. Absent: `sent_at` stays. */
  readonly sentAt?: number;
  readonly kind: "waiting" | "leased";
  /** Count the expiry of this fence. */
  readonly countExpiry?: boolean;
  readonly token: string;
}

export interface KeyOwner {
  readonly task_id: string;
  readonly fence: number;
}
export interface ClaimKeyRequest {
  readonly system: string;
  readonly key: string;
  readonly owner: KeyOwner;
  /** Take over from exactly this owner; absent: only if absent, or the same task with a lower or equal fence. */
  readonly from?: KeyOwner;
  readonly at: number;
  readonly retentionMs: number;
}
export type ClaimKeyOutcome =
  | {
      readonly outcome: "claimed";
      /** Nobody owned it before this call (a retry after a lost answer is not fresh). */
      readonly fresh: boolean;
    }
  | { readonly outcome: "held"; readonly owner: KeyOwner };

/** Partitions of the check index, for waiting and for leased tasks each. */
export const CHECK_SHARDS = 8;
/** Partitions of the status index. */
export const STATUS_SHARDS = 4;
