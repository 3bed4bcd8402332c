import { unrecordedAttempt } from "./process-span.ts";
import type { Telemetry } from "./telemetry.ts";

/** Sees nothing and passes nothing on: for runs that must depend on nothing outside of them, as in a simulation. */
export const noTelemetry: Telemetry = {
  acquired() {},
  renewals() {},
  leaseExpired() {},
  duplicate() {},
  retried() {},
  settledAfterCommit() {},
  deadLettered() {},
  traceLink() {},
  leaseLost() {},
  remainingAtSettle() {},
  inFlight() {},
  orphaned() {},
  eventLoopDelay() {},
  effect() {},
  ring() {},
  vagueClaim() {},
  callFailed() {},
  send: (_event, call) => call({}),
  received() {},
  process: () => unrecordedAttempt(undefined),
};
