import type { EmulatorClock } from "../clock.ts";
import { invalidValue, SqsError } from "./errors.ts";
import { createHandles } from "./handles.ts";
import { createInventory, type Inventory } from "./inventory.ts";
import { createMemory } from "./memory.ts";
import type { Content, Message, MessageOrigin } from "./message.ts";
import { MAX_VISIBILITY_SECONDS, type QueueSettings } from "./queue-attributes.ts";
import { createWaiters, type WaitRequest } from "./waiters.ts";

/**
 * What nobody may rely on, so that a user of the service is tested under either. Both are about standard queues; FIFO
 * queues refuse a handle whose lease is over (SQS-10).
 */
export interface StaleHandles {
  /**
   * `ChangeMessageVisibility` with a handle whose lease is over. `ok`, as AWS does: status 200. If nobody received
   * the message since, nothing happens (SQS-06); if somebody did, the new holder's lease is changed (SQS-07).
   * `not-in-flight`, as other servers do: `MessageNotInflight`. Default `ok`.
   */
  readonly staleChange: "ok" | "not-in-flight";
  /**
   * `DeleteMessage` with a handle that is not of the latest receive (SQS-09). Status 200 either way. Default `ignored`.
   * With the latest handle a message is deleted although the lease is over (SQS-08).
   */
  readonly staleDelete: "ignored" | "deletes";
}

export interface QueueOptions extends StaleHandles {
  /** SQS-70. */
  readonly inFlightLimit: number;
}

/** Takes a message that was received too often; false when there is nowhere to put it. */
export type Bury = (message: Message, targetArn: string) => boolean;

/** One queue: messages, leases, long polls. It knows its settings, not its name and no wire. */
export interface Queue {
  readonly inventory: Inventory;
  settings(): QueueSettings;
  configure(settings: QueueSettings): void;
  /** Takes messages in. `delayMs`: default, the queue's. */
  send(contents: readonly { readonly content: Content; readonly delayMs: number | undefined }[]): void;
  /** Takes one in that comes from another queue. */
  moveIn(content: Content, origin: MessageOrigin): void;
  /** Leases what is there, at once or within `waitMs`. Throws `OverLimit` (SQS-70). */
  receive(request: WaitRequest): readonly Message[] | Promise<readonly Message[]>;
  /** The receipt handle of a message's latest receive. */
  handleOf(message: Message): string;
  /** Throws `ReceiptHandleIsInvalid`; on FIFO queues `InvalidParameterValue` for a lease that is over (SQS-10). */
  remove(handle: string): void;
  /** Throws `ReceiptHandleIsInvalid`, `InvalidParameterValue`, `MessageNotInflight`. */
  changeVisibility(handle: string, seconds: number): void;
  /** Lets long polls take what has become visible. */
  serve(): void;
  /** Throws `PurgeQueueInProgress` within 60 s of the last. */
  purge(): void;
  /** Ends long polls and timers. */
  close(): void;
}

const PURGE_INTERVAL_MS = 60_000;

/** A receive that may be repeated (SQS-63). */
interface Attempt {
  readonly deliveries: readonly { readonly message: Message; readonly receive: number; readonly changes: number }[];
}

