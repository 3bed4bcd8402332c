import { sleep } from "../clock.ts";
import { fromUnknown } from "../errors.ts";
import type { Delivery, Outcome, SettleItem } from "../queue/driver.ts";
import { outcomesOf } from "../queue/outcomes.ts";
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
  /** The broker has handed the same message out again: this delivery is not ours any more. */
  reportLost(): void;
  /**
   * It will be settled now: nothing extends it any more. Resolves when an extension under way has been answered or given up;
   * for an abandon only when each has been answered, at most until the broker's deadline: applied late, it would hide again
   * what was given back. `false`: it was settled or let go before, or has nothing left to give back.
   */
  claimSettle(verb: SettleItem["verb"]): Promise<boolean>;
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

/** One call for a longer broker lease of one delivery. */
interface Extension {
  readonly sentMonotonic: number;
  readonly sentWall: number;
  readonly leaseMs: number;
  /** Answered, however late. Never rejects. */
  readonly answered: Promise<void>;
  /** Answered, or not waited for any longer. Never rejects. */
  readonly over: Promise<void>;
}

interface Entry extends HeldDelivery {
  leaseMs(): number;
  /** May be extended now: live, and no extension is under way. */
  readonly ready: boolean;
  began(extension: Extension): void;
  answered(extension: Extension, outcome: Outcome): void;
  gaveUp(extension: Extension): void;
}

