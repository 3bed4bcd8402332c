import type { Outcome, SettleItem } from "./driver.ts";

/** What adapters do with the items of a batch, the same on every broker. */

/** Answers each item that is refused beforehand, and makes one call for the others. */
export async function eachOrRefused<T, O>(
  items: readonly T[],
  refused: (item: T) => O | undefined,
  call: (items: readonly T[]) => Promise<readonly O[]>,
): Promise<readonly O[]> {
  const refusals = items.map(refused);
  const rest = items.filter((_, index) => refusals[index] === undefined);
  const answers = (rest.length === 0 ? [] : await call(rest)).values();
  return refusals.map((refusal) => refusal ?? (answers.next().value as O));
}

/** Consecutive items that one call may carry together. An item that is too large by itself goes alone, for the broker to refuse. */
export function chunksOf<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  maxBytes: number,
): readonly (readonly T[])[] {
  const chunks: T[][] = [];
  let room = 0;
  for (const item of items) {
    const bytes = sizeOf(item);
    const last = chunks.at(-1);
    if (last === undefined || bytes > room) {
      chunks.push([item]);
      room = maxBytes - bytes;
    } else {
      last.push(item);
      room -= bytes;
    }
  }
  return chunks;
}

type Verb = SettleItem["verb"];
type OfVerb<V extends Verb> = Extract<SettleItem, { readonly verb: V }>;

/** Settles what one batch has of each verb side by side, and answers in the order of the batch. */
export async function settleByVerb(
  items: readonly SettleItem[],
  verbs: { readonly [V in Verb]: (items: readonly OfVerb<V>[]) => Promise<readonly Outcome[]> },
): Promise<readonly Outcome[]> {
  const [completed, abandoned, buried] = await Promise.all([
    verbs.complete(items.filter((item) => item.verb === "complete")),
    verbs.abandon(items.filter((item) => item.verb === "abandon")),
    verbs["dead-letter"](items.filter((item) => item.verb === "dead-letter")),
  ]);
  const outcomes = {
    complete: completed.values(),
    abandon: abandoned.values(),
    "dead-letter": buried.values(),
  } as const;
  return items.map((item) => outcomes[item.verb].next().value as Outcome);
}
