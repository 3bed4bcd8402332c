/**
 * What a queue adapter consists of, whoever wrote it: so that two can be laid side by side, and a newcomer finds the same thing
 * in the same place. An adapter may have more files, each for what is its service's own.
 */
export const ADAPTER_FILES: Readonly<Record<string, string>> = {
  "index.ts": "what programs import",
  "open.ts": "the queue by its name or URL, asked how it is set up",
  "queue.ts": "the driver: its verbs in the order of the contract",
  "capabilities.ts": "the numbers, each with the vendor's page",
  "client.ts": "the vendor's clients, and what is turned off in them",
  "messages.ts": "pure mappers of messages and deliveries",
  "batches.ts": "calls for many items, an outcome for each",
  "checks.ts": "what is refused before anything is sent",
  "dead-letters.ts": "dead letters: made, looked at, sent back",
  "errors.ts": "the one door for errors",
};

/** What is missing in a package; `sources`: the names of the files of its `src`. Only one with a driver is an adapter of a queue. */
export function shapeProblems(folder: string, sources: readonly string[]): string[] {
  if (!sources.includes("queue.ts")) return [];
  const missing = Object.entries(ADAPTER_FILES).filter(([file]) => !sources.includes(file));
  const tests = ["errors.test.ts"].filter((file) => !sources.includes(file));
  return [
    ...missing.map(([file, what]) => `${folder}/src/${file} is missing: ${what}`),
    ...tests.map((file) => `${folder}/src/${file} is missing: each error as the SDK shows it`),
  ];
}
