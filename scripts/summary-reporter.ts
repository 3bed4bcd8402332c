import { writeFileSync } from "node:fs";
import type { TestEvent } from "node:test/reporters";
import type { Skip } from "./summary.ts";

type Mark = string | boolean | undefined;

const isMarked = (mark: Mark) => mark !== undefined && mark !== false;

/**
 * A reporter for `node --test` that prints nothing and writes the run's counts to `LEASEHOLD_SUMMARY`.
 * A test marked `todo` counts as skipped, whatever came of it; so does a skipped suite, as one, since Node counts
 * nothing for the tests in it.
 */
export default async function* summaryReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const skips: Skip[] = [];
  let skippedSuites = 0;
  let counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const event of events) {
    if (event.type === "test:pass" || event.type === "test:fail") {
      const { name, skip, todo, details } = event.data;
      const mark: Mark = isMarked(skip) ? skip : todo;
      const isSuite = details.type === "suite";
      if (isSuite ? isMarked(skip) : isMarked(mark)) skips.push({ name, reason: typeof mark === "string" ? mark : "" });
      if (isSuite && isMarked(skip)) skippedSuites += 1;
    }
    // Each file closes with a summary of its own; the one without a file is the whole run's.
    if (event.type === "test:summary" && event.data.file === undefined) {
      const { passed, skipped, todo, tests } = event.data.counts;
      counts = { passed, failed: tests - passed - skipped - todo, skipped: skipped + todo };
    }
  }
  const file = process.env["LEASEHOLD_SUMMARY"];
  if (file) writeFileSync(file, JSON.stringify({ ...counts, skipped: counts.skipped + skippedSuites, skips }));
  yield "";
}
