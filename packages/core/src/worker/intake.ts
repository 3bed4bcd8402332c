import { fromUnknown } from "../errors.ts";
import type { ResolvedTask } from "../task/resolve.ts";
import { backoffMs } from "../util/retry.ts";
import { type Acquired, type AcquireResult, acquireTask, type ReadDelivery, readDelivery } from "./acquire.ts";
import type { HeldDelivery } from "./deliveries.ts";
import type { Holding, Holdings } from "./holdings.ts";
import { labelOf, orderingKeyOfDelivery, type Runtime } from "./runtime.ts";
import type { Settler } from "./settler.ts";
import type { StartedRun } from "./start-run.ts";
import type { UnknownTypes } from "./unknown-types.ts";
import { keepUnreadable, unreadableTaskId } from "./unreadable.ts";

/** What became of a delivery. `retry`: the broker shall bring it again. */
export type Disposition = "complete" | "retry";

export interface Intake {
  /**
   * Takes one delivery through to its end. Resolves when the broker was told and, where a handler ran for it, that has
   * ended. `freeSlot` is called as soon as no handler runs for it and none will. Never rejects.
   */
  process(held: HeldDelivery, freeSlot: () => void): Promise<Disposition>;
}

export interface IntakeParts {
  readonly runtime: Runtime;
  readonly tasks: ReadonlyMap<string, ResolvedTask>;
  readonly holdings: Holdings;
  readonly settler: Settler;
  readonly unknownTypes: UnknownTypes;
  /** Starts the attempt of an acquired task; see start-run.ts. */
  readonly startRun: (acquired: Acquired, read: ReadDelivery, held: HeldDelivery, freeSlot: () => void) => StartedRun;
}

/** First and longest delay after a store that could not be reached, ms. */
const STORE_BACKOFF_MS = 5_000;
const STORE_BACKOFF_CAP_MS = 300_000;
/** How long an unknown type is put away at a time, ms. */
const UNKNOWN_TYPE_DELAY_MS = 60_000;
/** How long acquire is tried, at most, ms; and no longer than half of what the broker holds. */
const ACQUIRE_PATIENCE_MS = 10_000;

type Started =
  | { readonly is: "run"; readonly run: StartedRun }
  | { readonly is: "adopted"; readonly holding: Holding }
  | NotStarted;

/** No run comes of the delivery. */
type NotStarted = Exclude<AcquireResult, { readonly outcome: "acquired" }> | { readonly outcome: "unknown_type" };

