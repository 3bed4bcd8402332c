import {
  type Capabilities,
  checkBatch,
  checkReceive,
  type DeadLetters,
  deadLetterMarks,
  deadLetterOf,
  eachOrRefused,
  invalid,
  type Outcome,
  type SendOutcome,
  type SettleItem,
} from "@leasehold/core/driver";
import { type BatchTarget, deleteBatch, sendBatch } from "./batches.ts";
import { copyOf, type SendEntry, type SqsDelivery } from "./messages.ts";

export type DeadLetterItem = Extract<SettleItem, { readonly verb: "dead-letter" }>;

/** The two queues between which dead letters go, and what is known of them. */
export interface DeadLetterRoute {
  readonly main: BatchTarget;
  readonly dead: BatchTarget;
  readonly queue: string;
  readonly capabilities: Capabilities;
}

/**
 * There is no "dead-letter this now" (SQS-55): a copy with the reason is sent first, the message deleted second. A crash
 * between the two leaves both; the copy's id is the same the next time, so that a FIFO queue swallows the repeat. What
 * cannot be copied is not deleted: SQS itself moves it in the end, by its count.
 */
export async function buryBatch(route: DeadLetterRoute, items: readonly DeadLetterItem[]): Promise<readonly Outcome[]> {
  if (items.length === 0) return [];
  const copies = await sendCopies(route, items);
  return deleteCopied(route.main, items, copies, route.capabilities);
}

/** Deletes what was copied for certain; a copy that failed, or may have, is the outcome of the others. */
async function deleteCopied(
  target: BatchTarget,
  items: readonly { readonly delivery: SqsDelivery }[],
  copies: readonly SendOutcome[],
  { settleConfirmation: status }: Capabilities,
): Promise<readonly Outcome[]> {
  const copied = items.filter((_, index) => copies[index]?.status === "confirmed");
  const deleted = await deleteBatch(target, copied.map(tokenOf), { status });
  const outcomes = deleted.values();
  return copies.map((copy): Outcome => (copy.status === "confirmed" ? (outcomes.next().value as Outcome) : copy));
}

function tokenOf({ delivery }: { readonly delivery: SqsDelivery }): string {
  return delivery.token;
}

/** A copy that is refused is sent once more without the text of the reason. */
async function sendCopies(route: DeadLetterRoute, items: readonly DeadLetterItem[]): Promise<readonly SendOutcome[]> {
  const { ordering, deadLetterReasonBytes } = route.capabilities;
  const entryOf = ({ delivery, copyId, reason, fence }: DeadLetterItem, text: string): SendEntry => {
    const essential = deadLetterMarks({ ...reason, text: "" }, fence, deadLetterReasonBytes);
    const all = deadLetterMarks({ ...reason, text }, fence, deadLetterReasonBytes);
    return copyOf(delivery, copyId, ordering, { essential, all });
  };
  const sent = await sendBatch(
    route.dead,
    items.map((item) => entryOf(item, item.reason.text)),
  );
  const refused = items.filter((_, index) => isRefused(sent[index]));
  if (refused.length === 0) return sent;
  const again = await sendBatch(
    route.dead,
    refused.map((item) => entryOf(item, "")),
  );
  const outcomes = again.values();
  return sent.map((outcome) => (isRefused(outcome) ? (outcomes.next().value as SendOutcome) : outcome));
}

function isRefused(outcome: SendOutcome | undefined): boolean {
  return outcome?.status === "failed" && (outcome.code === "InvalidArgument" || outcome.code === "PayloadTooLarge");
}

/** A look at the dead-letter queue is a receive there; it counts as one, and the queue's lease is the look's (SQS-51). */
export function deadLettersOf(
  route: DeadLetterRoute,
  insistOpen: () => void,
  receive: (options: { readonly max: number; readonly leaseMs: number }) => Promise<readonly SqsDelivery[]>,
): DeadLetters {
  const { main, dead, queue, capabilities } = route;
  return {
    async look({ max, leaseMs }) {
      insistOpen();
      checkReceive({ max, leaseMs, waitMs: 0 }, capabilities);
      return (await receive({ max, leaseMs })).map(deadLetterOf);
    },
    async redrive(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return eachOrRefused(
        items,
        (letter) => refusedOrigin(letter.delivery, queue),
        async (letters) => {
          // The id is that of the letter, not of the message it was: a FIFO queue would swallow that one for five minutes (SQS-64).
          const copies = letters.map(({ delivery }) =>
            copyOf(delivery, `redriven.${delivery.messageId}`, capabilities.ordering, { essential: {}, all: {} }),
          );
          return deleteCopied(dead, letters, await sendBatch(main, copies), capabilities);
        },
      );
    },
    async purge(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return deleteBatch(dead, items.map(tokenOf), { status: capabilities.settleConfirmation });
    },
  };
}

/** Several queues may share a dead-letter queue. What SQS moved there says from where, and belongs nowhere else. */
function refusedOrigin({ deadLetterSourceArn }: SqsDelivery, queue: string): Outcome | undefined {
  const origin = deadLetterSourceArn?.split(":").at(-1);
  if (origin === undefined || origin === queue) return undefined;
  const error = invalid("items", `dead letters of ${queue}`, `one of ${origin}`);
  return { status: "failed", code: error.code, error };
}
