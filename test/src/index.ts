/** The conformance suite: what an adapter's author needs to run it on a target of their own. */
export { lifecycleSuites } from "./lifecycle/all.ts";
export type {
  Ability as WorldAbility,
  BrokerAct as MessageAct,
  BrokerControls,
  LifecycleHarness,
  MessageCounts,
  TimeControls,
  Timing,
  World,
  WorldWishes,
} from "./lifecycle/harness.ts";
export type { BaseClock } from "./lifecycle/process.ts";
export { type BrokerPort, createWorld, type OpenedWorld, type WorldParts } from "./lifecycle/world.ts";
export { queueSuites } from "./queue/all.ts";
export type {
  Ability,
  BrokerAct,
  FaultyVerb,
  OpenQueue,
  QueueFault,
  QueueHarness,
  QueueWishes,
} from "./queue/harness.ts";
export { storeSuites } from "./store/all.ts";
export {
  createStoreHarness,
  type ItemCall,
  type ItemFault,
  type StoreHarness,
  type StoreParts,
} from "./store/harness.ts";
export type { Case, Harness, Need, Suite } from "./suite/case.ts";
export { type Difference, withDifferences } from "./suite/differences.ts";
export { linesOf, problemsOf, summaryOf, type Totals, totalsOf } from "./suite/report.ts";
export {
  type CaseResult,
  type HarnessSource,
  type Pace,
  type Part,
  type Place,
  part,
  type RunOptions,
  runTarget,
  type Target,
} from "./suite/run.ts";
