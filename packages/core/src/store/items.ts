/**
 * The narrow port under the task store: single items, conditional writes, three sparse indexes. A database adapter
 * implements this and nothing else; every rule of the lease is written once above it, in the task store.
 *
 * There is no write without a condition: the type does not allow one.
 */

/** What an item's field can hold. `undefined` never reaches an item. */
export type ItemValue =
  | string
  | number
  | boolean
  | null
  | readonly ItemValue[]
  | { readonly [field: string]: ItemValue };
export type Item = Readonly<Record<string, ItemValue>>;

/** A field, or a path of map keys. Path parts are used as they are: a dot in one is no separator. */
export type FieldPath = string | readonly [string, ...string[]];

/**
 * A condition on the item as it is. A missing item has no fields. Comparisons with a missing field, or between values
 * of different types, are false. Text is compared by UTF-8 bytes.
 */
export type Condition =
  | { readonly exists: FieldPath }
  | { readonly absent: FieldPath }
  | {
      readonly field: FieldPath;
      readonly is: "=" | "<>" | "<" | "<=" | ">" | ">=";
      readonly value: string | number | boolean;
    }
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] };

/** Changes to one item; fields that are not named stay as they are. No field is named twice. */
export interface ItemUpdate {
  readonly set?: Readonly<Record<string, ItemValue>>;
  readonly remove?: readonly string[];
  /** Adds to a number; a missing field counts as 0. */
  readonly increment?: Readonly<Record<string, number>>;
}

export type WriteOutcome =
  /** `old`: the item before the write, where there was one. */
  | { readonly applied: true; readonly old?: Item }
  /** The condition was false. `old`: the item that made it so; absent when there is none. */
  | { readonly applied: false; readonly old?: Item };

/** The three sparse indexes: partition field, sort field. Keys (and the sort field) only. */
export const INDEXES = {
  /** Tasks of one run, by creation. */
  by_run: { partition: "agent_run_id", sort: "created_at" },
  /** Tasks of one status shard, by last creation. */
  by_status: { partition: "status_shard", sort: "created_at" },
  /** Tasks of one check shard, by the time at which the recovery loop looks. */
  by_check: { partition: "check_shard", sort: "check_at" },
} as const;
export type IndexName = keyof typeof INDEXES;

export interface IndexQuery {
  readonly index: IndexName;
  readonly partition: string;
  /** Sort values up to and including this one. */
  readonly upTo?: string;
  /** Default ascending. */
  readonly descending?: boolean;
  readonly limit: number;
  /** From an earlier page. */
  readonly cursor?: string;
}

export interface IndexPage {
  readonly entries: readonly { readonly key: string; readonly sort: string }[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** A database with single-item conditional writes. All errors are {@link LeaseholdError}; a transient one may have been applied. */
export interface ItemStore {
  /** A strongly consistent read. */
  get(key: string): Promise<Item | undefined>;
  /** Replaces the whole item if the condition holds. */
  put(key: string, item: Item, condition: Condition): Promise<WriteOutcome>;
  /** Changes the item if the condition holds; on a missing item only conditions of the form `absent` hold, and the item is made. */
  update(key: string, update: ItemUpdate, condition: Condition): Promise<WriteOutcome>;
  /** Eventually consistent. */
  query(query: IndexQuery): Promise<IndexPage>;
  /** Frees connections. Idempotent. */
  close(): Promise<void>;
}
