import {
  type Capabilities,
  checkBatch,
  checkReceive,
  type DeadLetters,
  deadLetterMarks,
  deadLetterOf,
  eachOrRefused,
  invalid,
  type LeaseholdError,
  type Outcome,
  type SendOutcome,
  type SettleItem,
} from "@leasehold/core/driver";
import { acknowledgeBatch, publishBatch, type SubscriptionTarget, type TopicTarget } from "./batches.ts";
import { failed } from "./errors.ts";
import {
  letterOf,
  type PublishEntry,
  type PubsubDelivery,
  redrivenOf,
  type SubscriptionName,
  sourceOf,
} from "./messages.ts";

export type DeadLetterItem = Extract<SettleItem, { readonly verb: "dead-letter" }>;

/** Where the dead letters of a subscription go. */
export interface DeadLetterRoute {
  readonly main: SubscriptionTarget;
  readonly dead: TopicTarget;
  readonly source: SubscriptionName;
  readonly capabilities: Capabilities;
}

/**
 * There is no "dead-letter this now" (PS-43): a copy with the reason is published first, the message acknowledged second. A crash
 * between the two leaves both. What cannot be copied is not acknowledged: Pub/Sub itself forwards it in the end, by its count.
 */
export async function buryBatch(route: DeadLetterRoute, items: readonly DeadLetterItem[]): Promise<readonly Outcome[]> {
  if (items.length === 0) return [];
  return acknowledgeCopied(route.main, items, await publishLetters(route, items));
}

/** Acknowledges what was copied for certain; a copy that failed, or may have, is the outcome of the others. */
async function acknowledgeCopied(
  target: SubscriptionTarget,
  items: readonly { readonly delivery: PubsubDelivery }[],
  copies: readonly SendOutcome[],
): Promise<readonly Outcome[]> {
  const copied = items.filter((_, index) => copies[index]?.status === "confirmed");
  const outcomes = (await acknowledgeBatch(target, copied.map(tokenOf))).values();
  return copies.map((copy): Outcome => (copy.status === "confirmed" ? (outcomes.next().value as Outcome) : copy));
}

function tokenOf({ delivery }: { readonly delivery: PubsubDelivery }): string {
  return delivery.token;
}

/**
 * A copy that is refused is published once more without the text of the reason, and by itself: one letter costs all in a request.
 * Once such a call brings no answer, or another error, the others are not tried: a thousand of them would outlast every lease.
 */
async function publishLetters(
  { dead, source, capabilities }: DeadLetterRoute,
  items: readonly DeadLetterItem[],
): Promise<readonly SendOutcome[]> {
  const { deadLetterReasonBytes } = capabilities;
  const entryOf = ({ delivery, reason, fence }: DeadLetterItem, text: string): PublishEntry => {
    const essential = deadLetterMarks({ ...reason, text: "" }, fence, deadLetterReasonBytes);
    const all = deadLetterMarks({ ...reason, text }, fence, deadLetterReasonBytes);
    return letterOf(delivery, source, { essential, all });
  };
  const outcomes = [
    ...(await publishBatch(
      dead,
      items.map((item) => entryOf(item, item.reason.text)),
    )),
  ];
  let broken: LeaseholdError | undefined;
  for (const [index, item] of items.entries()) {
    if (!isRefused(outcomes[index])) continue;
    if (broken !== undefined) {
      outcomes[index] = failed(broken);
      continue;
    }
    const [again] = await publishBatch(dead, [entryOf(item, "")]);
    if (again === undefined) continue;
    outcomes[index] = again;
    if (again.status !== "confirmed" && !isRefused(again)) broken = again.error;
  }
  return outcomes;
}

function isRefused(outcome: SendOutcome | undefined): boolean {
  return outcome?.status === "failed" && (outcome.code === "InvalidArgument" || outcome.code === "PayloadTooLarge");
}

/** Where dead letters are looked at, and where they are sent back to. */
export interface LetterBox {
  readonly letters: SubscriptionTarget;
  readonly main: TopicTarget;
  readonly source: SubscriptionName;
  readonly capabilities: Capabilities;
}

/** A look is a pull on a subscription of the dead-letter topic; the lease there is the look's. */
export function deadLettersOf(
  { letters, main, source, capabilities }: LetterBox,
  insistOpen: () => void,
  receive: (options: { readonly max: number; readonly leaseMs: number }) => Promise<readonly PubsubDelivery[]>,
): DeadLetters {
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
        (letter) => refusedOrigin(letter.delivery, source),
        async (own) => {
          const copies = own.map(({ delivery }) => redrivenOf(delivery));
          return acknowledgeCopied(letters, own, await publishBatch(main, copies));
        },
      );
    },
    async purge(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return acknowledgeBatch(letters, items.map(tokenOf));
    },
  };
}

const NUMBER = /^\d+$/;

/** Several subscriptions may share a dead-letter topic. A letter says where it came from, and belongs nowhere else. */
function refusedOrigin(delivery: PubsubDelivery, { project, subscription }: SubscriptionName): Outcome | undefined {
  const origin = sourceOf(delivery);
  if (origin === undefined) return undefined;
  // A project's number cannot be compared with its id.
  const isSameProject = origin.project === project || NUMBER.test(origin.project);
  if (origin.subscription === subscription && isSameProject) return undefined;
  return failed(invalid("items", `dead letters of ${subscription}`, `one of ${origin.subscription}`));
}
