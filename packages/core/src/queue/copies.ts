import type { Delivery } from "./driver.ts";

/**
 * A broker that cannot hold a message back replaces it by a delayed copy, whose own count begins anew. The copy carries the
 * deliveries before it in this attribute (or property), which its receiver does not see: the count just goes on.
 */
const COUNT = "deliverycount";

/** The attributes of the copy that replaces a delivery. */
export function copyAttributes(delivery: Delivery): Readonly<Record<string, string>> {
  const { attributes, deliveryCount } = delivery;
  return deliveryCount === undefined ? attributes : { ...attributes, [COUNT]: String(deliveryCount) };
}

/** The attributes as they were sent, and the deliveries before this copy: to be added to the broker's own count. */
export function readCopyAttributes(received: Readonly<Record<string, string>>): {
  readonly attributes: Readonly<Record<string, string>>;
  readonly carriedDeliveries: number;
} {
  const { [COUNT]: text, ...attributes } = received;
  return { attributes, carriedDeliveries: text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0 };
}
