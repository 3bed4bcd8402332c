import { lifecycleSuites } from "../lifecycle/all.ts";
import { part, type Target } from "../suite/run.ts";
import { awsLifecycleSource } from "./aws-lifecycle.ts";

/** Workers and clients on the drivers of AWS and the embedded servers. */
export const sqsDynamodbTargets: readonly Target[] = [
  { name: "sqs x dynamodb", parts: [part("lifecycle", lifecycleSuites, awsLifecycleSource({ fifo: false }))] },
  { name: "sqs x dynamodb/fifo", parts: [part("lifecycle", lifecycleSuites, awsLifecycleSource({ fifo: true }))] },
];
