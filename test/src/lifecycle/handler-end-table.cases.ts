import assert from "node:assert/strict";
import { ParkError, PermanentError, RetryableError } from "@leasehold/core";
import type { Case, Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import {
  type Context,
  ENDED_ONCE,
  enqueue,
  expectFacts,
  type Facts,
  ONE_ATTEMPT,
  raise,
  SETTLED,
  taskOf,
} from "./support.ts";
import type { EndpointKind, ExternalSystem } from "./system.ts";

/** How the effect comes to be open when the handler ends. */
type Open =
  /** The commit was applied and its answer lost, the first readback failed: the last one finds it. */
  | "there"
  /** The commit failed and nothing is there. */
  | "not there"
  /** The commit failed, and the system does not answer. */
  | "silent";

interface Row {
  readonly handler: string;
  readonly ends: (context: Context) => unknown;
  readonly open?: readonly [EndpointKind, Open];
  readonly attempts?: number;
  /** What the first attempt leaves. */
  readonly left: Partial<Facts>;
  readonly made: number;
  /** Calls of `find` while the handler's end is written. */
  readonly finds?: number;
  /** How it goes on when the task is retried. */
  readonly later?: Partial<Facts> & { readonly status: Facts["status"] };
}

const returns = { handler: "returns", ends: () => ({ ok: true }) };
const retryable = { handler: "throws RetryableError", ends: raise(new RetryableError("try later")) };
const unknown = { handler: "throws what nobody knows", ends: raise(new Error("boom")) };
const permanent = { handler: "throws PermanentError", ends: raise(new PermanentError("never works")) };
const parks = { handler: "throws ParkError", ends: raise(new ParkError("ask a person")) };

const started = { effects: { publish: "started" }, open: 1, stage: "commit" } as const;
const verified = { effects: { publish: "verified" }, receipts: { publish: "thing-1" }, open: 0 } as const;
const failed = { effects: { publish: "failed" }, receipts: {}, open: 0 } as const;
const released = { status: "released", attempt: 1, code: undefined } as const;
const settledLater = { ...SETTLED, status: "settled", attempt: 2 } as const;
const plainSettledLater = { status: "settled", stage: "settled", attempt: 2, effects: {} } as const;
const there = ["idempotent", "there"] as const;
const notThere = ["idempotent", "not there"] as const;
const unguarded = ["searchable", "not there"] as const;

const ROWS: readonly Row[] = [
  {
    ...returns,
    left: {
      status: "settled",
      stage: "settled",
      attempt: 1,
      effects: {},
      receipt: ["none", "4062edaf750fb8074e7e83e0c9028c94e32468a8b6f1614774328ef045150f93"],
    },
    made: 0,
  },
  { ...returns, open: there, left: { ...SETTLED, attempt: 1 }, made: 1, finds: 1 },
  { ...returns, open: notThere, left: { ...released, ...started }, made: 0, finds: 1, later: settledLater },
  {
    ...returns,
    open: ["idempotent", "silent"],
    left: { ...released, ...started },
    made: 0,
    finds: 1,
    later: settledLater,
  },
  { ...returns, open: there, attempts: 1, left: { ...SETTLED, attempt: 1 }, made: 1, finds: 1 },
  {
    ...returns,
    open: notThere,
    attempts: 1,
    left: { ...released, ...started },
    made: 0,
    finds: 1,
    later: { status: "parked", code: "attempts_exhausted", ...started },
  },

  { ...retryable, left: { ...released, effects: {}, stage: "preflight" }, made: 0, later: plainSettledLater },
  {
    ...retryable,
    open: there,
    left: { ...released, ...verified, stage: "verify" },
    made: 1,
    finds: 1,
    later: settledLater,
  },
  { ...retryable, open: notThere, left: { ...released, ...started }, made: 0, finds: 1, later: settledLater },
  {
    ...retryable,
    open: ["idempotent", "silent"],
    left: { ...released, ...started },
    made: 0,
    finds: 1,
    later: settledLater,
  },
  {
    ...retryable,
    attempts: 1,
    left: { status: "dead_lettered", code: "attempts_exhausted", attempt: 1, effects: {} },
    made: 0,
  },
  {
    ...retryable,
    open: notThere,
    attempts: 1,
    left: { status: "parked", code: "attempts_exhausted", attempt: 1, ...started },
    made: 0,
  },
  {
    ...retryable,
    open: there,
    attempts: 1,
    left: { status: "dead_lettered", code: "attempts_exhausted", attempt: 1, ...verified },
    made: 1,
  },

  { ...unknown, left: { ...released, effects: {}, stage: "preflight" }, made: 0, later: plainSettledLater },
  {
    ...unknown,
    open: there,
    left: { ...released, ...verified, stage: "verify" },
    made: 1,
    finds: 1,
    later: settledLater,
  },
  { ...unknown, open: notThere, left: { ...released, ...started }, made: 0, finds: 1, later: settledLater },
  {
    ...unknown,
    attempts: 1,
    left: { status: "dead_lettered", code: "attempts_exhausted", attempt: 1, effects: {} },
    made: 0,
  },
  {
    ...unknown,
    open: notThere,
    attempts: 1,
    left: { status: "parked", code: "attempts_exhausted", attempt: 1, ...started },
    made: 0,
  },

  { ...permanent, left: { status: "dead_lettered", code: "permanent_error", attempt: 1, effects: {} }, made: 0 },
  {
    ...permanent,
    open: there,
    left: { status: "dead_lettered", code: "permanent_error", ...verified },
    made: 1,
    finds: 1,
  },
  {
    ...permanent,
    open: notThere,
    left: { status: "dead_lettered", code: "permanent_error", ...failed },
    made: 0,
    finds: 1,
  },
  {
    ...permanent,
    open: unguarded,
    left: { status: "parked", code: "effect_unresolved", ...started },
    made: 0,
    finds: 1,
  },
  {
    ...permanent,
    open: ["unreadable", "not there"],
    left: { status: "parked", code: "effect_unresolved", ...started },
    made: 0,
    finds: 0,
  },
  { ...permanent, open: ["idempotent", "silent"], left: { ...released, ...started }, made: 0, finds: 1 },
  { ...permanent, attempts: 1, left: { status: "dead_lettered", code: "permanent_error", attempt: 1 }, made: 0 },
  {
    ...permanent,
    open: notThere,
    attempts: 1,
    left: { status: "dead_lettered", code: "permanent_error", ...failed },
    made: 0,
    finds: 1,
  },

  { ...parks, left: { status: "parked", code: "parked", stage: "preflight", attempt: 1, effects: {} }, made: 0 },
  { ...parks, open: there, left: { status: "parked", code: "parked", ...started }, made: 1, finds: 0 },
  { ...parks, open: notThere, left: { status: "parked", code: "parked", ...started }, made: 0, finds: 0 },
  { ...parks, attempts: 1, left: { status: "parked", code: "parked", attempt: 1, effects: {} }, made: 0 },
];

function leaveOpen(system: ExternalSystem, open: Open): void {
  const gone = new Error("503 from the system");
  if (open === "there") system.next("commit", { failAfter: gone });
  else system.next("commit", { refuse: gone });
  if (open === "there") system.next("find", { refuse: gone });
  if (open === "silent") system.next("find", { refuse: gone }, { refuse: gone });
}

function rowCase(row: Row): Case<LifecycleHarness> {
  const { open, attempts, left, later } = row;
  const effect = open === undefined ? "no open effect" : `an open effect (${open[0]}) that is ${open[1]}`;
  return {
    name: `the handler ${row.handler} with ${effect}${attempts === undefined ? "" : ", attempts used up"}`,
    needs: ["faults"],
    async run(harness) {
      const world = await harness.open();
      const { system } = world;
      const publish = system.effect(open?.[0] ?? "idempotent");
      let findsBefore = 0;
      const task = taskOf(world, {
        effects: [publish],
        ...(attempts === undefined ? {} : { attempts }),
        async run(context) {
          if (open === undefined) return context.fence === 1 ? row.ends(context) : "done";
          if (context.fence > 1) return context.effect(publish, {});
          await assert.rejects(context.effect(publish, {}));
          findsBefore = system.calls.filter((call) => call === "find").length;
          return row.ends(context);
        },
      });
      if (open !== undefined) leaveOpen(system, open[1]);
      const taskId = await enqueue(world, world.client(), task);
      const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
      const record = await world.reaches(taskId, ENDED_ONCE);
      expectFacts(record, { attempts_total: 1, fence: 1, ...left });
      assert.equal(system.made(), row.made);
      if (row.finds !== undefined)
        assert.equal(
          system.calls.filter((call) => call === "find").length - findsBefore,
          row.finds,
          "readbacks at the end",
        );
      if (record.status === "dead_lettered" && record.effects["publish"]?.state === "verified")
        assert.match(record.end_reason ?? "", /publish is in blog as thing-1/);
      if (later === undefined) return;
      worker.heal();
      expectFacts(await world.reaches(taskId, later.status), { attempts_total: 2, ...later });
      assert.ok(system.made() <= 1);
    },
  };
}

/** Every cell of the table of how a handler ends. */
export const handlerEndTable: Suite<LifecycleHarness> = {
  subject: "how the handler ends, by table",
  cases: ROWS.map(rowCase),
};
