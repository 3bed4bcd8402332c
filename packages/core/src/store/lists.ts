import type { Status, TaskRecord } from "../record/record.ts";
import { compareText } from "../util/compare-text.ts";
import { parseJson } from "../util/json.ts";
import { refuse, requireCount, requireText } from "./arguments.ts";
import type { IndexPage, ItemStore } from "./items.ts";
import { statusPartitions, taskIdOf } from "./keys.ts";
import { parseRecord } from "./parse.ts";
import { type Page, type PageRequest, STATUS_SHARDS } from "./task-store.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

type Entry = IndexPage["entries"][number];

/** The tasks of a run, oldest first. */
export async function listByRun(
  items: ItemStore,
  agentRunId: string,
  page: PageRequest = {},
): Promise<Page<TaskRecord>> {
  requireText(agentRunId, "agentRunId");
  const limit = limitOf(page);
  const found = await items.query({
    index: "by_run",
    partition: agentRunId.toWellFormed(),
    limit,
    ...(page.cursor === undefined ? {} : { cursor: page.cursor }),
  });
  const records = await readAll(items, found.entries);
  return { items: records, ...(found.cursor === undefined ? {} : { cursor: found.cursor }) };
}

/** Where a listing stands in one shard: the page it reads, and the last entry it gave out of that page. `null`: the shard is done. */
type Place = { readonly cursor?: string; readonly after?: readonly [sort: string, key: string] } | null;

/**
 * The tasks in a status, oldest first, merged from the shards of the index. The index may lag behind the records: a task that
 * has left the status is left out, so a page can be shorter than its limit and not be the last.
 */
export async function listByStatus(
  items: ItemStore,
  status: Status,
  page: PageRequest = {},
): Promise<Page<TaskRecord>> {
  const limit = limitOf(page);
  const partitions = statusPartitions(status);
  const places = page.cursor === undefined ? partitions.map((): Place => ({})) : placesOf(page.cursor);
  const shards = await Promise.all(
    partitions.map((partition, shard) => readShard(items, partition, places[shard] ?? null, limit)),
  );
  const merged = shards
    .flatMap((shard, index) => shard.entries.map((entry) => ({ entry, index })))
    .sort((left, right) => compareEntries(left.entry, right.entry))
    .slice(0, limit);
  const next = shards.map((shard, index): Place => {
    const given = merged.filter((one) => one.index === index);
    // All of the page was given out: the next one begins after it.
    if (given.length === shard.entries.length) return shard.cursor === undefined ? null : { cursor: shard.cursor };
    const last = given.at(-1)?.entry;
    return last === undefined ? (places[index] ?? null) : { ...places[index], after: [last.sort, last.key] };
  });
  const records = await readAll(
    items,
    merged.map((one) => one.entry),
  );
  return {
    items: records.filter((record) => record.status === status),
    ...(next.every((place) => place === null) ? {} : { cursor: JSON.stringify(next) }),
  };
}

async function readShard(items: ItemStore, partition: string, place: Place, limit: number): Promise<IndexPage> {
  if (place === null) return { entries: [] };
  const found = await items.query({
    index: "by_status",
    partition,
    limit,
    ...(place.cursor === undefined ? {} : { cursor: place.cursor }),
  });
  const { after } = place;
  if (after === undefined) return found;
  return {
    ...found,
    entries: found.entries.filter((entry) => compareEntries(entry, { sort: after[0], key: after[1] }) > 0),
  };
}

/** By sort value, then by key: the order in which a merged page is given out. */
function compareEntries(left: Entry, right: Entry): number {
  return compareText(left.sort, right.sort) || compareText(left.key, right.key);
}

async function readAll(items: ItemStore, entries: readonly Entry[]): Promise<readonly TaskRecord[]> {
  const records = await Promise.all(
    entries.map(async ({ key }) => {
      const item = await items.get(key);
      return item === undefined ? undefined : parseRecord(item, taskIdOf(key));
    }),
  );
  return records.filter((record) => record !== undefined);
}

function limitOf(page: PageRequest): number {
  const { limit = DEFAULT_LIMIT } = page;
  requireCount(limit, "limit", 1);
  return Math.min(limit, MAX_LIMIT);
}

function placesOf(cursor: string): readonly Place[] {
  const value = parseJson(cursor)?.value;
  if (Array.isArray(value) && value.length === STATUS_SHARDS && value.every(isPlace)) return value;
  throw refuse("cursor", "text that is no cursor", "the cursor of an earlier page of this listing");
}

function isPlace(value: unknown): value is Place {
  if (value === null) return true;
  if (typeof value !== "object") return false;
  const { cursor, after } = value as { cursor?: unknown; after?: unknown };
  const cursorFits = cursor === undefined || typeof cursor === "string";
  return (
    cursorFits &&
    (after === undefined ||
      (Array.isArray(after) && after.length === 2 && after.every((part) => typeof part === "string")))
  );
}
