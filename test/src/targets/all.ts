import type { Target } from "../suite/run.ts";
import { dynamodbTargets } from "./dynamodb.ts";
import { lifecycleTargets } from "./lifecycle-targets.ts";
import { memoryTargets } from "./memory.ts";
import { pubsubTargets } from "./pubsub.ts";
import { pubsubGoogleTargets } from "./pubsub-google.ts";
import { servicebusTargets } from "./servicebus.ts";
import { sqsTargets } from "./sqs.ts";

/** Everything that `conformance` can run, in this order. */
export const targets: readonly Target[] = [
  ...memoryTargets,
  ...dynamodbTargets,
  ...sqsTargets,
  ...pubsubTargets,
  ...pubsubGoogleTargets,
  ...servicebusTargets,
  ...lifecycleTargets,
];
