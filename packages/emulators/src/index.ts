export type { EmulatorClock, EmulatorTimer } from "./clock.ts";
export { type DynamodbEmulator, type DynamodbOptions, startDynamodb } from "./dynamodb/start.ts";
export type { Call, CallCount, CallCounters } from "./http/calls.ts";
export type { Fault, FaultError, FaultHandle, FaultRule, Faults } from "./http/faults.ts";
export type { Emulator, EmulatorOptions } from "./shape.ts";
export type { SqsActs } from "./sqs/acts.ts";
export type { StaleHandles } from "./sqs/queue.ts";
export type { QueueAttributes } from "./sqs/queue-attributes.ts";
export { type SqsEmulator, type SqsOptions, startSqs } from "./sqs/start.ts";
