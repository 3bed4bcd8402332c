import type { HeldDelivery } from "./deliveries.ts";
import type { Disposition } from "./intake.ts";
import type { Runtime } from "./runtime.ts";
import { brokerLeaseMs, orderingKeyOfDelivery } from "./runtime.ts";
import type { Settler } from "./settler.ts";

/**
 * Ordering keys: one delivery of a key at a time. What waits behind the head is kept hidden with it and not acquired; a head
 * that is given back takes its tail along, last first, so that no later one overtakes (SQS-61, SQS-62).
 */
export interface Lanes {
  /** Processes the delivery when its turn in its key has come. Resolves when its slot is free. */
  enter(held: HeldDelivery, process: (held: HeldDelivery) => Promise<Disposition>): Promise<Disposition>;
  /** Gives back what waits behind this head. */
  releaseTail(head: HeldDelivery): Promise<void>;
  /** Gives back everything that waits: a shutdown. */
  releaseAll(): Promise<void>;
}

interface Waiting {
  readonly held: HeldDelivery;
  readonly start: () => void;
  readonly giveBack: () => void;
}

/** The deliveries of one key that are here: one at work, and those that wait behind it, in their order. */
interface Lane {
  head: HeldDelivery;
  readonly tail: Waiting[];
}

export function createLanes(runtime: Runtime, settler: Settler): Lanes {
  const lanes = new Map<string, Lane>();

  /** Those that are there now: what comes while they are given back may be one of them again, and so on without end. */
  const giveBackTail = async ({ tail }: Lane): Promise<void> => {
    for (const waiting of tail.splice(0).reverse()) {
      await settler.settle(
        waiting.held,
        waiting.held.delivery.messageId,
        { verb: "abandon", delayMs: 0 },
        { now: true },
      );
      waiting.giveBack();
    }
  };

  const leave = (lane: Lane, waiting: Waiting): void => {
    const place = lane.tail.indexOf(waiting);
    if (place >= 0) lane.tail.splice(place, 1);
    waiting.held.letGo();
    waiting.giveBack();
  };

  /** Where a delivery belongs behind the head: a message that comes again takes its own place, and shows that its former lease was lost. */
  const placeIn = (lane: Lane, { delivery }: HeldDelivery): number => {
    if (delivery.messageId === lane.head.delivery.messageId) {
      lane.head.reportLost();
      return 0;
    }
    const place = lane.tail.findIndex(({ held }) => held.delivery.messageId === delivery.messageId);
    if (place < 0) return lane.tail.length;
    leave(lane, lane.tail[place] as Waiting);
    return place;
  };

  const turnIn = (lane: Lane, held: HeldDelivery): Promise<"start" | "given_back"> =>
    new Promise((resolve) => {
      const waiting: Waiting = { held, start: () => resolve("start"), giveBack: () => resolve("given_back") };
      lane.tail.splice(placeIn(lane, held), 0, waiting);
      held.keepFor({
        leaseMs: () => brokerLeaseMs(runtime, runtime.settings.receiveLeaseMs),
        mayExtend: () => true,
        // The broker has it again: nothing of it is done here.
        onLoss: () => leave(lane, waiting),
      });
    });

  return {
    async enter(held, process) {
      const key = orderingKeyOfDelivery(runtime, held.delivery);
      if (key === undefined) return process(held);
      let lane = lanes.get(key);
      if (lane === undefined) {
        lane = { head: held, tail: [] };
        lanes.set(key, lane);
      } else {
        if ((await turnIn(lane, held)) === "given_back") return "retry";
        lane.head = held;
      }
      const disposition = await process(held);
      // The head comes again, so nothing behind it may be started before it; unless it is here already, at the front.
      const isHere = lane.tail[0]?.held.delivery.messageId === held.delivery.messageId;
      if (disposition === "retry" && !isHere) await giveBackTail(lane);
      const next = lane.tail.shift();
      if (next === undefined) lanes.delete(key);
      else next.start();
      return disposition;
    },
    async releaseTail(head) {
      const key = orderingKeyOfDelivery(runtime, head.delivery);
      const lane = key === undefined ? undefined : lanes.get(key);
      if (lane !== undefined) await giveBackTail(lane);
    },
    async releaseAll() {
      for (const lane of lanes.values()) await giveBackTail(lane);
    },
  };
}
