import type { Properties } from "../broker/message.ts";
import type { Outcome } from "../broker/settlement.ts";
import type { ServicebusError } from "../errors.ts";
import { type Delivery, isTrue, messages, type Typed, types, writeDisposition } from "./rhea.ts";
import { propertiesIn } from "./sections.ts";

/** Places in the list of an outcome, and in that of an error. */
const MODIFIED = { undeliverableHere: 1, annotations: 2 } as const;
const REJECTED = { error: 0, info: 2 } as const;
/** What SDKs send as null when nobody gave it. */
const REASONS = ["DeadLetterReason", "DeadLetterErrorDescription"];

/** Calls of settlements, whether by disposition or by request. */
export const SETTLEMENT_CALLS: Readonly<Record<Outcome["kind"], string>> = {
  complete: "Complete",
  abandon: "Abandon",
  defer: "Defer",
  "dead-letter": "DeadLetter",
  release: "Release",
};

/** What a receiver's disposition means. Its properties keep the types that they have, which rhea's own reading loses. */
export function outcomeOf(event: "accepted" | "rejected" | "modified" | "released", remoteState: unknown): Outcome {
  if (event === "accepted") return { kind: "complete" };
  if (event === "released") return { kind: "release" };
  const fields = fieldsIn((remoteState as { readonly value?: unknown }).value);
  if (event === "rejected") {
    const info = propertiesIn(fieldsIn(fields[REJECTED.error]?.value)[REJECTED.info]);
    return { kind: "dead-letter", properties: withoutBlanks(info) };
  }
  const properties = propertiesIn(fields[MODIFIED.annotations]);
  return { kind: isTrue(fields[MODIFIED.undeliverableHere]?.value) ? "defer" : "abandon", properties };
}

/** Properties as plain values, for who looks at calls. */
export function plainProperties(properties: Properties = {}): Properties {
  return Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, types.unwrap(value)]));
}

function withoutBlanks(properties: Readonly<Record<string, Typed>>): Properties {
  const given = Object.entries(properties).filter(([key, { value }]) => value !== null || !REASONS.includes(key));
  return Object.fromEntries(given);
}

function fieldsIn(list: unknown): readonly (Typed | undefined)[] {
  return Array.isArray(list) ? list : [];
}

/** What the service says of a message that it stored, or that was completed. */
export function acceptDelivery(delivery: Delivery): void {
  delivery.update(true, messages.accepted().described());
  endForBoth(delivery);
}

/**
 * What the service says of a settlement that it applied: the same outcome again. The SDKs of Java and Python compare the two;
 * for all of them a rejection with an error is a failure, and one without is none.
 */
export function confirmSettlement(delivery: Delivery, { kind }: Outcome): void {
  if (kind === "complete") acceptDelivery(delivery);
  else if (kind === "release") say(delivery, messages.released());
  else if (kind === "dead-letter") say(delivery, messages.rejected({}));
  else say(delivery, messages.modified({ undeliverable_here: kind === "defer" }));
}

export function rejectDelivery(delivery: Delivery, { condition, message }: ServicebusError): void {
  // Python's SDK reads all three fields of an error.
  say(delivery, messages.rejected({ error: { condition, description: message, info: null } }));
}

/**
 * In a frame of its own: rhea writes what is said of neighbours in one turn as one, with the outcome of the first, and a
 * lock that is lost would look as if it were not.
 */
function say(delivery: Delivery, state: { described(): Typed }): void {
  if (!delivery.remote_settled) writeDisposition(delivery, state.described());
  delivery.settled = true;
  endForBoth(delivery);
}

/** A receiver that settles second does not answer the answer. */
function endForBoth(delivery: Delivery): void {
  delivery.remote_settled = true;
  delivery.link.connection._register();
}
