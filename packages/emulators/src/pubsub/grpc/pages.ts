import { invalid } from "../errors.ts";

export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

const DEFAULT_PAGE = 100;

/** A part of a sorted list; the token is the last name of the page before, so that what comes and goes meanwhile moves nothing. */
export function pageOf<Item>(
  items: readonly Item[],
  nameIn: (item: Item) => string,
  { pageSize, pageToken }: PageRequest,
): { readonly items: readonly Item[]; readonly nextPageToken: string } {
  if (pageSize < 0) throw invalid(`Invalid page_size: ${pageSize}.`);
  const rest = items.filter((item) => nameIn(item) > pageToken);
  const page = rest.slice(0, pageSize || DEFAULT_PAGE);
  const last = page.at(-1);
  return { items: page, nextPageToken: last !== undefined && page.length < rest.length ? nameIn(last) : "" };
}
