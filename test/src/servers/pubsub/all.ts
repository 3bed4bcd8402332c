import { admin } from "./admin.checks.ts";
import { attempts } from "./attempts.checks.ts";
import type { CheckGroup } from "./check.ts";
import { exactlyOnce } from "./exactly-once.checks.ts";
import { leases } from "./leases.checks.ts";
import { ordering } from "./ordering.checks.ts";
import { publishing } from "./publish.checks.ts";
import { pulling } from "./pull.checks.ts";
import { sdkLeases } from "./sdk-leases.checks.ts";
import { sdkMessages } from "./sdk-messages.checks.ts";
import { streaming } from "./streaming.checks.ts";

export const checkGroups: readonly CheckGroup[] = [
  admin,
  publishing,
  pulling,
  leases,
  exactlyOnce,
  attempts,
  ordering,
  streaming,
  sdkMessages,
  sdkLeases,
];
