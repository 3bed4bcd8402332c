import type { TaskRecord } from "@leasehold/core";

/** One run of the tasks on one provider, as its records stand at the end. */
export interface ComparedRun {
  readonly provider: string;
  readonly tasks: readonly ComparedTask[];
}

export interface ComparedTask {
  readonly key: string;
  /** `undefined`: no record. */
  readonly record: TaskRecord | undefined;
  /** What the handler returned, as JSON text; `undefined`: nothing. */
  readonly result: string | undefined;
}

/** A field of a task's record that one provider has otherwise than the first. `undefined`: it has no such field. */
export interface Difference {
  readonly key: string;
  readonly field: string;
  readonly provider: string;
  readonly value: string | undefined;
  readonly first: { readonly provider: string; readonly value: string | undefined };
}

/** What a handler is promised to leave behind alike on every provider; each is compared with all that is in it. */
export const COMPARED = ["status", "stage", "attempt", "effects", "receipts", "result", "claims"] as const;

/** A run has times and a trace of its own, also in a receipt that a handler returns. */
const OF_A_RECEIPT: ReadonlySet<string> = new Set(["verified_at", "trace_id"]);
/** The fence counts acquisitions, which are as much the broker's doing as the handler's. */
const OF_AN_EFFECT: ReadonlySet<string> = new Set(["begun_at", "first_begun_at", "fence", ...OF_A_RECEIPT]);
const OF_A_CLAIM: ReadonlySet<string> = new Set(["at"]);

/** The values that are compared, by field: `status`, `effects.publish.state`, `claims.last.0.reason`, … */
export function comparedValues({ record, result }: ComparedTask): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  if (record === undefined) return values;

  function add(field: string, value: unknown, leftOut: ReadonlySet<string>): void {
    if (value === undefined) return;
    if (typeof value !== "object" || value === null) {
      values.set(field, JSON.stringify(value));
      return;
    }
    for (const [name, part] of Object.entries(value)) if (!leftOut.has(name)) add(`${field}.${name}`, part, leftOut);
  }

  const all: ReadonlySet<string> = new Set();
  const compared: Readonly<Record<(typeof COMPARED)[number], readonly [unknown, ReadonlySet<string>]>> = {
    status: [record.status, all],
    stage: [record.stage, all],
    attempt: [record.attempt, all],
    // With the receipt of each.
    effects: [record.effects, OF_AN_EFFECT],
    receipts: [record.settlement_receipt, OF_A_RECEIPT],
    result: [result === undefined ? undefined : JSON.parse(result), OF_A_RECEIPT],
    claims: [{ count: record.claim_count, last: record.last_claims }, OF_A_CLAIM],
  };
  for (const [field, [value, leftOut]] of Object.entries(compared)) add(field, value, leftOut);
  return values;
}

/** Each run is held against the first. */
export function compareRuns(runs: readonly ComparedRun[]): readonly Difference[] {
  const [first, ...others] = runs;
  if (first === undefined) return [];
  return first.tasks.flatMap((task) =>
    others.flatMap(({ provider, tasks }) => {
      const other = tasks.find(({ key }) => key === task.key) ?? { ...task, record: undefined, result: undefined };
      return differencesOf(first.provider, task, provider, other);
    }),
  );
}

function differencesOf(
  firstProvider: string,
  first: ComparedTask,
  provider: string,
  other: ComparedTask,
): readonly Difference[] {
  const [expected, found] = [comparedValues(first), comparedValues(other)];
  const fields = [...new Set([...expected.keys(), ...found.keys()])];
  return fields
    .filter((field) => expected.get(field) !== found.get(field))
    .map((field) => ({
      key: first.key,
      field,
      provider,
      value: found.get(field),
      first: { provider: firstProvider, value: expected.get(field) },
    }));
}
