import assert from "node:assert/strict";
import {
  type Delivery,
  type ErrorCode,
  isLeaseholdError,
  type Outcome,
  type OutgoingMessage,
  type QueueDriver,
  type SendOutcome,
  type SettleItem,
} from "@leasehold/core/driver";
import type { Ability, QueueHarness } from "./harness.ts";

/** The longest that a case waits for a message which must come, beyond the target's tolerance. */
const PATIENCE_MS = 2_000;
/** Polls for one batch: a broker may hand out less than there is. */
const MAX_POLLS = 50;
/** More than any case leaves behind. */
const MAX_DRAINED = 100;

export function message(id: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { id, body: JSON.stringify({ id }), contentType: "application/json", ...more };
}

/** Sends one by one or together, and insists that all are taken. */
export async function send(driver: QueueDriver, ...messages: readonly OutgoingMessage[]): Promise<void> {
  for (const outcome of await driver.send(messages)) assert.equal(outcome.status, "confirmed", codeIn(outcome));
}

export interface Wanted {
  readonly count?: number;
  /** Default: the shortest lease that the target keeps. */
  readonly leaseMs?: number;
  /** It may take this long until they can be seen, ms. */
  readonly withinMs?: number;
}

/** Receives exactly `count` messages (default 1), which must be there or come soon. */
export async function receive(harness: QueueHarness, driver: QueueDriver, wanted: Wanted = {}): Promise<Delivery[]> {
  const { count = 1, leaseMs = harness.minLeaseMs, withinMs = PATIENCE_MS } = wanted;
  const deliveries: Delivery[] = [];
  for (let poll = 0; deliveries.length < count && poll < MAX_POLLS; poll++) {
    const max = Math.min(count - deliveries.length, driver.capabilities.maxBatch);
    const waitMs = withinMs + harness.toleranceMs;
    const more = await harness.until(driver.receive({ max, waitMs, leaseMs }));
    assert.ok(more.length <= max, `asked for ${max} at most, got ${more.length}`);
    if (more.length === 0) break;
    deliveries.push(...more);
  }
  assert.equal(deliveries.length, count, `expected ${count} deliveries, got ${deliveries.length}`);
  return deliveries;
}

export async function receiveOne(harness: QueueHarness, driver: QueueDriver, leaseMs?: number): Promise<Delivery> {
  const [delivery] = await receive(harness, driver, leaseMs === undefined ? {} : { leaseMs });
  return delivery as Delivery;
}

/** Nothing can be received for `forMs` (default: a quarter of the shortest lease). */
export async function expectNothing(
  harness: QueueHarness,
  driver: QueueDriver,
  forMs = harness.minLeaseMs / 4,
): Promise<void> {
  const waitMs = Math.floor(forMs);
  const deliveries = await harness.until(driver.receive({ max: 1, waitMs, leaseMs: harness.minLeaseMs }));
  assert.deepEqual(
    deliveries.map((delivery) => delivery.body),
    [],
    "nothing should be visible",
  );
}

/** Lets a lease, or a delay, of this length end for certain. */
export function pass(harness: QueueHarness, ms: number): Promise<void> {
  return harness.wait(ms + harness.toleranceMs);
}

export async function settle(driver: QueueDriver, ...items: readonly SettleItem[]): Promise<readonly Outcome[]> {
  const outcomes = await driver.settle(items);
  assert.equal(outcomes.length, items.length, "one outcome for each item");
  return outcomes;
}

/** Completes deliveries that are held, and insists that the broker takes it. */
export async function complete(driver: QueueDriver, ...deliveries: readonly Delivery[]): Promise<void> {
  const outcomes = await settle(driver, ...deliveries.map((delivery) => ({ verb: "complete", delivery }) as const));
  for (const outcome of outcomes) expectApplied(driver, outcome);
}

export const abandon = (delivery: Delivery, delayMs: number): SettleItem => {
  return { verb: "abandon", delivery, delayMs, copyId: `copy.${delivery.messageId}` };
};

export const deadLetter = (delivery: Delivery, code: string, text: string, fence?: number): SettleItem => {
  const copyId = `copy.${delivery.messageId}`;
  return { verb: "dead-letter", delivery, reason: { code, text }, copyId, ...(fence !== undefined && { fence }) };
};

/** An answer about a delivery that is held: as sure as the broker says that it can be. */
export function expectApplied(driver: QueueDriver, outcome: Outcome | undefined): void {
  assert.equal(outcome?.status, driver.capabilities.settleConfirmation, codeIn(outcome));
}

/** The broker holds it on; without proof where the broker gives none. */
export function expectExtended(outcome: Outcome | undefined): void {
  assert.match(outcome?.status ?? "no outcome", /^(confirmed|unconfirmed)$/, codeIn(outcome));
}

/** An answer about a delivery that is no longer held: brokers differ, but it is no failure. */
export function expectNoFailure(outcome: Outcome | undefined): void {
  assert.notEqual(outcome, undefined);
  assert.notEqual(outcome?.status, "failed", codeIn(outcome));
}

function codeIn(outcome: Outcome | SendOutcome | undefined): string {
  if (outcome === undefined) return "no outcome";
  return "error" in outcome ? `${outcome.status}: ${outcome.error?.message}` : outcome.status;
}

/** Completes whatever can be seen, now and once every lease has ended. Answers how many there were. */
export async function drain(harness: QueueHarness, driver: QueueDriver): Promise<number> {
  let drained = 0;
  for (const waitMs of [0, harness.minLeaseMs]) {
    await pass(harness, waitMs);
    for (;;) {
      const deliveries = await driver.receive({ max: 1, waitMs: 0, leaseMs: harness.minLeaseMs });
      if (deliveries.length === 0) break;
      drained += deliveries.length;
      assert.ok(drained < MAX_DRAINED, "completed messages come again and again");
      await complete(driver, ...deliveries);
    }
  }
  return drained;
}

/** How a call was refused: by throwing, or in the outcome of its only item. */
export async function refusalOf(call: Promise<unknown>): Promise<ErrorCode | undefined> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (error) {
    assert.ok(isLeaseholdError(error), `expected an error of leasehold, got ${String(error)}`);
    return error.code;
  }
  const outcomes = answer as readonly (Outcome | SendOutcome)[];
  assert.equal(outcomes.length, 1);
  const [outcome] = outcomes;
  return outcome !== undefined && "error" in outcome ? outcome.error?.code : undefined;
}

/** Why a case cannot run on this target: a declared difference. */
export function unlessAble(...abilities: readonly Ability[]): (harness: QueueHarness) => string | undefined {
  return (harness) => abilities.map((ability) => harness.cannot[ability]).find((reason) => reason !== undefined);
}

/** Every verb of the driver with an item that would be fine on a good day. */
export function everyVerb(driver: QueueDriver, leaseMs: number): Readonly<Record<string, () => Promise<unknown>>> {
  const delivery: Delivery = { token: "none", messageId: "none", body: "{}", attributes: {}, leaseMs };
  return {
    send: () => driver.send([message("one")]),
    receive: () => driver.receive({ max: 1, waitMs: 0, leaseMs }),
    extend: () => driver.extend([{ delivery, leaseMs }]),
    settle: () => driver.settle([{ verb: "complete", delivery }]),
  };
}
