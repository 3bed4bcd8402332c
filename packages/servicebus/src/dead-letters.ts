import {
  type Capabilities,
  checkBatch,
  checkReceive,
  type DeadLetterReason,
  type DeadLetters,
  deadLetterMarks,
  deadLetterOf,
  type Outcome,
  printableReason,
} from "@leasehold/core/driver";
import { eachByKey, type Sender, sendBatch } from "./batches.ts";
import type { Arrival } from "./messages.ts";
import { letterOf, redrivenOf, type ServicebusDelivery } from "./messages.ts";
import { COMPLETE, type Settle, type Settling } from "./settling.ts";
import type { Streams } from "./streams.ts";

/** The sub-queue of dead letters, and the queue that they came from. */
export interface DeadLetterRoute {
  readonly streams: Streams;
  readonly settling: Settling;
  readonly sender: Sender;
  readonly capabilities: Capabilities;
  /** Aborts when the driver is closed. */
  readonly signal: AbortSignal;
  readonly leftMs: (arrival: Arrival) => number;
}

/** Time for an answer over any network: what is there is answered at once. */
const LOOK_MS = 1_000;

/**
 * Dead-letters natively, which is a settle (SB-36). The fence goes along as a property, so that a letter that was moved back by
 * hand is known again; code and text are the service's own reason and description.
 */
export function buriedBy(reason: DeadLetterReason, fence: number | undefined, maxBytes: number): Settle {
  const { code, text } = printableReason(reason, maxBytes);
  const { deadletterfence } = deadLetterMarks({ code, text: "" }, fence, maxBytes);
  const marks = {
    deadLetterReason: code,
    deadLetterErrorDescription: text,
    ...(deadletterfence !== undefined && { deadletterfence }),
  };
  return {
    doing: "dead-lettering",
    outcome: "other",
    isEnd: true,
    by: (receiver, message) => receiver.deadLetterMessage(message, marks),
  };
}

/** Letters are looked at in the sub-queue `$DeadLetterQueue`, under locks as long as those of the queue itself (SB-37). */
export function deadLettersOf(route: DeadLetterRoute, insistOpen: () => void): DeadLetters {
  const { streams, settling, sender, capabilities, signal, leftMs } = route;
  const remove = (delivery: ServicebusDelivery): Promise<Outcome> => settling.settle(delivery, COMPLETE);

  return {
    async look({ max, leaseMs }) {
      insistOpen();
      checkReceive({ max, leaseMs, waitMs: 0 }, capabilities);
      const arrivals = await streams.receive({ max, waitMs: LOOK_MS, signal });
      insistOpen();
      return arrivals.map((one) => deadLetterOf(letterOf(one, leftMs(one), capabilities.deadLetterReasonBytes)));
    },
    async redrive(items) {
      insistOpen();
      checkBatch(items, capabilities);
      // The id is that of the letter, not of the message it was: duplicate detection would swallow that one (SB-34).
      const copies = await sendBatch(
        sender,
        items.map(({ delivery }) => redrivenOf(delivery, capabilities.ordering)),
      );
      return Promise.all(
        items.map(({ delivery }, index): Outcome | Promise<Outcome> => {
          const copy = copies[index];
          return copy === undefined || copy.status === "confirmed" ? remove(delivery) : copy;
        }),
      );
    },
    async purge(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return eachByKey(
        items,
        ({ delivery }) => delivery.token,
        ({ delivery }) => remove(delivery),
      );
    },
  };
}
