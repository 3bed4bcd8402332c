// For authors of adapters: the contracts of queue and store, and what core offers to keep them.
// Programs that enqueue and run tasks need none of it.

export { type Clock, formatTime, parseTime, sleep, systemClock, type Timer } from "./clock.ts";
export { type Entropy, systemEntropy } from "./entropy.ts";
export { decodeEnvelope, encodeEnvelope } from "./envelope/codec.ts";
export {
  type DecodeOutcome,
  EVENT_CONTENT_TYPE,
  MESSAGE_RESERVE_BYTES,
  ownSource,
  type TaskEvent,
} from "./envelope/envelope.ts";
export {
  copyId,
  deriveTaskId,
  foreignTaskId,
  MAX_MESSAGE_ID,
  ringId,
  type TaskIdOutcome,
  taskIdOf,
} from "./envelope/ids.ts";
export { type ErrorCode, fromUnknown, isLeaseholdError, isTransient, LeaseholdError } from "./errors.ts";
export { chunksOf, eachOrRefused, settleByVerb } from "./queue/batches.ts";
export {
  checkBatch,
  checkReceive,
  invalid,
  type Limits,
  refusedDelay,
  refusedLease,
  refusedMessage,
} from "./queue/checks.ts";
export { copyAttributes, readCopyAttributes } from "./queue/copies.ts";
export { deadLetterMarks, deadLetterOf, printableReason, withoutMarks } from "./queue/dead-letter.ts";
export type {
  Capabilities,
  DeadLetter,
  DeadLetterReason,
  DeadLetters,
  Delivery,
  ExtendItem,
  Outcome,
  OutgoingMessage,
  QueueDriver,
  ReceiveOptions,
  SendOutcome,
  SettleItem,
} from "./queue/driver.ts";
export { type Receipt, receiptSchema, type TaskRecord, taskRecordSchema } from "./record/record.ts";
export { createTaskStore } from "./store/create-task-store.ts";
export {
  type Condition,
  type FieldPath,
  INDEXES,
  type IndexName,
  type IndexPage,
  type IndexQuery,
  type Item,
  type ItemStore,
  type ItemUpdate,
  type ItemValue,
  type WriteOutcome,
} from "./store/items.ts";
export { storable } from "./store/storable.ts";
export type { TaskStore } from "./store/task-store.ts";
export { type Logger, silentLogger } from "./telemetry/logger.ts";
export { endingWith } from "./util/ending.ts";
export { errorText } from "./util/error-text.ts";
