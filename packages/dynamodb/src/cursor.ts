import { LeaseholdError } from "@leasehold/core/driver";

/** Where a page ended: the sort value and the key of its last entry. With the index and the partition, which the query names, that is a start key. */
export interface Place {
  readonly sort: string;
  readonly key: string;
}

/** Opaque text for a caller to hand back. */
export function cursorOf({ sort, key }: Place): string {
  return JSON.stringify([sort, key]);
}

/** Throws `InvalidArgument` for text that no page gave out. */
export function placeOf(cursor: string): Place {
  const value = parsed(cursor);
  if (Array.isArray(value) && value.length === 2) {
    const [sort, key] = value as unknown[];
    if (typeof sort === "string" && typeof key === "string") return { sort, key };
  }
  throw new LeaseholdError(
    "InvalidArgument",
    "cursor: got text that is no cursor, expected the cursor of an earlier page",
    {
      details: { field: "cursor" },
    },
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No JSON: no cursor of ours either.
    return undefined;
  }
}
