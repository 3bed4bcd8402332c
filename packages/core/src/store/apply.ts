import { LeaseholdError } from "../errors.ts";
import { compareText } from "../util/compare-text.ts";
import type { Condition, FieldPath, Item, ItemUpdate, ItemValue } from "./items.ts";

/**
 * What conditions and updates mean, as pure functions: the memory items are made of them, and the task store computes from
 * them what a record looks like after a write that answered the item before it.
 */

/** Does the condition hold on this item? A missing item has no fields. */
export function evaluateCondition(condition: Condition, item: Item | undefined): boolean {
  if ("all" in condition) {
    for (const part of condition.all) if (!evaluateCondition(part, item)) return false;
    return true;
  }
  if ("any" in condition) {
    for (const part of condition.any) if (evaluateCondition(part, item)) return true;
    return false;
  }
  if ("exists" in condition) return valueAt(item, condition.exists) !== undefined;
  if ("absent" in condition) return valueAt(item, condition.absent) === undefined;
  const order = compare(valueAt(item, condition.field), condition.value);
  if (order === undefined) return false;
  switch (condition.is) {
    case "=":
      return order === 0;
    case "<>":
      return order !== 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
  }
}

/** The item after the update. `item` itself is not changed; values that the update does not name are shared with it. */
export function applyUpdate(item: Item | undefined, update: ItemUpdate): Item {
  const { set, remove, increment } = update;
  const drops = item !== undefined && remove?.some((field) => Object.hasOwn(item, field)) === true;
  const next: Record<string, ItemValue> = drops ? copyWithout(item, remove, set) : { ...item, ...set };
  if (remove !== undefined && set !== undefined) {
    for (const field of remove) if (Object.hasOwn(set, field)) throw twice(field);
  }
  if (increment !== undefined) {
    for (const field of Object.keys(increment)) {
      if (set !== undefined && Object.hasOwn(set, field)) throw twice(field);
      if (remove?.includes(field) === true) throw twice(field);
      const before = item !== undefined && Object.hasOwn(item, field) ? item[field] : 0;
      if (typeof before !== "number") {
        throw new LeaseholdError("InvalidArgument", `update: field ${field}: cannot add to what is no number`);
      }
      next[field] = before + (increment[field] as number);
    }
  }
  return next;
}

/** In one pass: to delete fields from a copy costs twice as much. */
function copyWithout(item: Item, remove: readonly string[], set: ItemUpdate["set"]): Record<string, ItemValue> {
  const copy: Record<string, ItemValue> = {};
  for (const field in item) if (!remove.includes(field)) copy[field] = item[field] as ItemValue;
  for (const field in set) copy[field] = set[field] as ItemValue;
  return copy;
}

function twice(field: string): LeaseholdError {
  return new LeaseholdError(
    "InvalidArgument",
    `update: field ${field} is named twice; a field can be set, removed or incremented, one of them`,
  );
}

function valueAt(item: Item | undefined, path: FieldPath): ItemValue | undefined {
  if (item === undefined) return undefined;
  if (typeof path === "string") return own(item, path);
  let value: ItemValue | undefined = item;
  for (const part of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    value = own(value as Item, part);
  }
  return value;
}

function own(item: Item, field: string): ItemValue | undefined {
  return Object.hasOwn(item, field) ? item[field] : undefined;
}

/** Below, at or above zero; `undefined` when the two cannot be compared. */
function compare(left: ItemValue | undefined, right: string | number | boolean): number | undefined {
  if (typeof left === "string" && typeof right === "string") return compareText(left, right);
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right);
  return undefined;
}
