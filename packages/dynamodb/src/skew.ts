import { type Clock, LeaseholdError, parseTime, type TaskStore } from "@leasehold/core/driver";

/**
 * Is this machine's clock in step with the database's? Every answer of the database carries its time in the `Date` header, so
 * nothing is asked for it. A worker takes a lapsed lease over `maxClockSkewMs` after its stored expiry; one whose clock is off
 * by more than that takes leases that are still held.
 */
export interface SkewMeter {
  /** An answer has come, now. `date`: its `Date` header. Answers without one say nothing. */
  answered(date: string | undefined, roundTripMs: number): void;
  /**
   * How far this machine's clock is certainly off, ms: the least that each of the last three answers shows. Negative: behind.
   * 0 as long as one of them shows nothing, or fewer than three have come.
   */
  offsetMs(): number;
}

/** One answer may have waited in a buffer; three in a row have not. */
const ANSWERS = 3;
/** The header has no fractions of a second. */
const HEADER_STEP_MS = 1_000;
/** Of a worker that has not named its own yet. */
const DEFAULT_MAX_CLOCK_SKEW_MS = 2_000;

export function createSkewMeter(clock: Clock): SkewMeter {
  let latest: readonly number[] = [];
  return {
    answered(date, roundTripMs) {
      const databaseMs = date === undefined ? Number.NaN : parseTime(date);
      if (Number.isNaN(databaseMs)) return;
      const halfMs = roundTripMs / 2;
      const offsetMs = clock.now() - halfMs - databaseMs;
      const certainMs = Math.max(Math.abs(offsetMs) - HEADER_STEP_MS - halfMs, 0);
      latest = [...latest, Math.sign(offsetMs) * certainMs].slice(-ANSWERS);
    },
    offsetMs() {
      if (latest.length < ANSWERS) return 0;
      return latest.reduce((least, each) => (Math.abs(each) < Math.abs(least) ? each : least));
    },
  };
}

/**
 * The store, except that it hands out no lease while the clock is off by more than half of `maxClockSkewMs`: acquire, and a create
 * that acquires, throw `Unavailable`, upon which a worker backs off and asks again. Leases that are held go on, as their holder's
 * deadline is a length of time. `probe` asks the database for anything: without an answer nobody would notice that the clock
 * was set right.
 *
 * A decorator, as neither the items (which know no leases) nor core (which knows no database) can tell both halves.
 */
export function refusingWhenSkewed(store: TaskStore, meter: SkewMeter, probe: () => Promise<unknown>): TaskStore {
  let maxClockSkewMs = DEFAULT_MAX_CLOCK_SKEW_MS;

  const isSkewed = (): boolean => Math.abs(meter.offsetMs()) > maxClockSkewMs / 2;

  const requireStep = async (doing: string): Promise<void> => {
    if (!isSkewed()) return;
    await probe();
    if (!isSkewed()) return;
    const offsetMs = Math.round(meter.offsetMs());
    throw new LeaseholdError(
      "Unavailable",
      `${doing} refused: this machine's clock is at least ${Math.abs(offsetMs)} ms ${offsetMs < 0 ? "behind" : "ahead of"} the database's, ` +
        `more than half of maxClockSkewMs (${maxClockSkewMs}); set the clock (NTP), or raise maxClockSkewMs on all workers`,
      { details: { offset_ms: offsetMs, max_clock_skew_ms: maxClockSkewMs } },
    );
  };

  return {
    ...store,
    async acquire(request) {
      // A worker acquires before it creates with a lease, so this is the value for both.
      ({ maxClockSkewMs } = request);
      await requireStep("acquire");
      return store.acquire(request);
    },
    async create(task) {
      if (task.lease !== undefined) await requireStep("create with a lease");
      return store.create(task);
    },
  };
}
