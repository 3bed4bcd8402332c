import { invalid } from "../errors.ts";

/** The config with the fields that the mask names taken from another. Throws INVALID_ARGUMENT for an empty mask, or fields that cannot change. */
export function masked<Config extends object>(
  config: Config,
  from: Config,
  paths: readonly string[] | undefined,
  fixed: readonly string[] = ["name"],
): Config {
  if (paths === undefined || paths.length === 0)
    throw invalid("The update_mask in the request must be set, and must contain a non-empty paths list.");
  const changed: Record<string, unknown> = Object.fromEntries(Object.entries(config));
  for (const path of paths) {
    // A path into a message field replaces the field: the service takes the first names only as well.
    const field = (path.split(".")[0] as string).replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (!Object.hasOwn(from, field)) throw invalid(`Invalid update_mask provided in the request: ${path} is no field.`);
    if (fixed.includes(field)) throw invalid(`Invalid update_mask provided in the request: ${path} cannot be changed.`);
    changed[field] = (from as Record<string, unknown>)[field];
  }
  return changed as Config;
}
