import type { Suite } from "../suite/case.ts";
import { acquiring } from "./acquire.cases.ts";
import { cancelling } from "./cancel.cases.ts";
import { checking } from "./checks.cases.ts";
import { creating } from "./create.cases.ts";
import { effects } from "./effects.cases.ts";
import { ending } from "./ends.cases.ts";
import type { StoreHarness } from "./harness.ts";
import { holding } from "./holder.cases.ts";
import { itemStores } from "./items.cases.ts";
import { listing } from "./lists.cases.ts";
import { ownWrites } from "./own-writes.cases.ts";
import { records } from "./records.cases.ts";
import { resuming } from "./resume.cases.ts";
import { settling } from "./settle.cases.ts";
import { sharedKeys } from "./shared-key.cases.ts";
import { skew } from "./skew.cases.ts";
import { takingOver } from "./takeover.cases.ts";

/** Everything that a task store has to pass. */
export const storeSuites: readonly Suite<StoreHarness>[] = [
  itemStores,
  creating,
  acquiring,
  takingOver,
  holding,
  effects,
  settling,
  ending,
  cancelling,
  resuming,
  ownWrites,
  checking,
  sharedKeys,
  listing,
  records,
  skew,
];