export function createIntake(parts: IntakeParts): Intake {
  const { runtime, tasks, holdings, settler, unknownTypes } = parts;
  const { clock, entropy, telemetry, driver } = runtime;

  const process = async (held: HeldDelivery, freeSlot: () => void): Promise<Disposition> => {
    const outcome = readDelivery(runtime, held.delivery);
    if (!outcome.ok) {
      return refuse(held, unreadableTaskId(driver.queue, held.delivery), outcome.code, outcome.text);
    }
    const { read } = outcome;
    const started = await holdings.exclusive(read.taskId, () => start(read, held, freeSlot));
    if ("is" in started) {
      if (started.is === "adopted") {
        freeSlot();
        await started.holding.ended;
        return started.holding.lease.ended ? "complete" : "retry";
      }
      return started.run.done;
    }
    freeSlot();
    return dispose(started, read, held);
  };

  /** Acquires the task, or finds that it needs no run. One at a time for each task. */
  const start = async (read: ReadDelivery, held: HeldDelivery, freeSlot: () => void): Promise<Started> => {
    const known = tasks.get(read.event.type);
    if (known === undefined && !unknownTypes.isOverdue(read.taskId)) return { outcome: "unknown_type" };
    const holding = holdings.get(read.taskId);
    if (holding !== undefined && !holding.lease.lost && !holding.lease.ended && isSameTask(holding, read))
      return adopt(holding, read, held);
    const leaseMs = known?.leaseMs.preflight ?? runtime.settings.receiveLeaseMs;
    const untilMonotonic = clock.monotonic() + Math.min(held.delivery.leaseMs / 2, ACQUIRE_PATIENCE_MS);
    const result = await acquireTask(runtime, read, { leaseMs, untilMonotonic, delivery: held.delivery });
    if (result.outcome !== "acquired") return result;
    unknownTypes.forget(read.taskId);
    return { is: "run", run: parts.startRun(result.acquired, read, held, freeSlot) };
  };

  /** Another delivery of a task that this process works on. */
  const adopt = (holding: Holding, read: ReadDelivery, held: HeldDelivery): Started => {
    const label = labelOf(runtime, read.event.type);
    telemetry.duplicate(label, "live_here");
    const before = holding.deliveries.get(held.delivery.messageId);
    if (before !== undefined && holding.orderingKey !== undefined) {
      // The same message again means that the broker's lease on the key was lost, and the order with it.
      before.letGo();
      holding.lease.abort("taken_over");
      return { outcome: "unclear", text: "the broker's lease of an ordering key was lost" };
    }
    before?.letGo();
    holding.adopt(held);
    return { is: "adopted", holding };
  };

  const dispose = async (result: NotStarted, read: ReadDelivery, held: HeldDelivery): Promise<Disposition> => {
    const label = labelOf(runtime, read.event.type);
    switch (result.outcome) {
      case "dead-letter":
        return refuse(held, read.taskId, result.code, result.text);
      case "unknown_type":
        return abandon(held, read.taskId, UNKNOWN_TYPE_DELAY_MS);
      case "unclear":
        return abandon(
          held,
          read.taskId,
          backoffMs(Math.max(held.delivery.deliveryCount ?? 1, 1) - 1, STORE_BACKOFF_MS, STORE_BACKOFF_CAP_MS, entropy),
        );
      case "refused":
        break;
    }
    const { action } = result;
    if ("duplicate" in action && action.duplicate !== undefined) telemetry.duplicate(label, action.duplicate);
    switch (action.action) {
      case "abandon":
        return abandon(held, read.taskId, action.delayMs);
      case "dead-letter":
        if (action.duplicate === "ended" && driver.capabilities.deadLetter === "store")
          return complete(held, read.taskId);
        if (action.duplicate === undefined) return refuse(held, read.taskId, action.code, action.text);
        await settler.settle(held, read.taskId, {
          verb: "dead-letter",
          reason: action,
          ...(action.fence === undefined ? {} : { fence: action.fence }),
        });
        return "complete";
      default:
        return complete(held, read.taskId);
    }
  };

  const complete = async (held: HeldDelivery, taskId: string): Promise<Disposition> => {
    await settler.settle(held, taskId, { verb: "complete" });
    return "complete";
  };

  /** With an ordering key the delay holds up all that comes behind it, so it is limited, whatever it is for. */
  const abandon = async (held: HeldDelivery, taskId: string, delayMs: number): Promise<Disposition> => {
    const ordered = orderingKeyOfDelivery(runtime, held.delivery) !== undefined;
    const longestMs = ordered ? runtime.settings.orderHoldMs : Number.POSITIVE_INFINITY;
    await settler.settle(held, taskId, { verb: "abandon", delayMs: Math.min(delayMs, longestMs) });
    return "retry";
  };

  /** Dead-letters a message as such; no record is touched. Without a dead-letter queue a record of its own keeps it. */
  const refuse = async (held: HeldDelivery, taskId: string, code: string, text: string): Promise<Disposition> => {
    telemetry.deadLettered({ type: "unreadable", queue: driver.queue }, code);
    runtime.logger.warn("a message was dead-lettered", { code, reason: text, message_id: held.delivery.messageId });
    if (driver.capabilities.deadLetter !== "store") {
      await settler.settle(held, taskId, { verb: "dead-letter", reason: { code, text } });
      return "complete";
    }
    try {
      await keepUnreadable(runtime, held.delivery, code, text);
    } catch (error) {
      runtime.logger.error("a message without a dead-letter queue could not be kept in the store; it will come again", {
        error: fromUnknown(error, "keeping a message").message,
      });
      return abandon(held, taskId, STORE_BACKOFF_MS);
    }
    return complete(held, taskId);
  };

  return {
    async process(held, freeSlot) {
      try {
        return await process(held, freeSlot);
      } catch (error) {
        // Nothing that arrives may stop the loop: the message comes again, or is dead-lettered by the broker's own count.
        runtime.logger.error("a delivery could not be processed", {
          message_id: held.delivery.messageId,
          error: fromUnknown(error, "process").message,
        });
        held.letGo();
        return "retry";
      }
    },
  };
}

function isSameTask(holding: Holding, read: ReadDelivery): boolean {
  return holding.lease.record.task_type === read.event.type && holding.lease.record.input_hash === read.inputHash;
}
