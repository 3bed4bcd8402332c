import type { Suite } from "../suite/case.ts";
import { aborts } from "./aborts.cases.ts";
import { backlog } from "./backlog.cases.ts";
import { begins } from "./begin.cases.ts";
import { brokenRecords } from "./broken-records.cases.ts";
import { brokerLeases } from "./broker-leases.cases.ts";
import { budgets } from "./budget.cases.ts";
import { claims } from "./claims.cases.ts";
import { commitOutcomes } from "./commit-outcomes.cases.ts";
import { crashes } from "./crash.cases.ts";
import { decisions } from "./decisions.cases.ts";
import { deliveries } from "./deliveries.cases.ts";
import { due } from "./due.cases.ts";
import { duplicates } from "./duplicates.cases.ts";
import { effects } from "./effects.cases.ts";
import { handling } from "./handle.cases.ts";
import { handlingUntil } from "./handle-deadline.cases.ts";
import { handlerEndTable } from "./handler-end-table.cases.ts";
import { handlerEnds } from "./handler-ends.cases.ts";
import type { LifecycleHarness } from "./harness.ts";
import { lanes } from "./lanes.cases.ts";
import { lateStops } from "./late-stop.cases.ts";
import { load } from "./load.cases.ts";
import { noRecord } from "./no-record.cases.ts";
import { oddHandlers } from "./odd-handlers.cases.ts";
import { openAborts } from "./open-aborts.cases.ts";
import { openEnds } from "./open-ends.cases.ts";
import { orderingKeys } from "./ordering.cases.ts";
import { outages } from "./outages.cases.ts";
import { polling } from "./polling.cases.ts";
import { recovery } from "./recovery.cases.ts";
import { recoveryOfMany } from "./recovery-many.cases.ts";
import { reopening } from "./reopen.cases.ts";
import { running } from "./running.cases.ts";
import { sharedKeys } from "./shared-keys.cases.ts";
import { stopping } from "./stop.cases.ts";
import { oddTimes } from "./time.cases.ts";
import { uncertainEffects } from "./uncertain-effects.cases.ts";

/** Everything that has to hold for a task on a queue and a store, whichever they are. */
export const lifecycleSuites: readonly Suite<LifecycleHarness>[] = [
  running,
  oddHandlers,
  crashes,
  handlerEndTable,
  handlerEnds,
  commitOutcomes,
  begins,
  openEnds,
  aborts,
  openAborts,
  claims,
  budgets,
  effects,
  uncertainEffects,
  sharedKeys,
  decisions,
  reopening,
  deliveries,
  brokenRecords,
  brokerLeases,
  noRecord,
  due,
  duplicates,
  recovery,
  recoveryOfMany,
  backlog,
  oddTimes,
  polling,
  stopping,
  lateStops,
  outages,
  orderingKeys,
  lanes,
  handling,
  handlingUntil,
  load,
];
