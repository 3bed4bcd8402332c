import type { CaseResult } from "./run.ts";

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function totalsOf(results: readonly CaseResult[]): Totals {
  const count = (status: CaseResult["status"]): number => results.filter((result) => result.status === status).length;
  return { passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
}

/** What makes a run fail: cases that failed, cases that were skipped without a reason, and having run nothing. */
export function problemsOf(results: readonly CaseResult[]): readonly string[] {
  const problems = results.filter((result) => result.status === "failed").map((result) => `failed: ${labelOf(result)}`);
  for (const result of results) {
    if (result.status === "skipped" && !result.reason?.trim())
      problems.push(`skipped without a reason: ${labelOf(result)}`);
  }
  if (totalsOf(results).passed + totalsOf(results).failed === 0) problems.push("no case was run");
  return problems;
}

/** A line per failure and per skip, then the totals, of one target. */
export function linesOf(target: string, results: readonly CaseResult[]): readonly string[] {
  const lines = results.flatMap((result) => {
    if (result.status === "passed") return [];
    const reason = result.reason?.trim() || "no reason given";
    return [`  ${result.status}: ${labelOf(result)}: ${reason.replaceAll("\n", "\n    ")}`];
  });
  const { passed, failed, skipped } = totalsOf(results);
  return [...lines, `${target}: ${passed} passed, ${failed} failed, ${skipped} skipped`];
}

/** The summary that a suite of `pnpm test` leaves behind. */
export function summaryOf(
  results: readonly CaseResult[],
): Totals & { readonly skips: readonly { readonly name: string; readonly reason: string }[] } {
  const skips = results
    .filter((result) => result.status === "skipped")
    .map((result) => ({ name: `${result.target} / ${labelOf(result)}`, reason: result.reason ?? "" }));
  return { ...totalsOf(results), skips };
}

function labelOf({ part, subject, name }: CaseResult): string {
  return `${part} / ${subject} / ${name}`;
}
