import type { Attributes } from "@opentelemetry/api";
import type { AttributeName } from "./attributes.ts";

/** What stands for every value above {@link MAX_VALUES}: the word that the conventions have for it. */
export const OTHER = "_OTHER";

/**
 * Distinct values that one attribute keeps below one parent. Task types and error classes can come from outside (a foreign
 * message, a user's class): a flood of them must cost neither memory here nor time series there.
 */
export const MAX_VALUES = 200;

/** Ready-made attributes, and the way to those with one attribute more: the hot path allocates nothing. */
export interface Series {
  readonly attributes: Attributes;
  /** These attributes and one more. The same object for the same pair; {@link OTHER} once there are {@link MAX_VALUES}. */
  with(name: AttributeName, value: string): Series;
}

export function createSeries(attributes: Attributes = {}): Series {
  const children = new Map<AttributeName, Map<string, Series>>();
  return {
    attributes,
    with(name, value) {
      let values = children.get(name);
      if (values === undefined) {
        values = new Map();
        children.set(name, values);
      }
      const known = values.get(value);
      if (known !== undefined) return known;
      const kept = values.size < MAX_VALUES ? value : OTHER;
      let child = values.get(kept);
      if (child === undefined) {
        child = createSeries({ ...attributes, [name]: kept });
        values.set(kept, child);
      }
      return child;
    },
  };
}
