/** Resolves once the condition holds; what it waits for comes over a socket, so the event loop gets its turns. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
