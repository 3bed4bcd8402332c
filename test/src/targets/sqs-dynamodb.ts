import { lifecycleSuites } from "../lifecycle/all.ts";
import { part, type Target } from "../suite/run.ts";
import { awsLifecycleSource } from "./aws-lifecycle.ts";

/** What a FIFO queue does in its own way: order, repeated ids, and what comes again. */
const FIFO_SUBJECTS: ReadonlySet<string> = new Set([
  "a task from enqueue to settled",
  "what is done with a delivery",
  "a delivery without a record",
  "an ended task starts anew",
  "recovery",
  "ordering keys",
  "lines of an ordering key",
]);

/** Workers and clients on the drivers of AWS and the embedded servers. */
export const sqsDynamodbTargets: readonly Target[] = [
  { name: "sqs x dynamodb", parts: [part("lifecycle", lifecycleSuites, awsLifecycleSource({ fifo: false }))] },
  {
    name: "sqs x dynamodb/fifo",
    parts: [
      part(
        "lifecycle",
        lifecycleSuites.filter(({ subject }) => FIFO_SUBJECTS.has(subject)),
        awsLifecycleSource({ fifo: true }),
      ),
    ],
  },
];
