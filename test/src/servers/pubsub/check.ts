import type { Bench } from "./bench.ts";

/** One statement about Pub/Sub that a server has to make true. Throws (node:assert) when it does not hold. */
export interface Check {
  /** The id of the fact, or the page it is from, and a sentence. Unique. */
  readonly name: string;
  run(bench: Bench): Promise<void>;
}

/** Checks of one subject. */
export interface CheckGroup {
  readonly subject: string;
  readonly checks: readonly Check[];
}
