import type { SpanKind } from "@opentelemetry/api";
import { type AttributeName, KEY } from "./attributes.ts";

export interface SpanDefinition {
  /** With `<…>` for the parts that vary; all of them are low in cardinality. */
  readonly name: string;
  readonly kind: keyof typeof SpanKind;
  readonly parent: string;
  readonly links: string;
  readonly description: string;
  readonly attributes: readonly AttributeName[];
}

const MESSAGING = [KEY.system, KEY.queue, KEY.operationName, KEY.operationType] as const;
const ATTEMPT = [KEY.taskType, KEY.taskId, KEY.attempt, KEY.fence] as const;

/**
 * Every span; docs/telemetry.md is made from it. Names, kinds and links follow the messaging conventions of OpenTelemetry
 * (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/): the span of a send is what the message carries,
 * and that of the processing is both its child and linked to it.
 */
export const SPANS = {
  send: {
    name: "send <queue>",
    kind: "PRODUCER",
    parent: "the active span",
    links: "",
    description: "One message sent. Its context is the traceparent of the event.",
    attributes: [...MESSAGING, KEY.taskType, KEY.taskId, KEY.errorType],
  },
  receive: {
    name: "receive <queue>",
    kind: "CLIENT",
    parent: "none",
    links: "the producer of each message",
    description: "One receive that brought messages. Ended at once.",
    attributes: [...MESSAGING, KEY.batchCount],
  },
  process: {
    name: "process <queue>",
    kind: "CONSUMER",
    parent: "the producer; none when nobody sent a trace",
    links: "the producer; the record's when it is of another trace; the active span",
    description: "One attempt, from acquisition to its end. An attempt that died has none.",
    attributes: [...MESSAGING, ...ATTEMPT, KEY.agentRunId, KEY.traceLink, KEY.outcome, KEY.errorType],
  },
  settle: {
    name: "settle <queue>",
    kind: "CLIENT",
    parent: "`process`",
    links: "",
    description: "What the broker was told at the end. Ended at once.",
    attributes: [...MESSAGING, ...ATTEMPT, KEY.settleVerb],
  },
  claim: {
    name: "claim <stage>",
    kind: "INTERNAL",
    parent: "`process`",
    links: "",
    description:
      "One claim; one that repeats the last has none. Ended at once, so that an attempt which died is visible.",
    attributes: [...ATTEMPT, KEY.stage, KEY.claimReason],
  },
  effect: {
    name: "effect <step> <effect>",
    kind: "INTERNAL",
    parent: "`process`",
    links: "",
    description: "One step of an effect. Ended at once, like a claim.",
    attributes: [...ATTEMPT, KEY.effectName, KEY.effectItem, KEY.effectStep],
  },
} as const satisfies Readonly<Record<string, SpanDefinition>>;

/** `messaging.system` of the providers that the conventions name; another one goes by its own name. */
const SYSTEMS: Readonly<Record<string, string>> = {
  sqs: "aws_sqs",
  pubsub: "gcp_pubsub",
  servicebus: "servicebus",
};

export function systemOf(provider: string): string {
  return SYSTEMS[provider] ?? provider;
}
