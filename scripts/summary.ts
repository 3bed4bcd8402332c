import { readFileSync } from "node:fs";

export interface Skip {
  readonly name: string;
  readonly reason: string;
}

/** What a suite writes, as JSON, to the file that `LEASEHOLD_SUMMARY` names. */
export interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** One entry for each skipped test, each with a reason. */
  readonly skips: readonly Skip[];
}

/** A summary that could be counted, and what had to be added to `failed` to make it so. */
export interface Verdict extends Summary {
  readonly problems: readonly string[];
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function parse(text: string): Summary | undefined {
  try {
    const { passed, failed, skipped, skips = [] } = JSON.parse(text) as Partial<Summary>;
    return isCount(passed) && isCount(failed) && isCount(skipped) && Array.isArray(skips)
      ? { passed, failed, skipped, skips }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Judges a finished suite. Silence never counts as success: each way of not telling is one failure. */
export function judge(summaryText: string | undefined, exitCode: number): Verdict {
  const summary = summaryText === undefined ? undefined : parse(summaryText);
  if (!summary) {
    const problem = summaryText === undefined ? "wrote no summary" : "wrote a summary that cannot be read";
    return { passed: 0, failed: 1, skipped: 0, skips: [], problems: [`${problem} (exit code ${exitCode})`] };
  }
  const problems: string[] = [];
  const unexplained = summary.skipped - summary.skips.filter((skip) => skip.reason?.trim()).length;
  if (exitCode !== 0 && summary.failed === 0) problems.push(`exited with ${exitCode} although no test failed`);
  if (unexplained > 0) problems.push(`skipped ${unexplained} without a reason`);
  if (summary.passed + summary.failed + summary.skipped === 0) problems.push("ran nothing");
  return { ...summary, failed: summary.failed + problems.length, problems };
}

export function readSummary(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** The closing line of a test run. */
export function closingLine(verdicts: readonly Summary[]): string {
  const sum = (key: "passed" | "failed" | "skipped") => verdicts.reduce((total, verdict) => total + verdict[key], 0);
  const skipped = sum("skipped");
  return `${sum("passed")} passed, ${sum("failed")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
