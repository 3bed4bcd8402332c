import type { Clock } from "../clock.ts";
import type { Delivery, QueueDriver } from "../queue/driver.ts";

/** What happens to one delivery on its way to the consumer. */
export interface DeliveryFault {
  /** The message vanishes: the broker takes it as completed, nobody gets it. */
  readonly lose?: true;
  /** It is handed out this much later, ms, by a receive of that time; the broker's lease runs meanwhile. */
  readonly holdMs?: number;
  /** It is handed out once more, with the same token, by a receive at least this much later, ms. */
  readonly againMs?: number;
}

/** Says what happens to a delivery; `index`: how many came before it. It must depend on nothing but its parameter and its own state. */
export type DeliveryScript = (arrival: {
  readonly delivery: Delivery;
  readonly index: number;
}) => DeliveryFault | undefined;

/**
 * Wraps a driver so that messages get lost, late, out of order or doubled between broker and consumer. What a broker does
 * by itself (a second token for one message, a lease that ends early) is in the acts of the memory broker.
 */
export function withDeliveryFaults(driver: QueueDriver, clock: Clock, script: DeliveryScript): QueueDriver {
  let arrivals = 0;
  let held: { readonly delivery: Delivery; readonly from: number }[] = [];

  function hold(delivery: Delivery, ms: number): void {
    held.push({ delivery, from: clock.monotonic() + ms });
  }

  function takeHeld(max: number): Delivery[] {
    const now = clock.monotonic();
    const due = held.filter((one) => one.from <= now).slice(0, max);
    held = held.filter((one) => !due.includes(one));
    return due.map((one) => one.delivery);
  }

  async function pass(delivery: Delivery): Promise<readonly Delivery[]> {
    const fault = script({ delivery, index: arrivals++ });
    if (fault?.lose === true) {
      await driver.settle([{ verb: "complete", delivery }]);
      return [];
    }
    if (fault?.againMs !== undefined) hold(delivery, fault.againMs);
    if (fault?.holdMs === undefined) return [delivery];
    hold(delivery, fault.holdMs);
    return [];
  }

  return {
    ...driver,
    async receive(options) {
      const late = takeHeld(options.max);
      if (late.length === options.max) return late;
      const received = await driver.receive({
        ...options,
        max: options.max - late.length,
        waitMs: late.length > 0 ? 0 : options.waitMs,
      });
      const passed: Delivery[] = [];
      for (const delivery of received) passed.push(...(await pass(delivery)));
      return [...late, ...passed];
    },
  };
}
