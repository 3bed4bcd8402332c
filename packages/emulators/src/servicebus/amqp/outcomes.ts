import type { Properties } from "../broker/message.ts";
import type { Outcome } from "../broker/settlement.ts";
import type { ServicebusError } from "../errors.ts";
import { isMap } from "./fields.ts";
import { type Delivery, isTrue, messages, type Typed, writeDisposition } from "./rhea.ts";

/** How the parts of an outcome look once rhea has read them. */
interface RemoteState {
  readonly undeliverable_here?: unknown;
  readonly message_annotations?: unknown;
  readonly error?: { readonly info?: unknown };
}

/** Calls of settlements, whether by disposition or by request. */
export const SETTLEMENT_CALLS: Readonly<Record<Outcome["kind"], string>> = {
  complete: "Complete",
  abandon: "Abandon",
  defer: "Defer",
  "dead-letter": "DeadLetter",
  release: "Release",
};

/** What a receiver's disposition means. */
export function outcomeOf(event: "accepted" | "rejected" | "modified" | "released", remoteState: unknown): Outcome {
  if (event === "accepted") return { kind: "complete" };
  if (event === "released") return { kind: "release" };
  const state = remoteState as RemoteState;
  if (event === "rejected") return { kind: "dead-letter", properties: withoutBlanks(propertiesOf(state.error?.info)) };
  const properties = propertiesOf(state.message_annotations);
  return { kind: isTrue(state.undeliverable_here) ? "defer" : "abandon", properties };
}

/** SDKs send the reason and the description that nobody gave as nulls. */
function withoutBlanks(properties: Properties): Properties {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== null));
}

function propertiesOf(map: unknown): Properties {
  return isMap(map) ? map : {};
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
