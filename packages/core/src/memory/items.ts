import { LeaseholdError } from "../errors.ts";
import { applyUpdate, evaluateCondition } from "../store/apply.ts";
import { refuse, requireCount } from "../store/arguments.ts";
import { createTaskStore } from "../store/create-task-store.ts";
import {
  INDEXES,
  type IndexName,
  type IndexPage,
  type IndexQuery,
  type Item,
  type ItemStore,
  type ItemUpdate,
  type ItemValue,
} from "../store/items.ts";
import { storable } from "../store/storable.ts";
import type { TaskStore } from "../store/task-store.ts";
import { parseJson } from "../util/json.ts";
import { createSortedEntries, type SortedEntries, type SortedEntry } from "./sorted-entries.ts";

/**
 * The reference of an item store, in memory.
 *
 * *Atomicity*: a call is applied as a whole when it is made; its answer comes in a later microtask.
 * *Isolation*: what is stored is a frozen copy, and the same frozen item is handed out: nobody can change it from outside.
 * *Expiry*: `expire_at` is stored and nothing is removed; databases remove late, so code must not rely on it.
 * *Indexes*: follow each write at once. Sorted by sort value, then key.
 */

/** The items of one database, shared by the handles on it. */
interface Table {
  readonly items: Map<string, Item>;
  readonly indexes: Readonly<Record<IndexName, Map<string, SortedEntries>>>;
}

const INDEX_NAMES = Object.keys(INDEXES) as readonly IndexName[];

/** Databases with a name, for `memory://name`: they live as long as the process. */
const named = new Map<string, Table>();

/** An empty database of its own. */
export function createMemoryItems(): ItemStore {
  return handleOn(createTable());
}

/** A handle on the database of this name, the same for all of the process; made when the name is new. Closing a handle closes no other. */
export function memoryItems(name: string): ItemStore {
  let table = named.get(name);
  if (table === undefined) {
    table = createTable();
    named.set(name, table);
  }
  return handleOn(table);
}

/** A task store over {@link createMemoryItems}. */
export function createMemoryStore(): TaskStore {
  return createTaskStore({ items: createMemoryItems() });
}

function createTable(): Table {
  return { items: new Map(), indexes: { by_run: new Map(), by_status: new Map(), by_check: new Map() } };
}

function handleOn(table: Table): ItemStore {
  let closed = false;

  const assertOpen = (): void => {
    if (closed) throw new LeaseholdError("Unavailable", "this handle on the memory items is closed; open another one");
  };

  const store = (key: string, old: Item | undefined, next: Item): void => {
    table.items.set(key, Object.freeze(next));
    for (const name of INDEX_NAMES) reindex(table.indexes[name], name, key, old, next);
  };

  return {
    async get(key) {
      assertOpen();
      return table.items.get(key);
    },
    async put(key, item, condition) {
      assertOpen();
      const old = table.items.get(key);
      const answer = old === undefined ? {} : { old };
      if (!evaluateCondition(condition, old)) return { applied: false, ...answer };
      store(key, old, frozenCopy(item, key));
      return { applied: true, ...answer };
    },
    async update(key, update, condition) {
      assertOpen();
      const old = table.items.get(key);
      const answer = old === undefined ? {} : { old };
      if (!evaluateCondition(condition, old)) return { applied: false, ...answer };
      store(key, old, applyUpdate(old, frozenUpdate(update, key)));
      return { applied: true, ...answer };
    },
    async query(query) {
      assertOpen();
      return pageOf(table.indexes[query.index].get(query.partition), query);
    },
    async close() {
      closed = true;
    },
  };
}

function reindex(
  index: Map<string, SortedEntries>,
  name: IndexName,
  key: string,
  old: Item | undefined,
  next: Item,
): void {
  const { partition, sort } = INDEXES[name];
  if (old !== undefined && old[partition] === next[partition] && old[sort] === next[sort]) return;
  const before = old === undefined ? undefined : placeOf(old, partition, sort);
  if (before !== undefined) {
    const entries = index.get(before.partition);
    entries?.remove({ sort: before.sort, key });
    if (entries?.size === 0) index.delete(before.partition);
  }
  const after = placeOf(next, partition, sort);
  if (after === undefined) return;
  let entries = index.get(after.partition);
  if (entries === undefined) {
    entries = createSortedEntries();
    index.set(after.partition, entries);
  }
  entries.add({ sort: after.sort, key });
}

/** An item without both fields is not in the index. */
function placeOf(
  item: Item,
  partition: string,
  sort: string,
): { readonly partition: string; readonly sort: string } | undefined {
  const partitionValue = item[partition];
  const sortValue = item[sort];
  return typeof partitionValue === "string" && typeof sortValue === "string"
    ? { partition: partitionValue, sort: sortValue }
    : undefined;
}

function pageOf(entries: SortedEntries | undefined, query: IndexQuery): IndexPage {
  requireCount(query.limit, "limit", 1);
  const after = query.cursor === undefined ? undefined : entryOf(query.cursor);
  const page: SortedEntry[] = [];
  if (entries === undefined) return { entries: page };
  const walk = entries.walk({
    ...(after === undefined ? {} : { after }),
    ...(query.upTo === undefined ? {} : { upTo: query.upTo }),
    ...(query.descending === undefined ? {} : { descending: query.descending }),
  });
  for (const entry of walk) {
    if (page.length === query.limit) return { entries: page, cursor: cursorOf(page.at(-1) as SortedEntry) };
    page.push(entry);
  }
  return { entries: page };
}

function cursorOf(entry: SortedEntry): string {
  return JSON.stringify([entry.sort, entry.key]);
}

function entryOf(cursor: string): SortedEntry {
  const value = parseJson(cursor)?.value;
  if (Array.isArray(value) && value.length === 2) {
    const [sort, key] = value as unknown[];
    if (typeof sort === "string" && typeof key === "string") return { sort, key };
  }
  throw refuse("cursor", "text that is no cursor", "the cursor of an earlier page");
}

function frozenUpdate(update: ItemUpdate, key: string): ItemUpdate {
  return update.set === undefined ? update : { ...update, set: frozenCopy(update.set, key) };
}

/**
 * A copy whose values are frozen all the way down; the fields themselves are frozen when it is stored. Spread, then patched:
 * an object built field by field turns into a hash table, which makes every later copy of a record ten times as dear.
 */
function frozenCopy(fields: Item, key: string): Item {
  const copy: Record<string, ItemValue> = { ...fields };
  for (const field in copy) {
    const value: ItemValue | undefined = copy[field];
    if (value === undefined)
      throw refuse(`item ${key}: ${field}`, "nothing", "a value; leave the field out, or remove it");
    if (
      typeof value === "boolean" ||
      (typeof value === "number" && Number.isFinite(value)) ||
      (typeof value === "string" && value.isWellFormed())
    )
      continue;
    copy[field] = storable(value, field);
  }
  return copy;
}
