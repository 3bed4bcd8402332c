/** Names of attributes: the project's own namespace, and the messaging conventions of OpenTelemetry where they have a word. */
export const KEY = {
  taskType: "leasehold.task.type",
  queue: "messaging.destination.name",
  stage: "leasehold.stage",
  duplicateKind: "leasehold.duplicate.kind",
  errorType: "error.type",
  deadLetterCode: "leasehold.dead_letter.code",
  traceLink: "leasehold.trace_link",
  abortReason: "leasehold.abort.reason",
  effectName: "leasehold.effect.name",
  effectItem: "leasehold.effect.item",
  effectOutcome: "leasehold.effect.outcome",
  ringCause: "leasehold.ring.cause",
  callName: "leasehold.call.name",
  system: "messaging.system",
  operationName: "messaging.operation.name",
  operationType: "messaging.operation.type",
  batchCount: "messaging.batch.message_count",
  taskId: "leasehold.task.id",
  attempt: "leasehold.attempt",
  fence: "leasehold.fence",
  agentRunId: "leasehold.agent_run.id",
  claimReason: "leasehold.claim.reason",
  effectStep: "leasehold.effect.step",
  settleVerb: "leasehold.settle.verb",
  outcome: "leasehold.outcome",
} as const;

export type AttributeName = (typeof KEY)[keyof typeof KEY];

/** What each attribute says; docs/telemetry.md is made from it. */
export const ATTRIBUTES: Readonly<Record<AttributeName, string>> = {
  [KEY.taskType]: "The registered task type.",
  [KEY.queue]: "The queue whose workers own the task.",
  [KEY.stage]: "`preflight`, `external_call`, `commit`, `verify`, `settled`.",
  [KEY.duplicateKind]: "Why the delivery needed no run: `settled`, `live_elsewhere`, `live_here`, `ended`.",
  [KEY.errorType]: "Class of the error: the code of an error of leasehold, else the name of its class.",
  [KEY.deadLetterCode]: "Why it was given up: `attempts_exhausted`, `unknown_type`, …",
  [KEY.traceLink]:
    "`missing`: no valid traceparent in message or record. `stale`: they name different traces, or the event is over 7 days old. On spans also `ok`.",
  [KEY.abortReason]: "`taken_over`, `expired`, `no_progress`, `cancelled`, `deadline`, `shutdown`.",
  [KEY.effectName]: "The effect's name within its task type.",
  [KEY.effectItem]: "Which of several effects of that name.",
  [KEY.effectOutcome]:
    "`begun`, `committed`, `verified`, `not_committed`, `unknown`, `found_on_retry`, `not_found`, `refused`.",
  [KEY.ringCause]:
    "Why a message was sent for a task that exists: `lost`, `due`, `lapsed`, `resumed`, `reopened`, `released`, …",
  [KEY.callName]: "The call of broker or store that failed: `send`, `acquire`, `extend`, …",
  [KEY.system]: "`aws_sqs`, `gcp_pubsub`, `servicebus`; another provider's own name.",
  [KEY.operationName]: "`send`, `receive`, `process`, `settle`.",
  [KEY.operationType]: "The same as the name.",
  [KEY.batchCount]: "Messages of one receive.",
  [KEY.taskId]: "The task.",
  [KEY.attempt]: "The attempt, first = 1.",
  [KEY.fence]: "The fence of the lease; grows with each acquisition.",
  [KEY.agentRunId]: "The conversation, plan or run that asked for the task.",
  [KEY.claimReason]: "What the handler said it was doing.",
  [KEY.effectStep]: "The step of the effect that was just done.",
  [KEY.settleVerb]: "What the broker was told: `complete`, `abandon`, `dead-letter`.",
  [KEY.outcome]: "How the attempt ended: `settled`, `released`, `dead_lettered`, `parked`, `cancelled`, `lost`.",
};