export function createDeliveries(
  runtime: Runtime,
  keeper: { keep(item: Kept): void; drop(item: Kept): void },
): Deliveries {
  const { clock, driver, telemetry } = runtime;
  const { capabilities } = driver;
  const due: Entry[] = [];
  let size = 0;

  const hold = (given: Delivery): HeldDelivery => {
    const delivery = withLease(given);
    const receivedMonotonic = clock.monotonic();
    let grantedMs = delivery.leaseMs;
    let sinceMonotonic = receivedMonotonic;
    let deadlineWall = clock.now() + grantedMs;
    let deadlineMonotonic = receivedMonotonic + grantedMs;
    let beatMonotonic = receivedMonotonic + grantedMs / 2;
    let live = true;
    let settling = false;
    let lostWhileSettling = false;
    let extending: Extension | undefined;
    /** Not answered yet, those included that nobody waits for any longer: the broker may still apply them. */
    const open = new Set<Extension>();
    let terms: DeliveryTerms = { leaseMs: () => grantedMs, mayExtend: () => true, onLoss: () => undefined };
    const totalMs = capabilities.totalLeaseMs ?? Number.POSITIVE_INFINITY;
    const ceilingMonotonic = receivedMonotonic + totalMs * CEILING_SHARE;
    const totalEnd = receivedMonotonic + totalMs;
    let ceilingTold = false;
    size += 1;

    const stop = (): void => {
      if (!live) return;
      live = false;
      size -= 1;
      keeper.drop(watch);
    };
    const keep = (): void => {
      if (live && !settling) keeper.keep(watch);
    };
    const pastDeadline = (): boolean => clock.monotonic() >= deadlineMonotonic || clock.now() >= deadlineWall;
    const lose = (loss: DeliveryLoss): void => {
      if (!live) return;
      if (settling) {
        lostWhileSettling = true;
        return;
      }
      stop();
      terms.onLoss(loss);
    };
    const failed = (): void => {
      const leftMs = deadlineMonotonic - clock.monotonic();
      beatMonotonic = clock.monotonic() + Math.max(leftMs / 4, 100);
      keep();
    };
    const openAnswered = async (): Promise<void> => {
      while (open.size > 0 && !pastDeadline()) {
        const enough = new AbortController();
        const answers = Promise.all(Array.from(open, (extension) => extension.answered));
        await Promise.race([answers, sleep(clock, deadlineMonotonic - clock.monotonic(), enough.signal)]);
        enough.abort();
      }
    };

    const watch: Kept = {
      due: 0,
      place: -1,
      nextDue() {
        if (!live || settling) return Number.POSITIVE_INFINITY;
        if (extending !== undefined) return deadlineMonotonic;
        return Math.min(deadlineMonotonic, beatMonotonic, ceilingTold ? Number.POSITIVE_INFINITY : ceilingMonotonic);
      },
      look() {
        if (!live || settling) return;
        if (pastDeadline()) {
          lose("lapsed");
          return;
        }
        if (!ceilingTold && clock.monotonic() >= ceilingMonotonic) {
          ceilingTold = true;
          terms.onLoss("ceiling");
          return;
        }
        if (clock.monotonic() < beatMonotonic || extending !== undefined) return;
        if (terms.mayExtend()) due.push(entry);
        else beatMonotonic = deadlineMonotonic;
      },
    };

    const entry: Entry = {
      delivery,
      get live() {
        return live && !settling;
      },
      get ready() {
        return live && !settling && extending === undefined;
      },
      pastDeadline,
      keepFor(next) {
        terms = next;
        ceilingTold = false;
        beatMonotonic = Math.min(beatMonotonic, sinceMonotonic + Math.min(grantedMs, terms.leaseMs()) / 2);
        keep();
      },
      reportLost: () => lose("broker_lost"),
      async claimSettle(verb) {
        if (!live || settling) return false;
        settling = true;
        keeper.drop(watch);
        await extending?.over;
        if (verb === "abandon") await openAnswered();
        const still = live && !(verb === "abandon" && lostWhileSettling);
        stop();
        return still;
      },
      letGo: stop,
      leaseMs: () => Math.min(terms.leaseMs(), Math.max(totalEnd - clock.monotonic() - 1_000, 0)),
      began(extension) {
        extending = extension;
        open.add(extension);
      },
      answered(extension, outcome) {
        open.delete(extension);
        if (extending === extension) extending = undefined;
        // Another one has been granted since: what this one says is out of date.
        if (extension.sentMonotonic < sinceMonotonic) return;
        // Where no extension is ever confirmed, an answer without an error is all there is to go by.
        const granted =
          outcome.status === "confirmed" || (outcome.status === "unconfirmed" && outcome.error === undefined);
        if (granted) {
          grantedMs = extension.leaseMs;
          sinceMonotonic = extension.sentMonotonic;
          deadlineMonotonic = sinceMonotonic + grantedMs;
          deadlineWall = extension.sentWall + grantedMs;
          beatMonotonic = sinceMonotonic + grantedMs / 2;
          keep();
        } else if (outcome.status === "lost") lose("broker_lost");
        else {
          if (outcome.status === "failed") telemetry.callFailed("extend", outcome.code);
          if (extending === undefined) failed();
        }
      },
      gaveUp(extension) {
        if (extending !== extension) return;
        extending = undefined;
        failed();
      },
    };
    keeper.keep(watch);
    return entry;
  };

  const extendBatch = (batch: readonly Entry[]): void => {
    const sentMonotonic = clock.monotonic();
    const sentWall = clock.now();
    const items = batch.map((entry) => ({ delivery: entry.delivery, leaseMs: entry.leaseMs() }));
    const call = outcomesOf(() => driver.extend(items), items.length, "extend");
    const answered = call.then((outcomes) => {
      batch.forEach((entry, index) => {
        entry.answered(extensions[index] as Extension, outcomes[index] as Outcome);
      });
    });
    const over = within(clock, EXTEND_TIMEOUT_MS, "extend", answered).catch((error: unknown) => {
      telemetry.callFailed("extend", fromUnknown(error, "extend").code);
      batch.forEach((entry, index) => {
        entry.gaveUp(extensions[index] as Extension);
      });
    });
    const extensions = items.map(
      (item): Extension => ({
        sentMonotonic,
        sentWall,
        leaseMs: capabilities.fixedLeaseMs ?? item.leaseMs,
        answered,
        over,
      }),
    );
    batch.forEach((entry, index) => {
      entry.began(extensions[index] as Extension);
    });
  };

  return {
    hold,
    extendDue() {
      while (due.length > 0) {
        const batch = due.splice(0, capabilities.maxBatch).filter((entry) => entry.ready);
        if (batch.length > 0) extendBatch(batch);
      }
    },
    get size() {
      return size;
    },
  };
}

/** A delivery that does not say how long it is held has lapsed: nothing is known to be left of it. */
function withLease(delivery: Delivery): Delivery {
  return Number.isFinite(delivery.leaseMs) ? delivery : { ...delivery, leaseMs: 0 };
}
