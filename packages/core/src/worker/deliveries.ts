import type { LeaseholdError } from "../errors.ts";
import { fromUnknown } from "../errors.ts";
import type { Delivery } from "../queue/driver.ts";
import { within } from "../util/timeout.ts";
import type { Kept } from "./keeper.ts";
import type { Runtime } from "./runtime.ts";

/** Why a delivery is no longer held although nobody settled it. */
export type DeliveryLoss =
  /** The broker says that it is not ours any more. */
  | "broker_lost"
  /** Its broker lease ran out by our own clock. */
  | "lapsed"
  /** It comes near the longest total hold that the broker allows. */
  | "ceiling";

/** One delivery that this process holds, from receive to its one settle or its deliberate lapse. */
export interface HeldDelivery {
  readonly delivery: Delivery;
  /** Still ours as far as we know: neither settled nor lost nor let go. */
  readonly live: boolean;
  /** Past the broker's deadline by our own clock. */
  pastDeadline(): boolean;
  /** How long its broker lease shall be from now on, and whether it may be extended; changed when a task lease is behind it. */
  keepFor(terms: DeliveryTerms): void;
  /** It will be settled now: nothing extends it any more. Resolves when an extension under way has been answered. `false`: it was settled or let go before. */
  claimSettle(): Promise<boolean>;
  /** Lets the broker lease run out, on purpose. */
  letGo(): void;
}

export interface DeliveryTerms {
  /** Broker lease to ask for, ms. */
  readonly leaseMs: () => number;
  /** False: the claims are used up; neither lease is renewed. */
  readonly mayExtend: () => boolean;
  readonly onLoss: (loss: DeliveryLoss) => void;
}

export interface Deliveries {
  /** Holds a delivery that `receive` has just returned. */
  hold(delivery: Delivery): HeldDelivery;
  /** The keeper's looks are over: extends what they asked for, in batches. */
  extendDue(): void;
  readonly size: number;
}

/** The share of the broker's total ceiling at which a message is completed and the lease lives on in the record. */
const CEILING_SHARE = 0.9;

/** An extension without an answer is given up after this, ms, and tried again while there is time. */
const EXTEND_TIMEOUT_MS = 10_000;

interface Entry extends HeldDelivery {
  readonly watch: Kept;
  leaseMs(): number;
  answered(sentMonotonic: number, sentWall: number, leaseMs: number): void;
  failed(): void;
  lose(loss: DeliveryLoss): void;
  extending: Promise<void> | undefined;
}

