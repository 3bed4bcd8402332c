import { kindOf } from "../util/issues.ts";
import { refuse } from "./arguments.ts";
import type { ItemValue } from "./items.ts";

const MAX_DEPTH = 32;

/** Where a value stands, as a chain, so that a path is put into words only for an error. */
interface Place {
  readonly name: string | number;
  readonly within: Place | undefined;
  readonly depth: number;
}

/**
 * A frozen copy of a value that every database keeps as it is: members that are `undefined` are left out, lone surrogates become U+FFFD.
 * Throws `InvalidArgument` naming the path of anything that is no JSON value: NaN, infinities, `undefined` in a list, class instances.
 */
export function storable(value: unknown, name: string): ItemValue {
  return copy(value, name, undefined);
}

function copy(value: unknown, name: string | number, within: Place | undefined): ItemValue {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? value : value.toWellFormed();
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw refuse(pathOf(name, within), String(value), "a finite number");
    case "object":
      break;
    default:
      throw refuse(pathOf(name, within), kindOf(value), "a JSON value");
  }
  if (value === null) return null;
  const place: Place = { name, within, depth: within === undefined ? 0 : within.depth + 1 };
  if (place.depth > MAX_DEPTH)
    throw refuse(pathOf(name, within), `more than ${MAX_DEPTH} levels`, "a value with fewer");
  if (Array.isArray(value)) return Object.freeze(value.map((member, index) => copy(member, index, place)));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw refuse(pathOf(name, within), "an instance of a class", "a plain object");
  const members: Record<string, ItemValue> = {};
  for (const member of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[member];
    if (inner === undefined) continue;
    const copied = copy(inner, member, place);
    // An assignment to this name would set the prototype, and the member would be gone.
    if (member === "__proto__") Object.defineProperty(members, member, { value: copied, enumerable: true });
    else members[member] = copied;
  }
  return Object.freeze(members);
}

function pathOf(name: string | number, within: Place | undefined): string {
  if (within === undefined) return String(name);
  const before = pathOf(within.name, within.within);
  return typeof name === "number" ? `${before}[${name}]` : `${before}.${name}`;
}
