import type { Clock, Timer } from "../clock.ts";
import { readCopyAttributes } from "../queue/copies.ts";
import type { Delivery } from "../queue/driver.ts";
import { createInventory, type QueueCounts } from "./inventory.ts";
import type { Content, Message } from "./message.ts";
import type { QueueSettings } from "./settings.ts";
import { createWaiters, type TakeRequest, type WaitRequest } from "./waiters.ts";

/** What became of a call about one delivery. `lost` is what an honest broker says of a token that is not held; a lying one says `applied`. */
export type Verdict = "applied" | "lost" | "malformed";

/** One queue inside the memory broker: what a cloud has behind its wire. Each call is one step and nothing fails by chance. */
export interface BrokerQueue {
  /** Puts messages in, in order. Answers their broker ids; that of the first one for a repeat that was swallowed. */
  send(entries: readonly Entry[]): readonly string[];
  /** Hands out what there is, unless somebody waits for it already. `full`: as many are leased as may be. */
  take(request: TakeRequest): readonly Delivery[] | "full";
  /** Gets in line for what `take` did not find. */
  wait(request: WaitRequest): Promise<readonly Delivery[]>;
  extend(token: string, leaseMs: number): Verdict;
  complete(token: string): Verdict;
  /** Gives back, to be seen after `delayMs`. */
  abandon(token: string, delayMs: number): Verdict;
  /** Moves to the dead letters in one step, with `marks` added to the attributes. */
  deadLetter(token: string, marks: Readonly<Record<string, string>>): Verdict;
  counts(): QueueCounts;
  /** Ends waiting receives with this error. */
  dismiss(error: unknown): void;
  /** What the broker may do by itself, for tests and simulation. */
  readonly acts: BrokerActs;
}

export interface Entry {
  readonly content: Content;
  readonly delayMs: number;
}

/** What a broker may do to a message without being asked. Each names it by broker id, and is false when there is none. */
export interface BrokerActs {
  /** The lease, or the delay, ends now (SB-05). */
  expire(messageId: string): boolean;
  /** It is delivered once more, whatever becomes of the first: two tokens, one message id. */
  duplicate(messageId: string): boolean;
  /** It vanishes. */
  lose(messageId: string): boolean;
  /** It goes to the dead letters by the broker's own count, without a word to its holder. */
  deadLetterByCount(messageId: string): boolean;
  /** Broker ids of everything that is there, by order of sending. */
  messageIds(): readonly string[];
}

const NOTHING: readonly Delivery[] = [];
/** After the queue's name: number of the message, number of its delivery. */
const TOKEN = /^(\d+)\.\d+$/;

