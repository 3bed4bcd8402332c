import { FAULT_KINDS } from "./faults.ts";
import type { RunResult } from "./run.ts";

/** The invariants of the design, as one line each. */
export const INVARIANTS: Readonly<Record<number, string>> = {
  1: "one holder's writes succeed per fence",
  2: "a receipt follows a readback and never changes",
  3: "settled is final, and its handler never runs again",
  4: "a guarded effect is visible once",
  5: "an effect without guard is committed once unless a person says so",
  6: "no task is lost",
  7: "a lost lease is heard before another worker starts",
  8: "no renewal without a claim in its budget",
  9: "every delivery ends once, no task ends with an effect unread",
};

/** What many runs add up to. Plain data, so that it can come from another thread. */
export interface Totals {
  readonly runs: number;
  readonly coveredMs: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly failures: readonly { readonly seed: number; readonly invariant: number; readonly text: string }[];
}

export function addRun(totals: Totals, result: RunResult): Totals {
  const counts: Record<string, number> = { ...totals.counts };
  const add = (what: string, number: number): void => {
    counts[what] = (counts[what] ?? 0) + number;
  };
  for (const { kind } of result.fired) add(kind, 1);
  for (const [what, number] of result.counts) add(what, number);
  const [violation] = result.violations;
  return {
    runs: totals.runs + 1,
    coveredMs: totals.coveredMs + result.coveredMs,
    counts,
    failures:
      violation === undefined
        ? totals.failures
        : [...totals.failures, { seed: result.seed, invariant: violation.invariant, text: violation.text }],
  };
}

export function addTotals(left: Totals, right: Totals): Totals {
  const counts: Record<string, number> = { ...left.counts };
  for (const [what, number] of Object.entries(right.counts)) counts[what] = (counts[what] ?? 0) + number;
  return {
    runs: left.runs + right.runs,
    coveredMs: left.coveredMs + right.coveredMs,
    counts,
    failures: [...left.failures, ...right.failures],
  };
}

export const NOTHING: Totals = { runs: 0, coveredMs: 0, counts: {}, failures: [] };

/** What was exercised, most of a kind in a line. */
export function linesOf({ counts }: Totals): string[] {
  const kinds: ReadonlySet<string> = new Set(FAULT_KINDS);
  const rest = Object.keys(counts).filter((what) => !kinds.has(what));
  const line = (name: string, keys: readonly string[]): string =>
    `${name}: ${keys.map((what) => `${what} ${counts[what] ?? 0}`).join(", ")}`;
  const named = (start: string): string[] => rest.filter((what) => what.startsWith(start)).sort();
  return [
    line("faults", FAULT_KINDS),
    line("tasks", named("ended ")),
    line("take-overs and losses", [...named("lease "), ...named("worker ")]),
    line("duplicates", named("duplicate ")),
    line("retries", named("retry ")),
    line("rings", named("ring ")),
    line("people", named("person ")),
  ];
}

/** Kinds of faults that never happened: something that is meant to be tried is not. */
export function deadKinds({ counts }: Totals): string[] {
  return FAULT_KINDS.filter((kind) => (counts[kind] ?? 0) === 0);
}

const LONGEST_LOG = 300;

/** A failure that was made small: what was broken, what it took, and what happened. */
export function failureLines(result: RunResult): string[] {
  const { seed, violations, fired, lines, plan } = result;
  const log =
    lines.length > LONGEST_LOG ? [`(${lines.length - LONGEST_LOG} lines before)`, ...lines.slice(-LONGEST_LOG)] : lines;
  return [
    ...violations.map(
      ({ invariant, text, atMs }) =>
        `seed ${seed}: invariant ${invariant} (${INVARIANTS[invariant]}) at ${atMs} ms: ${text}`,
    ),
    `queue: ${JSON.stringify(plan.queue)}, ${plan.workers} workers of ${plan.concurrency}, skew ${plan.skewMs} ms`,
    ...plan.tasks.map((task) => `task ${task.number}: ${JSON.stringify(task)}`),
    `schedule, shrunk to ${fired.length} faults:`,
    ...fired.map(({ id, kind, atMs }) => `  ${atMs} ms ${kind} (${id})`),
    "event log:",
    ...log.map((line) => `  ${line}`),
  ];
}
