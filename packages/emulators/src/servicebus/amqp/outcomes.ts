import type { Properties } from "../broker/message.ts";
import type { Outcome } from "../broker/settlement.ts";
import type { ServicebusError } from "../errors.ts";
import { isMap } from "./fields.ts";
import { type Delivery, messages, writeDisposition } from "./rhea.ts";

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
  return { kind: state.undeliverable_here === true ? "defer" : "abandon", properties };
}

/** SDKs send the reason and the description that nobody gave as nulls. */
function withoutBlanks(properties: Properties): Properties {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== null));
}

function propertiesOf(map: unknown): Properties {
  return isMap(map) ? map : {};
}

/** The service says so of every settlement that it applies, and of every message that it stores. */
export function acceptDelivery(delivery: Delivery): void {
  delivery.update(true, messages.accepted().described());
  endForBoth(delivery);
}

/**
 * In a frame of its own: rhea writes what is said of neighbours in one turn as one, with the outcome of the first, and a
 * lock that is lost would look as if it were not.
 */
export function rejectDelivery(delivery: Delivery, { condition, message }: ServicebusError): void {
  if (!delivery.remote_settled) {
    writeDisposition(delivery, messages.rejected({ error: { condition, description: message } }).described());
  }
  delivery.settled = true;
  endForBoth(delivery);
}

/** A receiver that settles second does not answer the answer. */
function endForBoth(delivery: Delivery): void {
  delivery.remote_settled = true;
  delivery.link.connection._register();
}
