import type { Suite } from "../suite/case.ts";
import { deadLetters } from "./dead-letters.cases.ts";
import { failures } from "./failures.cases.ts";
import type { QueueHarness } from "./harness.ts";
import { leases } from "./leases.cases.ts";
import { messages } from "./messages.cases.ts";
import { ordering } from "./ordering.cases.ts";
import { receiving } from "./receive.cases.ts";
import { settling } from "./settle.cases.ts";

/** Everything that a queue driver has to pass. */
export const queueSuites: readonly Suite<QueueHarness>[] = [
  messages,
  receiving,
  leases,
  settling,
  ordering,
  deadLetters,
  failures,
];
