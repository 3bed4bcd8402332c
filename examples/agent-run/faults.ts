import type { HeldRequest, SystemFaults } from "./ledger.ts";
import type { ToolCall } from "./task-file.ts";

/** What goes wrong on purpose. */
export type FaultKind =
  | "lost_message"
  | "doubled_message"
  | "hung_call"
  | "lost_renewals"
  | "lost_answer"
  | "crash_after_commit"
  | "crash_after_send"
  | "crash_in_external_call"
  | "paused_worker";

/** A fault, and the task that it hits. */
export interface PlannedFault {
  readonly kind: FaultKind;
  readonly call: ToolCall;
  /** Tasks after it that serve as well, in case that it comes to another end before: its worker may die with a neighbour's. */
  readonly spares: readonly ToolCall[];
}

interface FaultRule {
  readonly says: string;
  /** Task types that it can hit. */
  readonly types: readonly string[];
  /** Where in the run: the first and the last part of it, 0 to 1. */
  readonly between: readonly [number, number];
}

const ANY = ["publish_post", "open_issue", "send_message"];

export const FAULTS: Readonly<Record<FaultKind, FaultRule>> = {
  lost_message: { says: "its message vanished before a worker saw it", types: ANY, between: [0, 0.25] },
  hung_call: {
    says: "the editor never answered; the budget ended the lease",
    types: ["publish_post"],
    between: [0, 0.5],
  },
  lost_renewals: { says: "the renewals of one of its leases were lost", types: ["publish_post"], between: [0, 0.6] },
  crash_after_send: {
    says: "its worker died right after the commit, in a system that cannot be read",
    types: ["send_message"],
    between: [0.2, 0.9],
  },
  crash_after_commit: {
    says: "its worker died right after the commit",
    types: ["publish_post", "open_issue"],
    between: [0.3, 0.9],
  },
  crash_in_external_call: {
    says: "its worker died while the editor was at work",
    types: ["publish_post"],
    between: [0.4, 0.7],
  },
  paused_worker: {
    says: "its worker was stopped for longer than its lease, and fenced when it went on; it heard of it and took up other tasks",
    types: ["publish_post"],
    between: [0, 0.2],
  },
  lost_answer: { says: "its commit was applied and the answer lost", types: ["open_issue"], between: [0, 1] },
  doubled_message: { says: "its message was delivered twice", types: ANY, between: [0.1, 0.9] },
};

const CRASHES: ReadonlySet<FaultKind> = new Set(["crash_after_commit", "crash_after_send"]);

/**
 * Faults that hit a worker at a moment that only the external system knows, where workers are processes: it holds the answer to the
 * first request about the task. They come one at a time, since each takes a worker, or needs one that nobody else takes.
 */
export const HELD: Readonly<Partial<Record<FaultKind, HeldRequest["on"]>>> = {
  paused_worker: "read",
  crash_in_external_call: "read",
  lost_renewals: "read",
  crash_after_commit: "write",
  crash_after_send: "write",
};

/** Calls after that of `paused_worker` that no other held fault hits: what the worker can work on when it is back. */
export const AFTER_PAUSE = 10;

export interface PlanOptions {
  readonly calls: readonly ToolCall[];
  /** In the order in which they choose. */
  readonly kinds: readonly FaultKind[];
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Time between two enqueues, ms. */
  readonly everyMs: number;
  /** A lost message is noticed when the queue has moved past it by this, ms. */
  readonly recoverAfterMs: number;
  /** Calls that are not to be hit. */
  readonly spared?: readonly ToolCall[];
}

/** Chooses a task for each fault, another one each time. A fault that no task of the run can show is left out. */
export function planFaults(options: PlanOptions): readonly PlannedFault[] {
  const { calls, random } = options;
  const taken = new Set<ToolCall>(options.spared);
  const planned: PlannedFault[] = [];
  for (const kind of options.kinds) {
    const rule = FAULTS[kind];
    const fits = calls.filter(
      (call, index) =>
        !taken.has(call) &&
        rule.types.includes(call.type) &&
        isAlone(call, calls) &&
        canShow(kind, index, planned, options),
    );
    const [from, to] = rule.between;
    const preferred = fits.filter((call) => {
      const at = calls.indexOf(call) / calls.length;
      return at >= from && at <= to;
    });
    const candidates = preferred.length > 0 ? preferred : fits;
    const call = candidates[Math.floor(random() * candidates.length)];
    if (call === undefined) continue;
    taken.add(call);
    planned.push({ kind, call, spares: [] });
  }
  return planned.map((fault) =>
    CRASHES.has(fault.kind) ? { ...fault, spares: sparesOf(fault, calls, taken) } : fault,
  );
}

function canShow(
  kind: FaultKind,
  index: number,
  planned: readonly PlannedFault[],
  { calls, everyMs, recoverAfterMs }: PlanOptions,
): boolean {
  const following = calls.length - 1 - index;
  // Two polls of 20 s that bring nothing would also show it; a demo does not wait for them.
  if (kind === "lost_message") return following * everyMs > recoverAfterMs + 1_000;
  if (kind === "paused_worker") return following >= AFTER_PAUSE;
  const pause = planned.find((fault) => fault.kind === "paused_worker");
  if (pause === undefined || HELD[kind] === undefined) return true;
  const after = index - calls.indexOf(pause.call);
  return after < 0 || after > AFTER_PAUSE;
}

/** What the external system sees of a call when it reads for it (a draft), and when it writes. */
export function subjectOf(on: HeldRequest["on"], { input }: ToolCall): string {
  return (on === "read" ? input["draft"] : (input["title"] ?? input["text"])) ?? "";
}

/** Does no other call read or write the same? */
function isAlone(call: ToolCall, calls: readonly ToolCall[]): boolean {
  return (["read", "write"] as const).every((on) => {
    const subject = subjectOf(on, call);
    return subject === "" || calls.every((other) => other === call || subjectOf(on, other) !== subject);
  });
}

function sparesOf(
  { kind, call }: PlannedFault,
  calls: readonly ToolCall[],
  taken: ReadonlySet<ToolCall>,
): readonly ToolCall[] {
  return calls
    .slice(calls.indexOf(call) + 1)
    .filter((each) => !taken.has(each) && FAULTS[kind].types.includes(each.type));
}

/** The part of the plan that the external system carries out. `held`: the faults for which it holds an answer. */
export function systemFaults(plan: readonly PlannedFault[], held: ReadonlySet<FaultKind>): SystemFaults {
  const inputsOf = (kind: FaultKind, field: string) =>
    plan.filter((fault) => fault.kind === kind && !held.has(kind)).map((fault) => fault.call.input[field] ?? "");
  return {
    hang: inputsOf("hung_call", "draft"),
    slow: inputsOf("lost_renewals", "draft"),
    dropAnswer: inputsOf("lost_answer", "title"),
    hold: plan.flatMap(({ kind, call, spares }) => {
      const on = HELD[kind];
      if (on === undefined || !held.has(kind)) return [];
      return [{ name: kind, on, subjects: [call, ...spares].map((each) => subjectOf(on, each)) }];
    }),
  };
}
