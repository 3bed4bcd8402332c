import { queueSuites } from "../queue/all.ts";
import { part, type Target } from "../suite/run.ts";
import { type SqsVariant, sqsQueueSource } from "./sqs-queue.ts";

/** What nobody may rely on: the driver has to pass under either answer to a stale handle, and whatever name an error has. */
const variants: Readonly<Record<string, SqsVariant>> = {
  sqs: {},
  "sqs/stale-delete": { staleDelete: "deletes" },
  "sqs/stale-change": { staleChange: "not-in-flight" },
  "sqs/stale-both": { staleDelete: "deletes", staleChange: "not-in-flight" },
  /** Errors without the code of the query protocol (SQS-21). */
  "sqs/plain-errors": { omitQueryError: true },
  "sqs/no-dead-letters": { deadLetters: false },
  "sqs/fifo": { fifo: true },
  "sqs/fifo-plain-errors": { fifo: true, omitQueryError: true },
};

export const sqsTargets: readonly Target[] = Object.entries(variants).map(([name, variant]) => ({
  name,
  parts: [part("queue", queueSuites, sqsQueueSource(variant))],
}));
