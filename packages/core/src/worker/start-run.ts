import { parseTime } from "../clock.ts";
import { fromUnknown } from "../errors.ts";
import type { TaskRecord } from "../record/record.ts";
import type { ResolvedTask } from "../task/resolve.ts";
import type { Acquired, ReadDelivery } from "./acquire.ts";
import { type Attempt, createAttempt } from "./attempt.ts";
import { createClaims } from "./claims.ts";
import type { DeliveryLoss, HeldDelivery } from "./deliveries.ts";
import { createEffects } from "./effects.ts";
import { type BrokerEnd, deadLetter, type Ending, endAfterReadback } from "./ends.ts";
import type { Holding, Holdings } from "./holdings.ts";
import type { Disposition } from "./intake.ts";
import type { Keeper } from "./keeper.ts";
import { createLease } from "./lease.ts";
import type { Orphans } from "./orphans.ts";
import { sendRing } from "./ring.ts";
import { type RunResult, runAttempt } from "./run.ts";
import { brokerLeaseMs, labelOf, orderingKeyOf, type Runtime } from "./runtime.ts";
import type { Settler } from "./settler.ts";
import { unknownTask } from "./unknown-types.ts";

/** An attempt that has started. */
export interface StartedRun {
  /** Resolves when the broker was told and the handler has ended. Never rejects. */
  readonly done: Promise<Disposition>;
}

export interface RunParts {
  readonly runtime: Runtime;
  readonly tasks: ReadonlyMap<string, ResolvedTask>;
  readonly keeper: Keeper;
  readonly holdings: Holdings;
  readonly settler: Settler;
  readonly orphans: Orphans;
  /** Gives back what waits behind this delivery in its ordering key, before it is given back itself. */
  readonly releaseTail: (held: HeldDelivery) => Promise<void>;
}

/** Puts an acquired task to work: lease, claims, watch, deliveries; then the end, first in the record, then at the broker. */
export function startRun(
  parts: RunParts,
  acquired: Acquired,
  read: ReadDelivery,
  first: HeldDelivery,
  freeSlot: () => void,
): StartedRun {
  const { runtime, keeper, holdings, orphans } = parts;
  const known = parts.tasks.get(acquired.record.task_type);
  const task = known ?? unknownTask(acquired.record.task_type);
  const label = labelOf(runtime, task.type);
  observeAcquire(runtime, acquired, read);

  let told = false;
  const lease = createLease(runtime, {
    record: acquired.record,
    token: acquired.token,
    sentWall: acquired.sentWall,
    sentMonotonic: acquired.sentMonotonic,
    leaseMs: acquired.leaseMs,
    onConfirm: () => keeper.keep(attempt.watch),
    onAbort(reason, lost) {
      if (!told) runtime.telemetry.leaseLost(label, reason);
      told = true;
      keeper.keep(attempt.watch);
      if (!lost) return;
      for (const held of holding.deliveries.values()) held.letGo();
      holdings.remove(holding);
    },
  });
  const claims = createClaims(runtime, task, acquired.record, acquired.sentMonotonic);
  const span = runtime.telemetry.process({
    queue: runtime.driver.queue,
    provider: runtime.driver.provider,
    type: task.type,
    taskId: lease.taskId,
    event: read.event,
    recordTraceparent: acquired.record.traceparent,
    attempt: acquired.record.attempt,
    fence: lease.fence,
    agentRunId: acquired.record.agent_run_id,
    at: acquired.sentWall,
  });
  const attempt: Attempt = createAttempt({
    runtime,
    lease,
    task,
    claims,
    span,
    label,
    startedMonotonic: acquired.sentMonotonic,
    keep: (watch) => keeper.keep(watch),
  });
  if (acquired.previous?.status === "leased") logExpired(attempt, acquired.previous);

  let markEnded: () => void = () => undefined;
  const holding: Holding = {
    taskId: lease.taskId,
    lease,
    orderingKey: orderingKeyOf(runtime, acquired.record),
    giveUp: () => attempt.giveUp(),
    deliveries: new Map(),
    ended: new Promise((resolve) => {
      markEnded = resolve;
    }),
    adopt(held) {
      holding.deliveries.set(held.delivery.messageId, held);
      held.keepFor({
        leaseMs: () => brokerLeaseMs(runtime, lease.leaseMs),
        mayExtend: () => !lease.lost && attempt.mayRenew(),
        onLoss: (loss) => onDeliveryLoss(parts, holding, held, loss),
      });
    },
  };
  holdings.set(holding);
  holding.adopt(first);
  // Lost while the task was being acquired: the order of its key went with it.
  if (holding.orderingKey !== undefined && !first.live) lease.abort("taken_over");
  keeper.keep(attempt.watch);

  const work = async (): Promise<Disposition> => {
    const onHandler = (running: boolean): void => {
      runtime.telemetry.inFlight(label, running ? 1 : -1);
    };
    const run: RunResult =
      known === undefined
        ? { ending: await endUnknown(attempt), stillRuns: () => false, handlerEnded: Promise.resolve() }
        : await runAttempt(attempt, read.input ?? {}, acquired.previous, onHandler);
    keeper.drop(attempt.watch);
    holdings.remove(holding);
    runtime.telemetry.renewals(label, lease.record.renewal_count);
    span.end(run.ending.how, run.ending.error);
    // The handler may run on without its lease: the slot is its own until it ends, the broker is told now.
    if (run.stillRuns()) orphans.add(lease, label);
    void run.handlerEnded.then(() => {
      orphans.remove(lease);
      freeSlot();
    });
    const disposition = await tellBroker(parts, holding, first, run.ending);
    if (run.ending.broker.verb !== "lapse") span.settle(run.ending.broker.verb);
    markEnded();
    await run.handlerEnded;
    return disposition;
  };
  return { done: work() };
}

