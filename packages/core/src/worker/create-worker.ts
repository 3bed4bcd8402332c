import { LeaseholdError } from "../errors.ts";
import type { Delivery } from "../queue/driver.ts";
import { refusal } from "../util/issues.ts";
import { createDeliveries, type HeldDelivery } from "./deliveries.ts";
import { checkHandled, type HandleOptions, handleUntil } from "./handle.ts";
import { createHoldings } from "./holdings.ts";
import { createIntake, type Disposition } from "./intake.ts";
import { createKeeper } from "./keeper.ts";
import { createLanes } from "./lanes.ts";
import { resolveWorker, type WorkerOptions } from "./options.ts";
import { createOrphans } from "./orphans.ts";
import { createPoller } from "./poller.ts";
import { createQueuePosition } from "./queue-position.ts";
import { createRecovery } from "./recovery.ts";
import { createSettler } from "./settler.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";
import { startRun } from "./start-run.ts";
import { stopInOrder } from "./stop.ts";
import { createUnknownTypes } from "./unknown-types.ts";

/** What a worker is doing at the moment. */
export interface WorkerState {
  /** Slots in use: deliveries being looked at, handlers running, orphans. */
  readonly busy: number;
  /** Task leases held. */
  readonly leases: number;
  /** Deliveries held. */
  readonly deliveries: number;
  /** Handlers that run on although their lease is gone. */
  readonly orphans: number;
}

export interface Worker {
  /**
   * Receives and runs tasks until the signal aborts, then stops in order: no new receives, handlers finish within the stop
   * time while their leases are renewed, the rest is aborted and given back. Rejects with `Hung` when an orphaned handler
   * does not end, so that a supervisor restarts the process. Throws `Conflict` when it runs already.
   */
  run(options: { readonly signal: AbortSignal }): Promise<void>;
  /** Runs one delivery given from outside (push runtimes): no loops. Driver calls are made before it returns. */
  handle(delivery: Delivery, options?: HandleOptions): Promise<Disposition>;
  /** One pass of recovery, for a scheduled call. Resolves with the number of tasks that were rung. */
  recoverOnce(options: { readonly maxMs: number }): Promise<number>;
  readonly state: WorkerState;
}

/** Makes a worker. Throws `InvalidArgument` for options that cannot work. */
export function createWorker(options: WorkerOptions): Worker {
  const { runtime, tasks } = resolveWorker(options);
  const { clock, settings } = runtime;
  const holdings = createHoldings();
  const keeper = createKeeper(runtime, () => deliveries.extendDue());
  const deliveries = createDeliveries(runtime, keeper);
  // Settles that the broker does not take yet hold back receives: each that is done may let the next poll go.
  const settler = createSettler(runtime, () => poller?.slotFreed());
  const lanes = createLanes(runtime, settler);
  const position = createQueuePosition(clock);
  const recovery = createRecovery(runtime, position, new Set(tasks.keys()));
  const orphans = createOrphans(runtime);
  const shutdowns = new WeakMap<HeldDelivery, Shutdown>();
  const intake = createIntake({
    runtime,
    tasks,
    holdings,
    settler,
    unknownTypes: createUnknownTypes(clock),
    startRun(acquired, read, held, freeSlot) {
      const releaseTail = (head: HeldDelivery): Promise<void> => lanes.releaseTail(head);
      const parts = { runtime, tasks, keeper, holdings, settler, orphans, releaseTail };
      const run = startRun(parts, acquired, read, held, freeSlot);
      const holding = holdings.get(acquired.record.task_id);
      if (holding !== undefined) shutdowns.get(held)?.started(holding);
      return run;
    },
  });
  const underWay = new Set<Promise<unknown>>();
  let slotsInUse = 0;
  let running = false;

  const giveBack = async (held: HeldDelivery): Promise<Disposition> => {
    await settler.settle(held, held.delivery.messageId, { verb: "abandon", delayMs: 0 }, { now: true });
    return "retry";
  };

  const takeIn = (delivery: Delivery, shutdown: Shutdown): Promise<Disposition> => {
    const held = deliveries.hold(delivery);
    shutdowns.set(held, shutdown);
    let inUse = true;
    slotsInUse += 1;
    const freeSlot = (): void => {
      if (!inUse) return;
      inUse = false;
      slotsInUse -= 1;
      poller?.slotFreed();
    };
    const done = lanes.enter(held, (turn) => (shutdown.begun ? giveBack(turn) : intake.process(turn, freeSlot)));
    const tracked: Promise<unknown> = done.finally(() => {
      freeSlot();
      underWay.delete(tracked);
    });
    underWay.add(tracked);
    return done;
  };

  let poller: ReturnType<typeof createPoller> | undefined;

  const startPolling = (signal: AbortSignal, shutdown: Shutdown): Promise<void> => {
    poller = createPoller({
      runtime,
      position,
      freeSlots: () => (settler.pending > settings.concurrency * 2 + 100 ? 0 : settings.concurrency - slotsInUse),
      accept: (delivery) => void takeIn(delivery, shutdown),
      giveBack(unwanted) {
        for (const delivery of [...unwanted].reverse()) {
          const held = deliveries.hold(delivery);
          void settler.settle(held, delivery.messageId, { verb: "abandon", delayMs: 0 });
        }
      },
    });
    return poller.loop(signal);
  };

  const drained = async (): Promise<void> => {
    while (underWay.size > 0) await Promise.all(underWay);
  };

  /** Aborts `stopping` when the signal aborts, and resolves; with an error, when a handler hangs. */
  const reasonToStop = (signal: AbortSignal, stopping: AbortController): Promise<LeaseholdError | undefined> =>
    new Promise((resolve) => {
      const stopWatching = orphans.watch((error) => end(error));
      const onAbort = (): void => end(undefined);
      const end = (error: LeaseholdError | undefined): void => {
        stopWatching();
        signal.removeEventListener("abort", onAbort);
        stopping.abort();
        resolve(error);
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });

  return {
    async run(runOptions) {
      const signal: AbortSignal | undefined = runOptions?.signal;
      if (!(signal instanceof AbortSignal)) {
        throw refusal(
          "run.signal",
          signal,
          "an AbortSignal, such as new AbortController().signal; aborting it is how a worker is stopped",
        );
      }
      if (running)
        throw new LeaseholdError("Conflict", "the worker runs already; make another one, or wait for run to resolve");
      running = true;
      const stopping = new AbortController();
      const shutdown = createShutdown(() => holdings.all());
      try {
        const reason = reasonToStop(signal, stopping);
        const polling = startPolling(stopping.signal, shutdown);
        const recovering = settings.recovery ? recovery.loop(stopping.signal) : Promise.resolve();
        // A hung handler ends the whole worker, in order: the others are given their time.
        const error = await reason;
        await stopInOrder({
          clock,
          stopMs: settings.stopMs,
          lanes,
          settler,
          shutdown,
          polling,
          recovering,
          drained,
        });
        if (error !== undefined) throw error;
      } finally {
        poller = undefined;
        running = false;
      }
    },
    async handle(delivery, handleOptions = {}) {
      checkHandled(delivery, handleOptions);
      position.received([delivery]);
      return handleUntil(clock, (shutdown) => takeIn(delivery, shutdown), handleOptions);
    },
    recoverOnce: ({ maxMs }) => recovery.pass(maxMs),
    get state() {
      return { busy: slotsInUse, leases: holdings.size, deliveries: deliveries.size, orphans: orphans.size };
    },
  };
}
