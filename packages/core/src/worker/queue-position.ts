import type { Clock } from "../clock.ts";
import type { Delivery } from "../queue/driver.ts";

/** How far the queue has come, as this worker has seen it: what recovery needs to presume a message lost. */
export interface QueuePosition {
  received(deliveries: readonly Delivery[]): void;
  /** A poll that waited `waitedMs` and brought nothing. */
  empty(waitedMs: number): void;
  /**
   * Has the queue moved past a message sent at `sentAt` (wall ms): were most of the messages that came last sent later by more than
   * `marginMs`, or is it empty? One of them says nothing: brokers without an order deliver some ahead of a long backlog.
   */
  movedPast(sentAt: number, marginMs: number): boolean;
  /** For an ordering key an empty poll says nothing; a message of the same key that was sent later does. */
  movedPastInKey(key: string, sentAt: number): boolean;
  /** The polls say that it is empty; a broker that can count must agree before recovery believes it. */
  looksEmpty(): boolean;
  /** The broker's own count, asked once a tick. */
  counted(visible: number): void;
  /** The broker's own count where nobody polls (push runtimes): nothing visible is all there is to go by. */
  countedWithoutPolls(visible: number): void;
}

/** The last messages that say how far the queue is; fewer than {@link TIMES_NEEDED} say nothing. */
const TIMES_REMEMBERED = 16;
const TIMES_NEEDED = 3;
/** An empty poll counts when it waited this long, ms. */
const EMPTY_POLL_MS = 5_000;
/** Empty polls in a row after which the queue is empty. */
const EMPTY_POLLS = 2;
/** Keys remembered; the least recent is forgotten, and waits an hour then. */
const KEYS_REMEMBERED = 10_000;

export function createQueuePosition(clock: Clock): QueuePosition {
  const sentTimes: number[] = [];
  let nextTime = 0;
  let emptyPolls = 0;
  let emptyAt = Number.NEGATIVE_INFINITY;
  let countedVisible: number | undefined;
  const newestByKey = new Map<string, number>();

  return {
    received(deliveries) {
      if (deliveries.length === 0) return;
      emptyPolls = 0;
      for (const { sentAt, orderingKey, deliveryCount = 1 } of deliveries) {
        if (sentAt === undefined) continue;
        // What comes again was put away meanwhile: it says nothing about where the queue is.
        if (deliveryCount <= 1) {
          sentTimes[nextTime] = sentAt;
          nextTime = (nextTime + 1) % TIMES_REMEMBERED;
        }
        if (orderingKey === undefined) continue;
        const newest = Math.max(newestByKey.get(orderingKey) ?? Number.NEGATIVE_INFINITY, sentAt);
        newestByKey.delete(orderingKey);
        newestByKey.set(orderingKey, newest);
        if (newestByKey.size > KEYS_REMEMBERED) {
          const oldest = newestByKey.keys().next();
          if (oldest.done !== true) newestByKey.delete(oldest.value);
        }
      }
    },
    empty(waitedMs) {
      if (waitedMs < EMPTY_POLL_MS) return;
      emptyPolls += 1;
      emptyAt = clock.now();
    },
    movedPast(sentAt, marginMs) {
      const later = sentTimes.filter((time) => time - sentAt > marginMs).length;
      if (later >= Math.max(TIMES_NEEDED, sentTimes.length / 2)) return true;
      return this.looksEmpty() && (countedVisible ?? 0) === 0 && emptyAt > sentAt;
    },
    movedPastInKey: (key, sentAt) => (newestByKey.get(key) ?? Number.NEGATIVE_INFINITY) > sentAt,
    looksEmpty: () => emptyPolls >= EMPTY_POLLS,
    counted(visible) {
      countedVisible = visible;
    },
    countedWithoutPolls(visible) {
      countedVisible = visible;
      if (visible > 0) return;
      emptyPolls = EMPTY_POLLS;
      emptyAt = clock.now();
    },
  };
}
