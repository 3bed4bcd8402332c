import type { z } from "zod";
import type { Claim, ClaimStage, Guard, Receipt, Resolution, Stage } from "../record/record.ts";
import type { Duration } from "../util/duration.ts";

/** Why a handler's signal aborted. */
export type AbortReason = "taken_over" | "expired" | "no_progress" | "cancelled" | "deadline" | "shutdown";

/** What makes it safe to commit again. `windowMs`: how long the system honours an idempotency key. */
export type EffectGuard = Guard | { readonly kind: "idempotent"; readonly windowMs: number };

export interface CommitContext<I> {
  /** The effect's key: the same in every attempt. Give it to the system. */
  readonly idempotencyKey: string;
  readonly input: I;
  readonly signal: AbortSignal;
  /** The fence of this lease, for systems that know fencing. */
  readonly fence: number;
}

export interface FindContext<I> {
  readonly idempotencyKey: string;
  /** The input of this attempt; absent when an earlier attempt's intent is read back before `run`. */
  readonly input?: I;
  /** Known when the system answered the commit, or a person named it. */
  readonly externalId?: string;
  readonly signal: AbortSignal;
}

/** What `verify` makes of the thing that was found. */
export interface Verified {
  readonly externalId: string;
  readonly status: string;
  /** JSON, kept in the receipt, at most 1 KB. */
  readonly details?: unknown;
}

/** One external side effect: how it is made, and how it is read back. */
export interface EffectDefinition<I = unknown, T = unknown, A = unknown> {
  /** Unique within a task type; `[A-Za-z0-9_-]`, at most 64. */
  readonly name: string;
  readonly externalSystem: string;
  readonly guard: EffectGuard;
  /** `task` (default): the key belongs to the task. `global`: the key is shared across tasks, under `key`. */
  readonly scope?: "task" | "global";
  /** The shared key, for `scope: "global"`. */
  readonly key?: (input: I) => string;
  /** Makes the effect. Throw {@link NotCommittedError} when nothing was sent. */
  readonly commit: (context: CommitContext<I>) => Promise<A> | A;
  /** External id in the answer of `commit`, when it is known already. */
  readonly externalId?: (answer: A) => string | undefined;
  /** Reads it back: the thing, or undefined (null) when it is not there. `null` as the definition: the system cannot be read (guard `none` only). */
  readonly find: ((context: FindContext<I>) => Promise<T | null | undefined> | T | null | undefined) | null;
  /** Is it as it should be? Without `find` it judges the answer. False counts as not found. */
  readonly verify: (found: T) => Verified | false | null | undefined;
}

/** What a receipt-bearing effect looks like once its types do not matter. */
// biome-ignore lint/suspicious/noExplicitAny: the definitions of one task have unrelated types
export type AnyEffect = EffectDefinition<any, any, any>;

export interface StageSettings {
  /** Lease while in this stage. At least 1 s. */
  readonly lease?: Duration;
  readonly budget?: Duration;
}

/** What a retry does, by the stage where the last attempt stopped. */
export type RetryRule = "retry" | "park";

export interface TaskDefinition<S extends z.ZodType = z.ZodType, R = unknown> {
  /** `[A-Za-z0-9_.-]`, at most 64. */
  readonly type: string;
  readonly input: S;
  readonly effects?: readonly AnyEffect[];
  /** The receipt of this effect is the task's; nothing follows it, so a retry that finds it settles without running. */
  readonly settledBy?: string;
  /** Name of the effect whose receipt is the task's; default: the only one, else the last. */
  readonly receiptFrom?: string;
  /** Attempts that count. Default 5. */
  readonly attempts?: number;
  readonly backoff?: { readonly base?: Duration; readonly cap?: Duration };
  /** Default 60 s. */
  readonly lease?: Duration;
  /** Per attempt, from acquire. Default 24 h. */
  readonly maxRun?: Duration;
  readonly stages?: Readonly<Partial<Record<ClaimStage, StageSettings>>>;
  /** Overrides for `preflight` and `external_call`; an open effect is always read back first. */
  readonly retry?: Readonly<Partial<Record<"preflight" | "external_call", RetryRule>>>;
  readonly run: (task: TaskContext<z.output<S>>) => Promise<R> | R;
}

// biome-ignore lint/suspicious/noExplicitAny: a registry holds tasks of unrelated types
export type AnyTask = TaskDefinition<any, any>;

/** A renewal: what the handler is doing, and for how long that is a good excuse. */
export interface ClaimRequest {
  readonly stage: ClaimStage;
  /** Specific: "downloaded 18 of 24 source documents". A vague one is recorded and buys no time. */
  readonly reason?: string;
  /** Default: the stage's. */
  readonly budget?: Duration;
  /** A good reason by itself. */
  readonly progress?: { readonly done: number; readonly total?: number; readonly unit?: string };
  /** On `external_call`: what was sent must not be sent again; a retry from here parks. */
  readonly guard?: "none";
}

/** What the last attempt left behind. */
export interface PreviousAttempt {
  readonly stage: Stage;
  readonly claims: readonly Claim[];
  readonly receipts: Readonly<Record<string, Receipt>>;
  readonly error?: string;
}

/** What a handler gets. After the lease is gone every method throws `LeaseLost`. */
export interface TaskContext<I> {
  readonly id: string;
  readonly type: string;
  readonly input: I;
  readonly agentRunId: string | undefined;
  /** The attempt, first = 1. */
  readonly attempt: number;
  /** Grows with each acquisition; for systems that know fencing. */
  readonly fence: number;
  readonly idempotencyKey: string;
  /** Aborts when the lease is lost or must end; `signal.reason` is an {@link AbortReason} in a `LeaseholdError` of code `LeaseLost`: see {@link abortReasonOf}. */
  readonly signal: AbortSignal;
  readonly previous: PreviousAttempt | undefined;
  /** A person's last decision on this task, when it was parked before. */
  readonly resolution: Resolution | undefined;
  /** Claims progress. Resolves when the claim is written (a change of stage or guard) or noted (a repeat). */
  renew(claim: ClaimRequest): Promise<void>;
  /** Makes the effect once, reads it back, returns its receipt. */
  effect<E extends EffectInput, T, A>(
    definition: EffectDefinition<E, T, A>,
    input: E,
    options?: { readonly item?: string },
  ): Promise<Receipt>;
}

// biome-ignore lint/suspicious/noExplicitAny: an effect's input is any JSON value
export type EffectInput = any;
