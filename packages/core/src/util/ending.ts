/** A signal that aborts with any of several, and lets go of them afterwards: theirs may live as long as the process. */
export function endingWith(...sources: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal;
  release(): void;
} {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  for (const source of sources) {
    if (source?.aborted === true) end();
    source?.addEventListener("abort", end, { once: true });
  }
  return {
    signal: ending.signal,
    release() {
      for (const source of sources) source?.removeEventListener("abort", end);
    },
  };
}