/** `bury` takes the content of what is dead-lettered, with what was added to its attributes. */
export function createBrokerQueue(
  name: string,
  settings: QueueSettings,
  clock: Clock,
  bury: (content: Content, marks: Readonly<Record<string, string>>) => void,
): BrokerQueue {
  const { maxDeliveries, retentionMs, ordering, fixedLeaseMs, totalLeaseMs = Number.POSITIVE_INFINITY } = settings;
  const deadLetterByCount = (content: Content): void =>
    bury(content, {
      deadletterreason: "max_deliveries",
      deadletterdescription: "delivered as often as the queue allows",
    });
  const inventory = createInventory({ name, clock, maxDeliveries, retentionMs, ordering, deadLetterByCount });
  const waiters = createWaiters<readonly Delivery[]>(clock, NOTHING, serve);
  const firstIds = createFirstIds(clock, settings.duplicateWindowMs);
  const tokenPrefix = `${name}#`;
  let wake: { readonly at: number; readonly timer: Timer } | undefined;

  const leaseLimit = (leaseMs: number): number => Math.min(fixedLeaseMs ?? leaseMs, totalLeaseMs);
  const room = (): number => (settings.maxInFlight ?? Number.POSITIVE_INFINITY) - inventory.counts().leased;

  function hand(request: TakeRequest): readonly Delivery[] | undefined {
    const leaseMs = leaseLimit(request.leaseMs);
    const messages = inventory.lease(Math.min(request.max, room()), leaseMs);
    return messages.length === 0
      ? undefined
      : messages.map((message) => deliveryOf(message, leaseMs, settings.countsDeliveries));
  }

  /** Hands what can be seen to those who wait, and sees to it that the next lease or delay to end is noticed in time. */
  function serve(): void {
    if (waiters.size() > 0) waiters.serve(hand);
    const at = waiters.size() > 0 ? inventory.nextDueAt() : undefined;
    if (at === wake?.at) return;
    wake?.timer.cancel();
    wake = at === undefined ? undefined : { at, timer: clock.setTimer(at - clock.monotonic(), onWake) };
  }

  function onWake(): void {
    wake = undefined;
    inventory.catchUp();
    serve();
  }

  /** The message of a token, and whether the token still holds it. */
  function find(token: string): { readonly held: boolean; readonly message: Message | undefined } | undefined {
    inventory.catchUp();
    const [, seq] = (token.startsWith(tokenPrefix) && TOKEN.exec(token.slice(tokenPrefix.length))) || [];
    if (seq === undefined) return undefined;
    const message = inventory.bySeq(Number(seq));
    return { held: message?.state === "leased" && message.token === token, message };
  }

  /** Applies a step under the rule for tokens that are not held: who may still do it, and what is said to who may not. */
  function judge(
    token: string,
    stale: { readonly rule: "lost" | "ignored" | "succeeds" | "revives"; readonly ifGone: Verdict },
    step: (message: Message) => void,
  ): Verdict {
    const found = find(token);
    let verdict: Verdict = "applied";
    if (found === undefined) verdict = "malformed";
    else if (!found.held && stale.rule === "lost") verdict = "lost";
    else if (!found.held && stale.rule === "ignored") verdict = "applied";
    else if (found.message === undefined) verdict = stale.ifGone;
    else step(found.message);
    serve();
    return verdict;
  }

  // A second delete of one message is fine (SQS-11), a change of its visibility is not.
  const staleComplete = { rule: settings.staleComplete, ifGone: "applied" } as const;
  const staleExtend = { rule: settings.staleExtend, ifGone: "lost" } as const;

  /** The end of a hold of `ms` from now, which the total ceiling cuts. */
  const holdEnd = (message: Message, ms: number): number =>
    Math.min(clock.monotonic() + ms, message.receivedAt + totalLeaseMs);

  function act(messageId: string, step: (message: Message) => void): boolean {
    inventory.catchUp();
    const message = inventory.all().find((one) => one.messageId === messageId);
    if (message !== undefined) step(message);
    serve();
    return message !== undefined;
  }

  return {
    send(entries) {
      inventory.catchUp();
      const ids = entries.map(({ content, delayMs }) =>
        firstIds.of(content.id, () => inventory.add(content, delayMs).messageId),
      );
      serve();
      return ids;
    },
    take(request) {
      inventory.catchUp();
      serve();
      if (room() <= 0) return "full";
      return (waiters.size() > 0 ? undefined : hand(request)) ?? NOTHING;
    },
    wait(request) {
      const waiting = waiters.wait(request);
      serve();
      return waiting;
    },
    extend: (token, leaseMs) =>
      judge(token, staleExtend, (message) =>
        inventory.holdUntil(message, "leased", holdEnd(message, fixedLeaseMs ?? leaseMs)),
      ),
    complete: (token) => judge(token, staleComplete, inventory.remove),
    abandon: (token, delayMs) =>
      judge(token, staleExtend, (message) => {
        if (delayMs > 0) inventory.holdUntil(message, "delayed", holdEnd(message, delayMs));
        else if (message.state !== "ready") inventory.release(message);
      }),
    deadLetter: (token, marks) =>
      judge(token, staleComplete, (message) => {
        inventory.remove(message);
        bury(message.content, marks);
      }),
    counts() {
      inventory.catchUp();
      return inventory.counts();
    },
    dismiss(error) {
      waiters.dismiss(error);
      serve();
    },
    acts: {
      expire: (messageId) =>
        act(messageId, (message) => {
          if (message.state !== "ready") inventory.release(message);
        }),
      duplicate: (messageId) => act(messageId, inventory.addTwin),
      lose: (messageId) => act(messageId, inventory.remove),
      deadLetterByCount: (messageId) =>
        act(messageId, (message) => {
          inventory.remove(message);
          deadLetterByCount(message.content);
        }),
      messageIds: () => inventory.all().map((message) => message.messageId),
    },
  };
}

/** Duplicate detection: remembers each sender's id for a while, also after its message is gone (SQS-64). */
function createFirstIds(clock: Clock, windowMs: number | undefined): { of(id: string, add: () => string): string } {
  const seen = new Map<string, { readonly messageId: string; readonly until: number }>();
  if (windowMs === undefined) return { of: (_id, add) => add() };
  return {
    of(id, add) {
      const now = clock.monotonic();
      // A map keeps the order of insertion, and every entry lives equally long: the old ones are in front.
      for (const [old, { until }] of seen) {
        if (until > now) break;
        seen.delete(old);
      }
      const first = seen.get(id);
      if (first !== undefined) return first.messageId;
      const messageId = add();
      seen.set(id, { messageId, until: now + windowMs });
      return messageId;
    },
  };
}

function deliveryOf(message: Message, leaseMs: number, counts: boolean): Delivery {
  const { body, contentType, orderingKey } = message.content;
  const { attributes, carriedDeliveries } = readCopyAttributes(message.content.attributes);
  const delivery = {
    token: message.token,
    messageId: message.messageId,
    body,
    contentType,
    attributes,
    leaseMs,
    sentAt: message.sentAt,
  };
  return {
    ...delivery,
    ...(counts && { deliveryCount: carriedDeliveries + message.deliveries }),
    ...(orderingKey !== undefined && { orderingKey }),
  };
}
