import type { CaseResult } from "../suite/run.ts";
import type { Divergence } from "./divergence.ts";

/**
 * Results as they count once the declared differences are taken into account. A case that fails as declared is a skip with what
 * the server does as its reason. What was declared and did not happen is a failure: the table has to stay true.
 */
export function judge(
  target: string,
  results: readonly CaseResult[],
  divergences: readonly Divergence[],
): readonly CaseResult[] {
  const declared = new Map(
    divergences.filter(({ targets }) => targets.includes(target)).map((divergence) => [divergence.case, divergence]),
  );
  return results.map((result) => {
    const divergence = declared.get(result.name);
    return divergence === undefined ? result : judgeOne(result, divergence);
  });
}

/** Declarations that no result belongs to: their cases were renamed, or are run no more. */
export function strangers(
  target: string,
  results: readonly CaseResult[],
  divergences: readonly Divergence[],
): readonly string[] {
  const names = new Set(results.map(({ name }) => name));
  return divergences.filter((one) => one.targets.includes(target) && !names.has(one.case)).map((one) => one.case);
}

function judgeOne(result: CaseResult, { does, shows, source, sometimes }: Divergence): CaseResult {
  switch (result.status) {
    case "failed":
      return shows.test(result.reason ?? "")
        ? { ...result, status: "skipped", reason: `differs as declared: ${does} (${source})` }
        : { ...result, reason: `declared to fail with ${shows}, and failed otherwise: ${result.reason}` };
    case "passed":
      if (sometimes === true) return result;
      return {
        ...result,
        status: "failed",
        reason: `declared to differ (${does}), and passes: strike it from the table`,
      };
    case "skipped":
      return { ...result, status: "failed", reason: `declared to differ, and was not run: ${result.reason}` };
  }
}
