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

/**
 * Where calls to the broker and writes to the store take turns, so that it matters which two they are. The other subjects are
 * about one of the two: each queue is played in full on memory items, and DynamoDB in full with SQS.
 */
const BOTH_SUBJECTS: readonly string[] = [
  "a task from enqueue to settled",
  "crashes",
  "what is done with a delivery",
  "a delivery without a record",
  "broker leases",
  "duplicates",
  "an ended task starts anew",
  "what is due",
  "recovery",
  "stop",
  "outages",
];

/** Workers and clients on a queue's driver and a store, both on embedded servers, or on memory items. */
function target(name: string, sides: Sides, subjects: readonly string[] | "all"): Target {
  const suites = lifecycleSuites.filter(({ subject }) => subjects === "all" || subjects.includes(subject));
  return { name, parts: [part("lifecycle", suites, playedLifecycleSource(sides))] };
}

const sqs = { queues: sqsQueues({ fifo: false }) };
const fifo = { queues: sqsQueues({ fifo: true }) };
const pubsub = { queues: pubsubQueues({}) };
const exactlyOnce = { queues: pubsubQueues({ exactlyOnce: true }) };
const ordered = { queues: pubsubQueues({ ordering: true }) };
const servicebus = { queues: servicebusQueues({ sessions: false }) };
const sessions = { queues: servicebusQueues({ sessions: true }), pauseMs: PAUSE_MS };
const memory = { items: memoryItems };
const dynamodb = { items: dynamodbItems };

export const lifecycleTargets: readonly Target[] = [
  target("sqs x dynamodb", { ...sqs, ...dynamodb }, "all"),
  target("sqs x dynamodb/fifo", { ...fifo, ...dynamodb }, KEY_SUBJECTS),
  target("pubsub x memory", { ...pubsub, ...memory }, "all"),
  target("pubsub x memory/exactly-once", { ...exactlyOnce, ...memory }, BOTH_SUBJECTS),
  target("pubsub x memory/ordered", { ...ordered, ...memory }, KEY_SUBJECTS),
  target("pubsub x dynamodb", { ...pubsub, ...dynamodb }, BOTH_SUBJECTS),
  target("servicebus x memory", { ...servicebus, ...memory }, "all"),
  target("servicebus x memory/sessions", { ...sessions, ...memory }, KEY_SUBJECTS),
  target("servicebus x dynamodb", { ...servicebus, ...dynamodb }, BOTH_SUBJECTS),
];
