/** One-line breaks of core that the simulation has to notice. Paths are relative to `packages/core/src`. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** It is caught within this many seeds, from the first on. */
  readonly seeds: number;
}

export const mutants: readonly Mutant[] = [
  {
    name: "an own write is judged by its token alone",
    file: "store/holder-write.ts",
    find: "if (seq === write.seq) return",
    replace: 'if (typeof seq === "number") return',
    seeds: 1_000,
  },
  {
    name: "an own write is not recognised after a lost answer",
    file: "store/holder-write.ts",
    find: "if (seq === write.seq) return",
    replace: "if (seq === undefined) return",
    seeds: 1_000,
  },
  {
    name: "an older write of a lease lands after a newer one",
    file: "store/holder-write.ts",
    find: '{ field: "lease_seq", is: "<", value: write.seq },',
    replace: "",
    seeds: 1_000,
  },
  {
    name: "a write does not ask whether the lease is live",
    file: "store/holder-write.ts",
    find: '{ field: "status", is: "=", value: "leased" },',
    replace: "",
    seeds: 1_000,
  },
  {
    name: "a task settles with an effect open",
    file: "store/ends.ts",
    find: 'extra: { field: "open_effects", is: "=", value: 0 },',
    replace: "",
    seeds: 1_000,
  },
  {
    name: "an effect without guard is begun twice",
    file: "store/effects.ts",
    find: 'guard === "none" ? notBegun(effect) : notUnguarded(effect)',
    replace: "notVerified(effect)",
    seeds: 1_000,
  },
  {
    name: "a permission to commit again is not used up",
    file: "store/effects.ts",
    find: 'remove: ["allow_commit"],',
    replace: "",
    seeds: 1_000,
  },
  {
    name: "the fence does not grow",
    file: "store/acquire.ts",
    find: "increment: { fence: 1,",
    replace: "increment: { fence: 0,",
    seeds: 50,
  },
  {
    name: "a lease is taken over without the skew",
    file: "store/acquire.ts",
    find: "request.at - request.maxClockSkewMs",
    replace: "request.at",
    seeds: 1_000,
  },
  {
    name: "a settled task is acquired",
    file: "store/acquire.ts",
    find: '{ field: "status", is: "=", value: "released" },',
    replace: '{ field: "status", is: "=", value: "released" }, { field: "status", is: "=", value: "settled" },',
    seeds: 1_000,
  },
  {
    name: "recovery ends a live lease",
    file: "store/checks.ts",
    find: "write_id: request.token,",
    replace: 'write_id: request.token, ...(request.kind === "leased" ? { status: "released" } : {}),',
    seeds: 1_000,
  },
  {
    name: "a person's decision does not ask for the status that was read",
    file: "store/outside.ts",
    find: '{ field: "status", is: "=", value: record.status },',
    replace: "",
    seeds: 1_000,
  },
  {
    name: "cancel ends a waiting task whose effect is open",
    file: "store/cancel.ts",
    find: "if (record.open_effects === 0) break;",
    replace: "break;",
    seeds: 1_000,
  },
  {
    name: "a shared key is taken from a live owner",
    file: "worker/shared-key.ts",
    find: "if (record !== undefined && !ENDED.has(record.status)) throw new WaitForKeyError(slot, holder);",
    replace: "",
    seeds: 1_000,
  },
  {
    name: "an effect is committed before its begin",
    file: "worker/effect-step.ts",
    find: "if (!(await begin(attempt, effect, slot, key))) {",
    replace:
      "await effect.commit({ idempotencyKey: key, input: step.input, signal: lease.signal, fence: lease.fence });\n  if (!(await begin(attempt, effect, slot, key))) {",
    seeds: 50,
  },
  {
    name: "an effect is committed again after a readback that failed",
    file: "worker/effect-step.ts",
    find: 'if (readback.found === "unsure") {',
    replace: 'if (readback.found === "unsure") {\n    return undefined;',
    seeds: 1_000,
  },
  {
    name: "a receipt is written again",
    file: "store/effects.ts",
    find: "extra: notVerified(write.effect) });",
    replace: 'extra: { exists: "task_id" } });',
    seeds: 1_000,
  },
  {
    name: "the retry rule does not read back what is open",
    file: "worker/prepare.ts",
    find: 'const outcomes = await effects.resolveOpen("before_run");',
    replace: 'const outcomes: Awaited<ReturnType<Effects["resolveOpen"]>> = [];',
    seeds: 1_000,
  },
  {
    name: "the keeper renews past the budget",
    file: "worker/attempt.ts",
    find: "clock.monotonic() >= Math.min(claims.budgetEnd(), runEnd)",
    replace: "clock.monotonic() >= runEnd",
    seeds: 100,
  },
  {
    name: "the holder's deadline counts from the answer",
    file: "worker/lease.ts",
    find: "confirm(sentWall, sentMonotonic, write.leaseMs);",
    replace: "confirm(clock.now(), clock.monotonic(), write.leaseMs);",
    seeds: 1_000,
  },
  {
    name: "the holder's deadline is not kept by wall time",
    file: "worker/lease.ts",
    find: "Math.min(deadlineWall - clock.now(), deadlineMonotonic - clock.monotonic())",
    replace: "deadlineMonotonic - clock.monotonic()",
    seeds: 1_000,
  },
  {
    name: "a lost lease is not told to the handler",
    file: "worker/lease.ts",
    find: "if (abortReason === undefined) abort(reason);",
    replace: "if (abortReason === undefined) start.onAbort(reason, true);",
    seeds: 1_000,
  },
  {
    name: "the lease is not looked at between the answer of begin and the commit",
    file: "worker/effect-step.ts",
    find: "  lease.assertLive();\n  if (lease.signal.aborted) {",
    replace: "  if (lease.signal.aborted) {",
    seeds: 1_000,
  },
  {
    name: "a slot is freed while its handler runs",
    file: "worker/start-run.ts",
    find: "void run.handlerEnded.then(() => {",
    replace: "freeSlot();\n    void run.handlerEnded.then(() => {",
    seeds: 1_000,
  },
  {
    name: "a delivery is completed before the record has ended",
    file: "worker/start-run.ts",
    find: "const run: RunResult =",
    replace: 'void parts.settler.settle(first, holding.taskId, { verb: "complete" });\n    const run: RunResult =',
    seeds: 50,
  },
  {
    name: "a handler starts on a lease that has ended",
    file: "worker/run.ts",
    find: '    attempt.lease.assertLive();\n    if (attempt.lease.signal.aborted)\n      return conclude(attempt, effects, { is: "threw", error: attempt.lease.signal.reason });\n',
    replace: "",
    seeds: 1_000,
  },
  {
    name: "an abandon is sent past the deadline",
    file: "worker/settler.ts",
    find: "const batch = entries.filter(inTime);",
    replace: "const batch = entries;",
    seeds: 1_000,
  },
  {
    name: "a delivery is extended past its deadline",
    file: "worker/deliveries.ts",
    find: "        if (pastDeadline()) {\n",
    replace: "        if (!live) {\n",
    seeds: 1_000,
  },
  {
    name: "recovery does not ring what was lost",
    file: "worker/recovery-check.ts",
    find: 'return overtaken && ring(record, "lost");',
    replace: "return false;",
    seeds: 100,
  },
];