export function createDeliveries(
  runtime: Runtime,
  keeper: { keep(item: Kept): void; drop(item: Kept): void },
): Deliveries {
  const { clock, driver, telemetry } = runtime;
  const { capabilities } = driver;
  const due: Entry[] = [];
  let size = 0;

  const hold = (delivery: Delivery): HeldDelivery => {
    const receivedMonotonic = clock.monotonic();
    let grantedMs = delivery.leaseMs;
    let sinceMonotonic = receivedMonotonic;
    let deadlineWall = clock.now() + grantedMs;
    let deadlineMonotonic = receivedMonotonic + grantedMs;
    let beatMonotonic = receivedMonotonic + grantedMs / 2;
    let live = true;
    let settling = false;
    let terms: DeliveryTerms = { leaseMs: () => grantedMs, mayExtend: () => true, onLoss: () => undefined };
    const ceilingMonotonic =
      capabilities.totalLeaseMs === undefined
        ? Number.POSITIVE_INFINITY
        : receivedMonotonic + capabilities.totalLeaseMs * CEILING_SHARE;
    const totalEnd =
      capabilities.totalLeaseMs === undefined
        ? Number.POSITIVE_INFINITY
        : receivedMonotonic + capabilities.totalLeaseMs;
    let ceilingTold = false;
    size += 1;

    const stop = (): void => {
      if (!live) return;
      live = false;
      size -= 1;
      keeper.drop(watch);
    };
    const pastDeadline = (): boolean => clock.monotonic() >= deadlineMonotonic || clock.now() >= deadlineWall;

    const watch: Kept = {
      due: 0,
      place: -1,
      nextDue() {
        if (!live || settling) return Number.POSITIVE_INFINITY;
        if (entry.extending !== undefined) return deadlineMonotonic;
        return Math.min(deadlineMonotonic, beatMonotonic, ceilingTold ? Number.POSITIVE_INFINITY : ceilingMonotonic);
      },
      look() {
        if (!live || settling) return;
        if (pastDeadline()) {
          entry.lose("lapsed");
          return;
        }
        if (!ceilingTold && clock.monotonic() >= ceilingMonotonic) {
          ceilingTold = true;
          terms.onLoss("ceiling");
          return;
        }
        if (clock.monotonic() < beatMonotonic || entry.extending !== undefined) return;
        if (terms.mayExtend()) due.push(entry);
        else beatMonotonic = deadlineMonotonic;
      },
    };

    const entry: Entry = {
      delivery,
      watch,
      extending: undefined,
      get live() {
        return live && !settling;
      },
      pastDeadline,
      keepFor(next) {
        terms = next;
        beatMonotonic = Math.min(beatMonotonic, sinceMonotonic + Math.min(grantedMs, terms.leaseMs()) / 2);
        keeper.keep(watch);
      },
      async claimSettle() {
        if (!live || settling) return false;
        settling = true;
        keeper.drop(watch);
        await entry.extending;
        const still = live;
        stop();
        return still;
      },
      letGo: stop,
      leaseMs: () => Math.min(terms.leaseMs(), Math.max(totalEnd - clock.monotonic() - 1_000, 0)),
      answered(sentMonotonic, sentWall, leaseMs) {
        grantedMs = leaseMs;
        sinceMonotonic = sentMonotonic;
        deadlineMonotonic = sentMonotonic + leaseMs;
        deadlineWall = sentWall + leaseMs;
        beatMonotonic = sentMonotonic + leaseMs / 2;
        if (live && !settling) keeper.keep(watch);
      },
      failed() {
        const leftMs = deadlineMonotonic - clock.monotonic();
        beatMonotonic = clock.monotonic() + Math.max(leftMs / 4, 100);
        if (live && !settling) keeper.keep(watch);
      },
      lose(loss) {
        if (!live || settling) return;
        stop();
        terms.onLoss(loss);
      },
    };
    keeper.keep(watch);
    return entry;
  };

  const extendBatch = async (batch: readonly Entry[]): Promise<void> => {
    const sentMonotonic = clock.monotonic();
    const sentWall = clock.now();
    const items = batch.map((entry) => ({ delivery: entry.delivery, leaseMs: entry.leaseMs() }));
    try {
      const outcomes = await within(clock, EXTEND_TIMEOUT_MS, "extend", driver.extend(items));
      batch.forEach((entry, index) => {
        const outcome = outcomes[index];
        entry.extending = undefined;
        // Where no extension is ever confirmed, an answer without an error is all there is to go by.
        const granted =
          outcome?.status === "confirmed" || (outcome?.status === "unconfirmed" && outcome.error === undefined);
        if (granted)
          entry.answered(sentMonotonic, sentWall, capabilities.fixedLeaseMs ?? items[index]?.leaseMs ?? 0);
        else if (outcome?.status === "lost") entry.lose("broker_lost");
        else {
          if (outcome?.status === "failed") telemetry.callFailed("extend", outcome.code);
          entry.failed();
        }
      });
    } catch (error) {
      const failure: LeaseholdError = fromUnknown(error, "extend");
      telemetry.callFailed("extend", failure.code);
      for (const entry of batch) {
        entry.extending = undefined;
        entry.failed();
      }
    }
  };

  return {
    hold,
    extendDue() {
      while (due.length > 0) {
        const batch = due
          .splice(0, capabilities.maxBatch)
          .filter((entry) => entry.live && entry.extending === undefined);
        if (batch.length === 0) continue;
        const extension = extendBatch(batch);
        for (const entry of batch) entry.extending = extension;
      }
    },
    get size() {
      return size;
    },
  };
}
