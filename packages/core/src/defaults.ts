/** The defaults that more than one part relies on. */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** When the recovery loop first looks at a task after its message was sent. Client and workers of one queue must agree on it. */
export const DEFAULT_RECOVER_AFTER_MS = 5 * MINUTE_MS;
/** How long a record outlives its end. */
export const DEFAULT_RETENTION_MS = 45 * DAY_MS;
