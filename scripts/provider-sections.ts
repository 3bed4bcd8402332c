import type { Capabilities } from "../packages/core/src/driver.ts";
import { createMemoryQueue } from "../packages/core/src/memory.ts";
import * as pubsub from "../packages/pubsub/src/capabilities.ts";
import * as servicebus from "../packages/servicebus/src/capabilities.ts";
import * as sqs from "../packages/sqs/src/capabilities.ts";
import { markdownTable, type Sections } from "./generated-sections.ts";

const sqsQueue = (fifo: boolean): Capabilities =>
  sqs.capabilitiesOf({ fifo, maxMessageBytes: sqs.MAX_MESSAGE_BYTES, deadLetterUrl: "a dead-letter queue" });
const subscription = (exactlyOnce: boolean): Capabilities =>
  pubsub.capabilitiesOf({ exactlyOnce, ordering: false, deadLetterTopic: "a dead-letter topic" });
const entity = (sessions: boolean): Capabilities =>
  servicebus.capabilitiesOf({
    sessions,
    maxMessageBytes: servicebus.MAX_MESSAGE_BYTES,
    lockMs: () => servicebus.MAX_LOCK_MS,
  });

/** A queue of each kind, as it is best set up: with dead letters, and on Service Bus with the longest lock. */
const queues: readonly (readonly [string, Capabilities])[] = [
  ["SQS standard", sqsQueue(false)],
  ["SQS FIFO", sqsQueue(true)],
  ["Pub/Sub", subscription(false)],
  ["Pub/Sub exactly-once", subscription(true)],
  ["Service Bus", entity(false)],
  ["Service Bus sessions", entity(true)],
  ["memory", createMemoryQueue({ name: "docs" }).capabilities],
];

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** The longest unit in which it is a short number: 43,190,000 is 11 h 59 min 50 s. */
function durationOf(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return "no limit";
  if (ms === 0) return "none";
  let rest = ms;
  const parts = UNITS.flatMap(([unit, unitMs]) => {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return parts.join(" ");
}

const bytesOf = (bytes: number): string => (Number.isFinite(bytes) ? bytes.toLocaleString("en") : "no limit");

interface Row {
  readonly title: string;
  readonly source: keyof Capabilities["sources"];
  readonly text: (capabilities: Capabilities) => string;
}

const rows: readonly Row[] = [
  {
    title: "longest lease of one call",
    source: "maxLeaseMs",
    text: ({ maxLeaseMs, fixedLeaseMs }) =>
      fixedLeaseMs === undefined ? durationOf(maxLeaseMs) : `${durationOf(maxLeaseMs)}, set on the entity`,
  },
  { title: "longest hold in all", source: "totalLeaseMs", text: ({ totalLeaseMs }) => durationOf(totalLeaseMs) },
  {
    title: "an answer to a settle proves it",
    source: "settleConfirmation",
    text: ({ settleConfirmation }) => (settleConfirmation === "confirmed" ? "yes" : "no"),
  },
  { title: "items of one call", source: "maxBatch", text: ({ maxBatch }) => bytesOf(maxBatch) },
  {
    title: "delay of a sent message",
    source: "maxSendDelayMs",
    text: ({ maxSendDelayMs }) => durationOf(maxSendDelayMs),
  },
  {
    title: "delay of a message given back",
    source: "maxAbandonDelayMs",
    text: ({ maxAbandonDelayMs }) => durationOf(maxAbandonDelayMs),
  },
  { title: "dead letters", source: "deadLetter", text: ({ deadLetter }) => deadLetter },
  {
    title: "bytes of a dead-letter reason",
    source: "deadLetterReasonBytes",
    text: ({ deadLetterReasonBytes }) => bytesOf(deadLetterReasonBytes),
  },
  { title: "bytes of a message", source: "maxMessageBytes", text: ({ maxMessageBytes }) => bytesOf(maxMessageBytes) },
  { title: "order by key", source: "ordering", text: ({ ordering }) => (ordering ? "yes" : "no") },
];

function cellOf({ source, text }: Row, capabilities: Capabilities): string {
  const url = capabilities.sources[source];
  return url === undefined ? text(capabilities) : `[${text(capabilities)}](${url})`;
}

const MILLION = 1_000_000;
/** USD for a million requests. Third-party price pages (SQS-90), and for Service Bus a price that one weak source names (SB-70). */
const SQS_STANDARD_USD = 0.4;
const SQS_FIFO_USD = 0.5;
const SERVICEBUS_USD = 0.8;
/** Of the vendor's price page (PS-51): USD for a TiB that is published or delivered; a message counts as 1,000 bytes at least. */
const PUBSUB_USD_PER_TIB = 40;
const PUBSUB_MESSAGE_BYTES = 1_000;
const TIB = 1_024 ** 4;
const SQS_BATCH = 10;
/** A send, a receive and a settle, whatever comes between. */
const FIXED_REQUESTS = 3;

/** How long a task is held, and how often its lease is renewed meanwhile, s. */
const uses: readonly (readonly [heldSeconds: number, everySeconds: number])[] = [
  [10, 60],
  [60, 20],
  [600, 20],
  [600, 60],
  [600, 150],
  [3_600, 60],
  [3_600, 150],
  [3_600, 300],
];

const usd = (amount: number): string => `$${amount.toFixed(2)}`;

function costsOf([heldSeconds, everySeconds]: (typeof uses)[number]): readonly string[] {
  const renewals = Math.ceil(heldSeconds / everySeconds) - 1;
  const requests = FIXED_REQUESTS + renewals;
  return [
    durationOf(heldSeconds * 1_000),
    durationOf(everySeconds * 1_000),
    String(renewals),
    `${usd(requests * SQS_STANDARD_USD)} to ${usd((requests * SQS_STANDARD_USD) / SQS_BATCH)}`,
    `${usd(requests * SQS_FIFO_USD)} to ${usd((requests * SQS_FIFO_USD) / SQS_BATCH)}`,
    usd((2 * PUBSUB_MESSAGE_BYTES * MILLION * PUBSUB_USD_PER_TIB) / TIB),
    usd(requests * SERVICEBUS_USD),
  ];
}

/** The tables of docs/providers.md. */
export const providerSections: Sections = {
  capabilities: markdownTable(
    ["", ...queues.map(([name]) => name)],
    rows.map((row) => [row.title, ...queues.map(([, capabilities]) => cellOf(row, capabilities))]),
  ),
  costs: markdownTable(
    ["held for", "renewed every", "renewals", "SQS standard", "SQS FIFO", "Pub/Sub", "Service Bus Standard"],
    uses.map(costsOf),
  ),
};