export function createQueue(clock: EmulatorClock, initial: QueueSettings, options: QueueOptions, bury: Bury): Queue {
  const handles = createHandles();
  const waiters = createWaiters(clock);
  const attempts = createMemory<Attempt>();
  let settings = initial;
  let purgedAt = Number.NEGATIVE_INFINITY;
  let wakeAt = Number.POSITIVE_INFINITY;
  let wake = { cancel: (): void => {} };

  const inventory = createInventory(clock, initial.isFifo, {
    retentionMs: () => settings.retentionMs,
    buried(message) {
      const { redrive } = settings;
      return redrive !== undefined && message.receiveCount >= redrive.maxReceiveCount
        ? bury(message, redrive.deadLetterTargetArn)
        : false;
    },
  });

  function take({ max, visibilityMs, attemptId }: WaitRequest): readonly Message[] {
    const free = options.inFlightLimit - inventory.counts().inFlight;
    if (free <= 0) return [];
    const taken = inventory.lease(Math.min(max, free), visibilityMs);
    if (attemptId !== undefined && settings.isFifo && taken.length > 0) {
      const deliveries = taken.map((message) => ({
        message,
        receive: message.receiveCount,
        changes: message.changes,
      }));
      attempts.set(attemptId, { deliveries }, clock.now());
    }
    return taken;
  }

  function serve(): void {
    if (waiters.isEmpty()) return;
    waiters.serve(take);
    arm();
  }

  /** One timer, for the next message that becomes visible by itself, and only while somebody waits for it. */
  function arm(): void {
    const next = waiters.isEmpty() ? undefined : inventory.nextVisibleAt();
    if (next === wakeAt) return;
    wake.cancel();
    wakeAt = next ?? Number.POSITIVE_INFINITY;
    if (next === undefined) return;
    wake = clock.setTimer(next - clock.now(), () => {
      wakeAt = Number.POSITIVE_INFINITY;
      serve();
    });
  }

  /** What a receive with this attempt id got before, if it may be had again. */
  function repeated(attemptId: string | undefined, visibilityMs: number): readonly Message[] | undefined {
    if (attemptId === undefined || !settings.isFifo) return undefined;
    const attempt = attempts.get(attemptId, clock.now());
    if (attempt === undefined) return undefined;
    inventory.settleTime();
    for (const { message, receive, changes } of attempt.deliveries) {
      const isUntouched = message.receiveCount === receive && message.changes === changes;
      if (message.state !== "in-flight" || !isUntouched) return undefined;
    }
    const messages = attempt.deliveries.map(({ message }) => message);
    for (const message of messages) inventory.extend(message, visibilityMs);
    return messages;
  }

  /** The message of a handle, and whether the handle is of its latest receive. */
  function find(handle: string): { readonly message: Message | undefined; readonly isLatest: boolean } {
    const { number, receive } = handles.read(handle);
    inventory.settleTime();
    const message = inventory.get(number);
    return { message, isLatest: message?.receiveCount === receive };
  }

  function checkTotal(message: Message, seconds: number): void {
    const end = clock.now() + seconds * 1_000;
    if (end <= message.receivedAt + MAX_VISIBILITY_SECONDS * 1_000) return;
    throw invalidValue(
      seconds,
      "VisibilityTimeout",
      `Total VisibilityTimeout for the message is beyond the limit [${MAX_VISIBILITY_SECONDS} seconds]`,
    );
  }

  return {
    inventory,
    settings: () => settings,
    configure(changed) {
      settings = changed;
      serve();
    },
    send(contents) {
      for (const { content, delayMs } of contents) {
        inventory.add(content, { sentAt: clock.now() }, delayMs ?? settings.delayMs);
      }
      serve();
    },
    moveIn(content, origin) {
      inventory.add(content, origin, 0);
      serve();
    },
    receive(request) {
      const again = repeated(request.attemptId, request.visibilityMs);
      if (again !== undefined) return again;
      const isFull = inventory.counts().inFlight >= options.inFlightLimit;
      if (isFull && request.waitMs === 0 && !settings.isFifo) {
        throw new SqsError(
          "OverLimit",
          `Too many messages in flight: ${options.inFlightLimit} is the limit of this queue.`,
        );
      }
      const taken = take(request);
      if (taken.length > 0 || request.waitMs === 0) return taken;
      const waiting = waiters.wait(request);
      arm();
      return waiting;
    },
    handleOf: handles.of,
    remove(handle) {
      const { message, isLatest } = find(handle);
      if (message === undefined) return;
      if (settings.isFifo && !(isLatest && message.state === "in-flight")) {
        throw invalidValue(handle, "ReceiptHandle", "The receipt handle has expired.");
      }
      if (!isLatest && options.staleDelete === "ignored") return;
      inventory.remove(message);
      serve();
    },
    changeVisibility(handle, seconds) {
      const { message, isLatest } = find(handle);
      const isHeld = message?.state === "in-flight";
      if (message === undefined || (settings.isFifo && !(isHeld && isLatest))) {
        throw invalidValue(
          handle,
          "ReceiptHandle",
          "Message does not exist or is not available for visibility timeout change.",
        );
      }
      if (!(isHeld && isLatest) && options.staleChange === "not-in-flight") {
        throw new SqsError("MessageNotInflight", "The message referred to is not in flight.");
      }
      if (!isHeld) return;
      checkTotal(message, seconds);
      message.changes++;
      inventory.extend(message, seconds * 1_000);
      serve();
    },
    serve,
    purge() {
      const now = clock.now();
      if (now - purgedAt < PURGE_INTERVAL_MS) {
        throw new SqsError("PurgeQueueInProgress", "Only one PurgeQueue operation is allowed every 60 seconds.");
      }
      purgedAt = now;
      inventory.clear();
    },
    close() {
      wake.cancel();
      waiters.dismiss();
    },
  };
}
