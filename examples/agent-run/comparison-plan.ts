import { type FaultKind, type PlannedFault, type PlanOptions, planFaults } from "./faults.ts";
import type { ToolCall } from "./task-file.ts";

/** Crashes that every provider has at the same moment of a task: when the external system has its write, and holds the answer. */
const CRASHES: readonly FaultKind[] = ["crash_after_send", "crash_after_commit"];
/** Faults of one task alone, which leave one and the same record wherever they happen. */
const OTHERS: readonly FaultKind[] = ["lost_message", "lost_answer", "doubled_message"];
/** The same, and it takes longest: it comes right after the crashes. */
const LONG: FaultKind = "hung_call";

/** What goes wrong in a comparison of providers. */
export interface ComparisonPlan {
  /** In the order in which they are handed out: those that a crash hits, the one that hangs, then the others as in the file. */
  readonly calls: readonly ToolCall[];
  readonly plan: readonly PlannedFault[];
  /** The faults for which the external system holds an answer. */
  readonly held: readonly FaultKind[];
}

/**
 * Chooses faults that must leave the same records everywhere. A worker that dies in the middle of a run takes along what else it has in
 * hand, which is another thing each time; and a worker of the memory provider cannot be stopped and continued. So crashes come
 * first and by themselves, and nothing is stopped.
 */
export function planComparison(options: Omit<PlanOptions, "kinds" | "spared">): ComparisonPlan {
  const first = planFaults({ ...options, kinds: [...CRASHES, LONG] }).map((fault) => ({ ...fault, spares: [] }));
  const hit = first.map(({ call }) => call);
  const calls = [...hit, ...options.calls.filter((call) => !hit.includes(call))];
  const others = planFaults({ ...options, calls, kinds: OTHERS, spared: hit });
  return { calls, plan: [...first, ...others], held: CRASHES };
}
