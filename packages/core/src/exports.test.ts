import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import * as driver from "./driver.ts";
import * as index from "./index.ts";

/** Names that a file exports, types included, sorted. */
async function exportsOf(
  file: string,
): Promise<{ readonly values: readonly string[]; readonly types: readonly string[] }> {
  const text = await readFile(new URL(file, import.meta.url), "utf8");
  const values: string[] = [];
  const types: string[] = [];
  for (const [, kind, names = ""] of text.matchAll(/^export (type )?\{([^}]*)\} from/gm)) {
    for (const name of names.split(",").map((each) => each.trim())) {
      if (name === "") continue;
      if (kind !== undefined || name.startsWith("type ")) types.push(name.replace(/^type /, ""));
      else values.push(name);
    }
  }
  return { values: values.sort(), types: types.sort() };
}

test("what users can import", async () => {
  const { values, types } = await exportsOf("./index.ts");
  assert.deepEqual(values, Object.keys(index).sort());
  assert.deepEqual(values, [
    "ERROR_CODES",
    "LeaseholdError",
    "NotCommittedError",
    "ParkError",
    "PermanentError",
    "RetryableError",
    "abortReasonOf",
    "createClient",
    "createTelemetry",
    "createWorker",
    "defineEffect",
    "defineTask",
    "isLeaseholdError",
    "openQueue",
    "openStore",
  ]);
  assert.deepEqual(types, [
    "AbortReason",
    "AnyEffect",
    "AnyTask",
    "AttemptEntry",
    "CancelOptions",
    "CancelOutcome",
    "Claim",
    "ClaimRequest",
    "ClaimStage",
    "Client",
    "ClientOptions",
    "Clock",
    "CommitContext",
    "DeliveryReport",
    "Duration",
    "EffectDefinition",
    "EffectGuard",
    "EffectState",
    "EnqueueOptions",
    "EnqueueOutcome",
    "EnqueueTarget",
    "Entropy",
    "ErrorCode",
    "FindContext",
    "HandleOptions",
    "LogFields",
    "Logger",
    "Moment",
    "OpenOptions",
    "Page",
    "PageRequest",
    "PayloadStore",
    "PreviousAttempt",
    "QueueDriver",
    "Receipt",
    "ReopenOptions",
    "ReopenOutcome",
    "Resolution",
    "ResultOptions",
    "ResumeOptions",
    "ResumeOutcome",
    "RetryRule",
    "Stage",
    "StageSettings",
    "Status",
    "TaskContext",
    "TaskDefinition",
    "TaskEnd",
    "TaskRecord",
    "TaskReference",
    "TaskStore",
    "TaskUpdate",
    "Telemetry",
    "TelemetryOptions",
    "Timer",
    "Unchanged",
    "Verified",
    "Worker",
    "WorkerOptions",
    "WorkerState",
  ]);
});

test("what adapter authors can import", async () => {
  const { values, types } = await exportsOf("./driver.ts");
  assert.deepEqual(values, Object.keys(driver).sort());
  assert.deepEqual(values, [
    "EVENT_CONTENT_TYPE",
    "INDEXES",
    "LeaseholdError",
    "MAX_MESSAGE_ID",
    "MESSAGE_RESERVE_BYTES",
    "checkBatch",
    "checkReceive",
    "chunksOf",
    "copyAttributes",
    "copyId",
    "createTaskStore",
    "deadLetterMarks",
    "deadLetterOf",
    "decodeEnvelope",
    "deriveTaskId",
    "eachOrRefused",
    "encodeEnvelope",
    "endingWith",
    "errorText",
    "foreignTaskId",
    "formatTime",
    "fromUnknown",
    "invalid",
    "isLeaseholdError",
    "isTransient",
    "ownSource",
    "parseTime",
    "printableReason",
    "readCopyAttributes",
    "receiptSchema",
    "refusedDelay",
    "refusedLease",
    "refusedMessage",
    "ringId",
    "settleByVerb",
    "silentLogger",
    "sleep",
    "storable",
    "systemClock",
    "systemEntropy",
    "taskIdOf",
    "taskRecordSchema",
    "withoutMarks",
  ]);
  assert.deepEqual(types, [
    "Capabilities",
    "Clock",
    "Condition",
    "DeadLetter",
    "DeadLetterReason",
    "DeadLetters",
    "DecodeOutcome",
    "Delivery",
    "Entropy",
    "ErrorCode",
    "ExtendItem",
    "FieldPath",
    "IndexName",
    "IndexPage",
    "IndexQuery",
    "Item",
    "ItemStore",
    "ItemUpdate",
    "ItemValue",
    "Limits",
    "Logger",
    "Outcome",
    "OutgoingMessage",
    "QueueDriver",
    "Receipt",
    "ReceiveOptions",
    "SendOutcome",
    "SettleItem",
    "TaskEvent",
    "TaskIdOutcome",
    "TaskRecord",
    "TaskStore",
    "Timer",
    "WriteOutcome",
  ]);
});
