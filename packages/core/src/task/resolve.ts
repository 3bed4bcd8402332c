import { LeaseholdError } from "../errors.ts";
import type { ClaimStage } from "../record/record.ts";
import { type Duration, durationMs } from "../util/duration.ts";
import { checkOptionNames, kindOf, refusal } from "../util/issues.ts";
import type { AnyEffect, AnyTask, RetryRule } from "./define.ts";
import { checkEffect } from "./define-effect.ts";

/** A task definition as plain numbers, every default filled in. Durations are milliseconds. */
export interface ResolvedTask {
  readonly definition: AnyTask;
  readonly type: string;
  /** The lease by stage. Default 60 s in each. */
  readonly leaseMs: Readonly<Record<ClaimStage, number>>;
  /** What a claim buys by stage. Default 2 min in preflight, 10 min in external_call, 2 min in commit, 5 min in verify. */
  readonly budgetMs: Readonly<Record<ClaimStage, number>>;
  /** Attempts that count. Default 5. */
  readonly attempts: number;
  /** First wait between attempts. Default 5 s; it doubles with each. */
  readonly backoffBaseMs: number;
  /** Longest wait between attempts. Default 10 min. */
  readonly backoffCapMs: number;
  /** The longest attempt, from acquire. Default 24 h. */
  readonly maxRunMs: number;
  readonly retry: Readonly<Record<"preflight" | "external_call", RetryRule>>;
  /** The declared effects by name. */
  readonly effects: ReadonlyMap<string, AnyEffect>;
  readonly settledBy: string | undefined;
  /** `settledBy` when only that is given. */
  readonly receiptFrom: string | undefined;
}

const CLAIM_STAGES = ["preflight", "external_call", "commit", "verify"] as const satisfies readonly ClaimStage[];
const DEFAULT_BUDGETS_MS: Readonly<Record<ClaimStage, number>> = {
  preflight: 120_000,
  external_call: 600_000,
  commit: 120_000,
  verify: 300_000,
};
const DEFAULT_LEASE_MS = 60_000;
/** Below this the holder's margin would eat the lease. */
const MIN_LEASE_MS = 1_000;
/** Keeps every stored time within four-digit years. */
const MAX_DURATION_MS = 3_650 * 86_400_000;
const DEFAULT_ATTEMPTS = 5;
const DEFAULT_BACKOFF_BASE_MS = 5_000;
const DEFAULT_BACKOFF_CAP_MS = 600_000;
const DEFAULT_MAX_RUN_MS = 86_400_000;

/** Every field, so that a misspelt one (`settleBy`) is refused instead of ignored. */
const FIELDS: Readonly<Record<keyof AnyTask, true>> = {
  type: true,
  input: true,
  effects: true,
  settledBy: true,
  receiptFrom: true,
  attempts: true,
  backoff: true,
  lease: true,
  maxRun: true,
  stages: true,
  retry: true,
  run: true,
};

/** What task types are made of; they are part of every task id and of labels. */
const TASK_TYPE = /^[A-Za-z0-9_.-]{1,64}$/;

/** Checks a definition and fills in the defaults. Throws `InvalidArgument` naming the field that is wrong. */
export function resolveTask(definition: AnyTask): ResolvedTask {
  if (typeof definition !== "object" || definition === null) {
    throw refusal("task", definition, "a task, as defineTask makes it");
  }
  checkOptionNames(definition, FIELDS, "task");
  checkTaskType(definition.type);
  const at = `task "${definition.type}"`;
  checkSchema(definition.input, `${at}.input`);
  if (typeof definition.run !== "function") {
    throw refusal(`${at}.run`, definition.run, "the handler, a function of the task");
  }
  const effects = effectsByName(definition.effects, `${at}.effects`);
  const { settledBy } = definition;
  const receiptFrom = definition.receiptFrom ?? settledBy;
  checkNamesEffect(settledBy, effects, `${at}.settledBy`);
  checkNamesEffect(receiptFrom, effects, `${at}.receiptFrom`);
  if (settledBy !== undefined && receiptFrom !== settledBy) {
    throw new LeaseholdError(
      "InvalidArgument",
      `${at}.receiptFrom: got "${receiptFrom}", expected "${settledBy}" or nothing, because the task is settledBy "${settledBy}"`,
    );
  }
  return {
    definition,
    type: definition.type,
    ...stageNumbers(definition, at),
    attempts: attemptsOf(definition.attempts, `${at}.attempts`),
    ...backoffOf(definition.backoff, `${at}.backoff`),
    maxRunMs: within(definition.maxRun ?? DEFAULT_MAX_RUN_MS, `${at}.maxRun`, MIN_LEASE_MS),
    retry: retryOf(definition.retry, `${at}.retry`),
    effects,
    settledBy,
    receiptFrom,
  };
}

/** Throws `InvalidArgument` unless `type` can be a task type. */
export function checkTaskType(type: unknown): asserts type is string {
  if (typeof type !== "string" || !TASK_TYPE.test(type)) {
    throw refusal("task.type", type, "1 to 64 of A-Z a-z 0-9 _ . -; choose a stable name, it is part of every task id");
  }
}

/** Throws `InvalidArgument` unless `schema` is a zod schema. */
export function checkSchema(schema: unknown, field: string): void {
  if (typeof (schema as { safeParseAsync?: unknown } | null | undefined)?.safeParseAsync !== "function") {
    throw refusal(field, schema, "a zod schema of the input, such as z.object({ … })");
  }
}

