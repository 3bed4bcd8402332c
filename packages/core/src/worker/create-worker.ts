import { sleep } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import type { Delivery } from "../queue/driver.ts";
import { refusal } from "../util/issues.ts";
import { createDeliveries, type HeldDelivery } from "./deliveries.ts";
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
import { startRun } from "./start-run.ts";
import { createUnknownTypes } from "./unknown-types.ts";

export interface HandleOptions {
  /** Wall time, ms, at which the runtime ends the call; 5 s before it the worker acts as at a shutdown. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

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

/** The part of the stop time that is kept for abort, release and flush, ms; at most half of it. */
const LAST_PART_MS = 5_000;

/** The end of that part, for what handlers that ignore their signal still hold, ms. */
const GIVE_UP_MS = 1_000;

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
  let rejectHung: ((error: LeaseholdError) => void) | undefined;
  const orphans = createOrphans(runtime, (taskId) => {
    rejectHung?.(
      new LeaseholdError(
        "Hung",
        `the handler of task ${taskId} ignores its signal and has run on for ${settings.hungAfterMs} ms after its lease was gone`,
        {
          details: { task_id: taskId },
        },
      ),
    );
  });
  const intake = createIntake({
    runtime,
    tasks,
    holdings,
    settler,
    unknownTypes: createUnknownTypes(clock),
    startRun: (acquired, read, held, freeSlot) =>
      startRun(
        { runtime, tasks, keeper, holdings, settler, orphans, releaseTail: (head) => lanes.releaseTail(head) },
        acquired,
        read,
        held,
        freeSlot,
      ),
  });
  const underWay = new Set<Promise<unknown>>();
  let slotsInUse = 0;
  let running = false;

  const takeIn = (delivery: Delivery): { readonly held: HeldDelivery; readonly done: Promise<Disposition> } => {
    const held = deliveries.hold(delivery);
    let inUse = true;
    slotsInUse += 1;
    const freeSlot = (): void => {
      if (!inUse) return;
      inUse = false;
      slotsInUse -= 1;
      poller?.slotFreed();
    };
    const done = lanes.enter(held, (turn) => intake.process(turn, freeSlot));
    const tracked: Promise<unknown> = done.finally(() => {
      freeSlot();
      underWay.delete(tracked);
    });
    underWay.add(tracked);
    return { held, done };
  };

  let poller: ReturnType<typeof createPoller> | undefined;

  const startPolling = (signal: AbortSignal): Promise<void> => {
    poller = createPoller({
      runtime,
      position,
      freeSlots: () => (settler.pending > settings.concurrency * 2 + 100 ? 0 : settings.concurrency - slotsInUse),
      accept: (delivery) => void takeIn(delivery),
      giveBack(unwanted) {
        for (const delivery of [...unwanted].reverse()) {
          const held = deliveries.hold(delivery);
          void settler.settle(held, delivery.messageId, { verb: "abandon", delayMs: 0 });
        }
      },
    });
    return poller.loop(signal);
  };

  /** Waits for the work, at most this long; leaves no timer behind. */
  const atMost = async (waitMs: number, work: Promise<unknown>): Promise<void> => {
    const enough = new AbortController();
    const done = work.finally(() => enough.abort());
    await Promise.race([done, sleep(clock, waitMs, enough.signal)]);
  };

  const drained = async (): Promise<void> => {
    while (underWay.size > 0) await Promise.all(underWay);
  };

  const abortAll = (): void => {
    for (const holding of holdings.all()) holding.lease.abort("shutdown");
  };

  /** Handlers that ignore their signal: what can be given back is, the rest runs out. */
  const giveUpAll = async (): Promise<void> => {
    const left = [...holdings.all()];
    for (const holding of left) holding.giveUp();
    await Promise.all(left.map((holding) => holding.ended));
  };

  /** Handlers finish while their leases are renewed; then the rest is aborted, given back, flushed. */
  const stop = async (polling: Promise<void>): Promise<void> => {
    const lastPartMs = Math.min(LAST_PART_MS, settings.stopMs / 2);
    const stopAt = clock.monotonic() + settings.stopMs;
    const untilLastPart = (): number => stopAt - lastPartMs - clock.monotonic();
    await atMost(untilLastPart(), polling);
    await atMost(untilLastPart(), lanes.releaseAll());
    await atMost(untilLastPart(), drained());
    abortAll();
    await atMost(stopAt - GIVE_UP_MS - clock.monotonic(), drained());
    await atMost(stopAt - clock.monotonic(), giveUpAll());
    for (const holding of holdings.all()) holding.lease.lose("shutdown");
    await atMost(Math.max(stopAt - clock.monotonic(), 1_000), settler.flush());
  };

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
      const onAbort = (): void => stopping.abort();
      if (signal.aborted) stopping.abort();
      else signal.addEventListener("abort", onAbort, { once: true });
      const hung = new Promise<never>((_, reject) => {
        rejectHung = reject;
      });
      try {
        const polling = startPolling(stopping.signal);
        const recovering = settings.recovery ? recovery.loop(stopping.signal) : Promise.resolve();
        const aborted = new Promise<undefined>((resolve) => {
          if (stopping.signal.aborted) resolve(undefined);
          else stopping.signal.addEventListener("abort", () => resolve(undefined), { once: true });
        });
        // A hung handler ends the whole worker, in order: the others are given their time.
        const reason = await Promise.race([aborted, hung.catch((error: unknown) => error)]);
        stopping.abort();
        await stop(polling);
        await recovering;
        if (reason !== undefined) throw reason;
      } finally {
        stopping.abort();
        signal.removeEventListener("abort", onAbort);
        rejectHung = undefined;
        poller = undefined;
        running = false;
      }
    },
    async handle(delivery, handleOptions = {}) {
      const { deadlineMs, signal } = handleOptions;
      position.received([delivery]);
      const ended = new AbortController();
      const { held, done } = takeIn(delivery);
      const abortThis = (): void => {
        for (const holding of holdings.all()) {
          if (holding.deliveries.get(delivery.messageId) === held) holding.lease.abort("shutdown");
        }
      };
      const warn =
        deadlineMs === undefined ? undefined : clock.setTimer(deadlineMs - LAST_PART_MS - clock.now(), abortThis);
      const result = done.then((disposition) => {
        ended.abort();
        return disposition;
      });
      signal?.addEventListener("abort", abortThis, { once: true });
      try {
        // Past the deadline the runtime ends the call: the lease is left to run out, the broker brings the message again.
        const late =
          deadlineMs === undefined
            ? undefined
            : sleep(clock, deadlineMs - 500 - clock.now(), ended.signal).then((): Disposition => "retry");
        return await (late === undefined ? result : Promise.race([result, late]));
      } finally {
        warn?.cancel();
        ended.abort();
        signal?.removeEventListener("abort", abortThis);
      }
    },
    recoverOnce: ({ maxMs }) => recovery.pass(maxMs),
    get state() {
      return { busy: slotsInUse, leases: holdings.size, deliveries: deliveries.size, orphans: orphans.size };
    },
  };
}
