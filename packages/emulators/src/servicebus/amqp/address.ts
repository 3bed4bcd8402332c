const MANAGEMENT = /\/\$management$/i;

/** An address as a client writes it, which may be a whole URL, with nothing before the path of the entity. */
export function pathOf(address: string): string {
  return address.replace(/^[a-z]+:\/\/[^/]*/i, "").replace(/^\/+|\/+$/g, "");
}

/** The path of the entity whose `$management` this is; `undefined` when it is none. */
export function managedPath(path: string): string | undefined {
  return MANAGEMENT.test(path) ? path.replace(MANAGEMENT, "") : undefined;
}

/** Whether a path is another one or below it. */
export function isWithin(path: string, above: string): boolean {
  const [low, high] = [path.toLowerCase(), above.toLowerCase()];
  return high === "" || low === high || low.startsWith(`${high}/`);
}
