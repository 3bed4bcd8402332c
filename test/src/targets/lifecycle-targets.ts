import { lifecycleSuites } from "../lifecycle/all.ts";
import { part, type Target } from "../suite/run.ts";
import { dynamodbItems, memoryItems } from "./lifecycle-items.ts";
import { playedLifecycleSource, type Sides } from "./played-lifecycle.ts";
import { pubsubQueues } from "./pubsub-lifecycle.ts";
import { PAUSE_MS } from "./servicebus-embedded.ts";
import { servicebusQueues } from "./servicebus-lifecycle.ts";
import { sqsQueues } from "./sqs-lifecycle.ts";

/** What a queue that keeps order does in its own way: order, repeated ids, and what comes again. */
const KEY_SUBJECTS: readonly string[] = [
  "a task from enqueue to settled",
  "what is done with a delivery",
  "a delivery without a record",
  "an ended task starts anew",
  "recovery",
  "ordering keys",
  "lines of an ordering key",
];

/** Workers and clients on a queue's driver and a store, both on embedded servers, or on memory items. `subjects`: default all. */
function target(name: string, sides: Sides, subjects?: readonly string[]): Target {
  const suites = lifecycleSuites.filter(({ subject }) => subjects?.includes(subject) ?? true);
  return { name, parts: [part("lifecycle", suites, playedLifecycleSource(sides))] };
}

export const lifecycleTargets: readonly Target[] = [
  target("sqs x memory", { queues: sqsQueues({ fifo: false }), items: memoryItems }),
  target("sqs x dynamodb", { queues: sqsQueues({ fifo: false }), items: dynamodbItems }),
  target("sqs x dynamodb/fifo", { queues: sqsQueues({ fifo: true }), items: dynamodbItems }, KEY_SUBJECTS),
  target("pubsub x memory", { queues: pubsubQueues({}), items: memoryItems }),
  target("pubsub x memory/exactly-once", { queues: pubsubQueues({ exactlyOnce: true }), items: memoryItems }),
  target("pubsub x memory/ordered", { queues: pubsubQueues({ ordering: true }), items: memoryItems }, KEY_SUBJECTS),
  target("pubsub x dynamodb", { queues: pubsubQueues({}), items: dynamodbItems }),
  target("servicebus x memory", { queues: servicebusQueues({ sessions: false }), items: memoryItems }),
  target(
    "servicebus x memory/sessions",
    { queues: servicebusQueues({ sessions: true }), items: memoryItems, pauseMs: PAUSE_MS },
    KEY_SUBJECTS,
  ),
  target("servicebus x dynamodb", { queues: servicebusQueues({ sessions: false }), items: dynamodbItems }),
];
