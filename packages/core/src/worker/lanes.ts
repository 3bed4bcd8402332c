import type { HeldDelivery } from "./deliveries.ts";
import type { Disposition } from "./intake.ts";
import type { Runtime } from "./runtime.ts";
import { brokerLeaseMs } from "./runtime.ts";
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

export function createLanes(runtime: Runtime, settler: Settler): Lanes {
  const lanes = new Map<string, Waiting[]>();

  const giveBackTail = async (tail: Waiting[]): Promise<void> => {
    for (let waiting = tail.pop(); waiting !== undefined; waiting = tail.pop()) {
      await settler.settle(
        waiting.held,
        waiting.held.delivery.messageId,
        { verb: "abandon", delayMs: 0 },
        { now: true },
      );
      waiting.giveBack();
    }
  };

  return {
    async enter(held, process) {
      const key = held.delivery.orderingKey;
      if (key === undefined) return process(held);
      const lane = lanes.get(key);
      if (lane !== undefined) {
        const turn = await new Promise<"start" | "given_back">((resolve) => {
          const waiting: Waiting = { held, start: () => resolve("start"), giveBack: () => resolve("given_back") };
          lane.push(waiting);
          held.keepFor({
            leaseMs: () => brokerLeaseMs(runtime, runtime.settings.receiveLeaseMs),
            mayExtend: () => true,
            onLoss() {
              // The broker has it again: nothing of it is done here.
              const place = lane.indexOf(waiting);
              if (place >= 0) lane.splice(place, 1);
              held.letGo();
              waiting.giveBack();
            },
          });
        });
        if (turn === "given_back") return "retry";
      } else {
        lanes.set(key, []);
      }
      const disposition = await process(held);
      const tail = lanes.get(key) ?? [];
      // The head comes again, so nothing behind it may be started before it.
      if (disposition === "retry") await giveBackTail(tail);
      const next = tail.shift();
      if (next === undefined) lanes.delete(key);
      else next.start();
      return disposition;
    },
    async releaseTail(head) {
      const key = head.delivery.orderingKey;
      const lane = key === undefined ? undefined : lanes.get(key);
      if (lane !== undefined) await giveBackTail(lane);
    },
    async releaseAll() {
      for (const lane of lanes.values()) await giveBackTail(lane);
    },
  };
}
