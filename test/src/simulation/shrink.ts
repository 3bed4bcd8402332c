import { type RunResult, simulate } from "./run.ts";

/** Runs that are spent on making one failure small. */
const MAX_RUNS = 400;

/** Leaves out faults and tasks, many at a time and then one by one, as long as it fails: by default, as the same invariant is broken. */
export async function shrink(
  failed: RunResult,
  fails = (result: RunResult): boolean => result.violations[0]?.invariant === failed.violations[0]?.invariant,
): Promise<RunResult> {
  const { seed, plan } = failed;
  let without: ReadonlySet<string> = new Set();
  let best = failed;
  let runs = 0;

  async function stillFails(ids: readonly string[]): Promise<boolean> {
    const more = new Set([...without, ...ids]);
    if (more.size === without.size || runs >= MAX_RUNS) return false;
    runs += 1;
    const result = await simulate(seed, { without: more, keepsLog: true });
    if (!fails(result)) return false;
    without = more;
    best = result;
    return true;
  }

  for (const { number } of plan.tasks) await stillFails([`task/${number}`]);
  for (let size = Math.ceil(best.fired.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < best.fired.length; ) {
      const ids = best.fired.slice(start, start + size).map((fault) => fault.id);
      if (!(await stillFails(ids))) start += size;
    }
  }
  return best === failed ? simulate(seed, { keepsLog: true }) : best;
}