function effectsByName(effects: unknown, field: string): ReadonlyMap<string, AnyEffect> {
  if (effects === undefined) return new Map();
  if (!Array.isArray(effects)) throw refusal(field, effects, "a list of effects, as defineEffect makes them");
  const byName = new Map<string, AnyEffect>();
  effects.forEach((effect: AnyEffect, index) => {
    checkEffect(effect, `${field}[${index}]`);
    if (byName.has(effect.name)) {
      throw new LeaseholdError(
        "InvalidArgument",
        `${field}[${index}].name: got "${effect.name}" a second time, expected names that are unique in the task; rename one of the two`,
      );
    }
    byName.set(effect.name, effect);
  });
  return byName;
}

function checkNamesEffect(name: unknown, effects: ReadonlyMap<string, AnyEffect>, field: string): void {
  if (name === undefined || (typeof name === "string" && effects.has(name))) return;
  const known = [...effects.keys()].map((known) => `"${known}"`).join(", ");
  const got = typeof name === "string" ? JSON.stringify(name.slice(0, 64)) : kindOf(name);
  throw new LeaseholdError(
    "InvalidArgument",
    `${field}: got ${got}, expected the name of a declared effect (${known === "" ? "there is none: list it in effects" : known})`,
  );
}

function stageNumbers(definition: AnyTask, at: string): Pick<ResolvedTask, "leaseMs" | "budgetMs"> {
  const stages: unknown = definition.stages ?? {};
  checkKeys(stages, CLAIM_STAGES, `${at}.stages`);
  const baseLeaseMs = within(definition.lease ?? DEFAULT_LEASE_MS, `${at}.lease`, MIN_LEASE_MS);
  const leaseMs: Record<string, number> = {};
  const budgetMs: Record<string, number> = {};
  for (const stage of CLAIM_STAGES) {
    const settings = definition.stages?.[stage];
    if (settings !== undefined) checkKeys(settings, ["lease", "budget"], `${at}.stages.${stage}`);
    leaseMs[stage] =
      settings?.lease === undefined ? baseLeaseMs : within(settings.lease, `${at}.stages.${stage}.lease`, MIN_LEASE_MS);
    budgetMs[stage] = within(settings?.budget ?? DEFAULT_BUDGETS_MS[stage], `${at}.stages.${stage}.budget`, 1);
  }
  return { leaseMs: leaseMs as ResolvedTask["leaseMs"], budgetMs: budgetMs as ResolvedTask["budgetMs"] };
}

function attemptsOf(value: unknown, field: string): number {
  if (value === undefined) return DEFAULT_ATTEMPTS;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1) return value;
  const got = typeof value === "number" ? String(value) : kindOf(value);
  throw new LeaseholdError(
    "InvalidArgument",
    `${field}: got ${got}, expected a whole number from 1 up; 1 means no retry`,
  );
}

function backoffOf(backoff: unknown, field: string): Pick<ResolvedTask, "backoffBaseMs" | "backoffCapMs"> {
  checkKeys(backoff ?? {}, ["base", "cap"], field);
  const { base, cap } = (backoff ?? {}) as NonNullable<AnyTask["backoff"]>;
  const backoffBaseMs = within(base ?? DEFAULT_BACKOFF_BASE_MS, `${field}.base`, 1);
  const backoffCapMs = within(cap ?? Math.max(DEFAULT_BACKOFF_CAP_MS, backoffBaseMs), `${field}.cap`, 1);
  if (backoffCapMs >= backoffBaseMs) return { backoffBaseMs, backoffCapMs };
  throw new LeaseholdError(
    "InvalidArgument",
    `${field}.cap: got ${backoffCapMs} ms, expected at least the base of ${backoffBaseMs} ms (the default is 5 s); lower backoff.base too`,
  );
}

function retryOf(retry: unknown, field: string): ResolvedTask["retry"] {
  checkKeys(retry ?? {}, ["preflight", "external_call"], field);
  const rules = (retry ?? {}) as Record<string, unknown>;
  for (const [stage, rule] of Object.entries(rules)) {
    if (rule !== undefined && rule !== "retry" && rule !== "park") {
      throw refusal(`${field}.${stage}`, rule, '"retry" (the default) or "park"');
    }
  }
  const ruleOf = (stage: string): RetryRule => (rules[stage] as RetryRule | undefined) ?? "retry";
  return { preflight: ruleOf("preflight"), external_call: ruleOf("external_call") };
}

/** Reads a duration and keeps it between `minMs` and ten years. */
function within(value: Duration, field: string, minMs: number): number {
  const ms = durationMs(value, field);
  if (ms >= minMs && ms <= MAX_DURATION_MS) return ms;
  throw new LeaseholdError("InvalidArgument", `${field}: got ${ms} ms, expected ${minMs} ms to 3650 days`);
}

function checkKeys(value: unknown, known: readonly string[], field: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refusal(field, value, `an object with any of ${known.join(", ")}`);
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) {
      throw new LeaseholdError(
        "InvalidArgument",
        `${field}: got the field ${JSON.stringify(key.slice(0, 64))}, expected only ${known.join(", ")}`,
      );
    }
  }
}