/** A type that nobody here has handled for an hour: the task ends, with what is open read back or parked. */
async function endUnknown(attempt: Attempt): Promise<Ending> {
  try {
    return await endAfterReadback(attempt, createEffects(attempt), () =>
      deadLetter(attempt, "unknown_type", `no worker of this queue has a handler for task type ${attempt.task.type}`),
    );
  } catch (error) {
    attempt.runtime.logger.error("a task of unknown type could not be ended", {
      task_id: attempt.lease.taskId,
      error: fromUnknown(error, "end").message,
    });
    return { how: "lost", broker: { verb: "lapse" } };
  }
}

/** The broker lost a delivery: the record is still ours, and the work goes on, unless an order depends on the broker's lease. */
function onDeliveryLoss(parts: RunParts, holding: Holding, held: HeldDelivery, loss: DeliveryLoss): void {
  const { lease, orderingKey, deliveries } = holding;
  if (loss === "ceiling" && orderingKey === undefined) {
    // Redelivery is the recovery loop's business from here on: `check_at` is in the record since its creation.
    deliveries.delete(held.delivery.messageId);
    void parts.settler.settle(held, holding.taskId, { verb: "complete" });
    return;
  }
  deliveries.delete(held.delivery.messageId);
  if (orderingKey !== undefined) {
    if (loss === "ceiling") held.letGo();
    lease.abort(loss === "ceiling" ? "expired" : "taken_over");
  }
}

/** Tells the broker how the lease ended: one delivery carries an abandon or a dead-letter, the others are completed. */
async function tellBroker(
  parts: RunParts,
  holding: Holding,
  first: HeldDelivery,
  ending: Ending,
): Promise<Disposition> {
  const { settler, runtime } = parts;
  const live = [...holding.deliveries.values()].filter((held) => held.live);
  const { broker } = ending;
  if (broker.verb === "lapse") {
    for (const held of live) held.letGo();
    return "retry";
  }
  const now = holding.orderingKey !== undefined;
  const carrier = live.at(-1);
  const others = live.slice(0, -1).map((held) => settler.settle(held, holding.taskId, { verb: "complete" }, { now }));
  if (carrier !== undefined) await settleCarrier(parts, holding, first, carrier, broker, now);
  else if (broker.verb === "abandon" && holding.orderingKey === undefined)
    await sendRing(runtime, holding.lease.record, { cause: "released", delayMs: broker.delayMs });
  await Promise.all(others);
  return broker.verb === "abandon" ? "retry" : "complete";
}

async function settleCarrier(
  parts: RunParts,
  holding: Holding,
  first: HeldDelivery,
  carrier: HeldDelivery,
  broker: Exclude<BrokerEnd, { verb: "lapse" }>,
  now: boolean,
): Promise<void> {
  const { settler, runtime } = parts;
  const { maxAbandonDelayMs, deadLetter: deadLetterBy } = runtime.driver.capabilities;
  if (broker.verb === "abandon") {
    if (holding.orderingKey !== undefined) await parts.releaseTail(first);
    // Longer than the broker can hold it: recovery rings at the time.
    else if (broker.delayMs > maxAbandonDelayMs) return settler.settle(carrier, holding.taskId, { verb: "complete" });
    return settler.settle(carrier, holding.taskId, broker, { now });
  }
  if (broker.verb === "dead-letter" && deadLetterBy === "store")
    return settler.settle(carrier, holding.taskId, { verb: "complete" }, { now });
  return settler.settle(carrier, holding.taskId, broker, { now });
}

function observeAcquire(runtime: Runtime, acquired: Acquired, read: ReadDelivery): void {
  const { record, expiredStage } = acquired;
  const label = labelOf(runtime, record.task_type);
  const dueFrom = Math.max(
    parseTime(read.event.time ?? record.created_at),
    record.not_before === undefined ? 0 : parseTime(record.not_before),
  );
  runtime.telemetry.acquired(label, Math.max(acquired.sentWall - dueFrom, 0));
  if (expiredStage !== undefined) runtime.telemetry.leaseExpired(label, expiredStage);
}

/** The lease before this one ran out: its attempt is in nobody's log yet. */
function logExpired(attempt: Attempt, previous: TaskRecord): void {
  attempt.logAttempt({
    attempt: previous.attempt,
    fence: previous.fence,
    owner: previous.lease_owner ?? "unknown",
    from: previous.acquired_at ?? previous.updated_at,
    stage: previous.stage,
    how: "expired",
  });
}
