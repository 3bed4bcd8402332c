import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { type Item, type ItemValue, LeaseholdError, storable } from "@leasehold/core/driver";
import { KEY_FIELD } from "./table-shape.ts";

/**
 * Items as DynamoDB holds them. Written by hand: the marshaller of the SDK stumbles over maps with a key named `constructor`,
 * refuses numbers above 2^53 and reads them back as BigInt (DDB-11), and an effect's name or a claim may be any of that.
 */

/** One value. `field` names it in the error (`InvalidArgument`) for what is no JSON value. */
export function toAttribute(value: ItemValue, field = "value"): AttributeValue {
  return attributeFrom(storable(value, field));
}

/** All fields of an item, and its key. */
export function toAttributes(key: string, item: Item): Record<string, AttributeValue> {
  if (Object.hasOwn(item, KEY_FIELD)) {
    throw new LeaseholdError(
      "InvalidArgument",
      `item ${key}: field ${KEY_FIELD} holds the item's key; choose another name`,
    );
  }
  const fields = Object.entries(item).map(([field, value]) => [field, toAttribute(value, field)] as const);
  return { ...Object.fromEntries(fields), [KEY_FIELD]: { S: key } };
}

/** The item without its key. Throws `Unknown` naming the field that holds a set or bytes, which leasehold never writes. */
export function fromAttributes(attributes: Readonly<Record<string, AttributeValue>>): Item {
  const fields = Object.entries(attributes).filter(([field]) => field !== KEY_FIELD);
  return Object.fromEntries(fields.map(([field, attribute]) => [field, itemValueOf(attribute, field)]));
}

/** The text of a key field. */
export function textOf(attribute: AttributeValue | undefined): string {
  return attribute?.S ?? "";
}

function attributeFrom(value: ItemValue): AttributeValue {
  if (value === null) return { NULL: true };
  if (typeof value === "string") return { S: value };
  if (typeof value === "number") return { N: String(value) };
  if (typeof value === "boolean") return { BOOL: value };
  if (isList(value)) return { L: value.map(attributeFrom) };
  return { M: Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, attributeFrom(inner)])) };
}

/** `Array.isArray` does not recognise lists that are read-only. */
function isList(value: ItemValue): value is readonly ItemValue[] {
  return Array.isArray(value);
}

function itemValueOf(attribute: AttributeValue, field: string): ItemValue {
  if (attribute.S !== undefined) return attribute.S;
  if (attribute.N !== undefined) return Number(attribute.N);
  if (attribute.BOOL !== undefined) return attribute.BOOL;
  if (attribute.NULL !== undefined) return null;
  if (attribute.L !== undefined) return attribute.L.map((inner) => itemValueOf(inner, field));
  if (attribute.M !== undefined) {
    return Object.fromEntries(
      Object.entries(attribute.M).map(([member, inner]) => [member, itemValueOf(inner, field)]),
    );
  }
  const [type = "no type"] = Object.keys(attribute);
  throw new LeaseholdError(
    "Unknown",
    `field ${field}: got a value of type ${type}, expected text, number, boolean, null, list or map`,
    {
      details: { field },
    },
  );
}
