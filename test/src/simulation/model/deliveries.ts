import type { Delivery, Outcome, QueueDriver, SettleItem } from "@leasehold/core/driver";
import type { Host } from "../host.ts";
import type { ModelContext } from "./state.ts";

interface Held {
  readonly taskId: string;
  readonly receivedAt: number;
  deadlineMonotonic: number;
  deadlineWall: number;
  /** The one settle that was called for it. */
  settle: { readonly verb: SettleItem["verb"]; answered: boolean } | undefined;
  /** How often it was handed out: a broker may hand out one token twice. */
  readonly handOuts: number;
}

/** Watches what one process does with its deliveries. It stands between core and the wire, so it sees what core meant. */
export function watchedQueue(context: ModelContext, host: Host, driver: QueueDriver): QueueDriver {
  const { fail, log, tasks } = context;
  const { clock } = host;
  const held = new Map<string, Held>();
  const ceiling = driver.capabilities.totalLeaseMs !== undefined;

  function take(delivery: Delivery): void {
    const taskId = /"id":"([^"]+)"/.exec(delivery.body)?.[1] ?? "";
    context.lastReceivedAt = context.now();
    log("received", host.name, delivery.token, taskId);
    held.set(delivery.token, {
      taskId,
      receivedAt: context.now(),
      deadlineMonotonic: clock.monotonic() + delivery.leaseMs,
      deadlineWall: clock.now() + delivery.leaseMs,
      settle: undefined,
      handOuts: (held.get(delivery.token)?.handOuts ?? 0) + 1,
    });
  }

  // Of a token that was handed out twice nobody can say which hand-over an answer is about.
  const isPast = (one: Held): boolean =>
    one.handOuts === 1 && (clock.monotonic() > one.deadlineMonotonic || clock.now() > one.deadlineWall);

  function checkSettle(item: SettleItem): Held | undefined {
    const { token } = item.delivery;
    const one = held.get(token);
    const at = `${host.name}: ${item.verb} of delivery ${token}`;
    log("settle", host.name, item.verb, token);
    if (one === undefined) {
      fail(9, `${at}, which it does not hold`);
      return undefined;
    }
    if (one.settle !== undefined && one.handOuts === 1 && (one.settle.answered || one.settle.verb !== item.verb))
      fail(9, `${at}, after a ${one.settle.verb}`);
    if (item.verb === "abandon" && isPast(one)) fail(9, `${at}, past its deadline`);
    if (item.verb === "complete" && !ceiling) checkComplete(one, at);
    if (item.verb === "dead-letter" && item.fence !== undefined) {
      const status = tasks.get(one.taskId)?.record;
      if (status?.fence === item.fence && status.status === "leased") fail(9, `${at}, before the record says so`);
    }
    one.settle = { verb: item.verb, answered: false };
    return one;
  }

  /** The record first, the broker second. */
  function checkComplete(one: Held, at: string): void {
    const state = tasks.get(one.taskId);
    if (state === undefined || state.record.status !== "leased" || state.holder?.host !== host) return;
    // It may be the delivery of an earlier lease of this process, whose end was answered late.
    if ((state.endedBy.get(host.name) ?? Number.NEGATIVE_INFINITY) >= one.receivedAt) return;
    // Or it was judged by a record that had ended or was parked, and a person has put the task back since.
    if (state.leftEndAt >= one.receivedAt) return;
    fail(9, `${at}, while the lease on task ${one.taskId} goes on`);
  }

  return {
    ...driver,
    async receive(options) {
      const deliveries = await driver.receive(options);
      for (const delivery of deliveries) take(delivery);
      return deliveries;
    },
    async extend(items) {
      const sent = { monotonic: clock.monotonic(), wall: clock.now() };
      for (const { delivery } of items) {
        const one = held.get(delivery.token);
        log("extend", host.name, delivery.token);
        if (one === undefined || (one.settle !== undefined && one.handOuts === 1))
          fail(
            9,
            `${host.name}: extends delivery ${delivery.token}, which it ${one === undefined ? "does not hold" : "has settled"}`,
          );
        else if (isPast(one)) fail(9, `${host.name}: extends delivery ${delivery.token} past its deadline`);
      }
      const outcomes = await driver.extend(items);
      items.forEach(({ delivery, leaseMs }, index) => {
        const one = held.get(delivery.token);
        const { status } = outcomes[index] as Outcome;
        if (one === undefined || (status !== "confirmed" && status !== "unconfirmed")) return;
        const grantedMs = driver.capabilities.fixedLeaseMs ?? leaseMs;
        one.deadlineMonotonic = sent.monotonic + grantedMs;
        one.deadlineWall = sent.wall + grantedMs;
      });
      return outcomes;
    },
    async settle(items) {
      const checked = items.map(checkSettle);
      const outcomes = await driver.settle(items);
      checked.forEach((one, index) => {
        const outcome = outcomes[index] as Outcome;
        if (one?.settle !== undefined && outcome.status !== "failed") one.settle.answered = true;
      });
      return outcomes;
    },
  };
}
