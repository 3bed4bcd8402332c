import { SqsError } from "../errors.ts";

/** What each parameter is, wherever it appears; entries of a batch are looked into. */
const TYPES: Readonly<Record<string, "string" | "number" | "list" | "map">> = {
  QueueUrl: "string",
  QueueName: "string",
  QueueNamePrefix: "string",
  NextToken: "string",
  Id: "string",
  ReceiptHandle: "string",
  MessageBody: "string",
  MessageGroupId: "string",
  MessageDeduplicationId: "string",
  ReceiveRequestAttemptId: "string",
  SourceArn: "string",
  DestinationArn: "string",
  TaskHandle: "string",
  DelaySeconds: "number",
  VisibilityTimeout: "number",
  WaitTimeSeconds: "number",
  MaxNumberOfMessages: "number",
  MaxNumberOfMessagesPerSecond: "number",
  MaxResults: "number",
  Entries: "list",
  AttributeNames: "list",
  MessageAttributeNames: "list",
  MessageSystemAttributeNames: "list",
  Attributes: "map",
  MessageAttributes: "map",
  MessageSystemAttributes: "map",
};

/**
 * The input of an operation without its `null` members, once every parameter is of the type that it must be. Throws
 * `SerializationException`, as the service does before it looks at anything else.
 */
export function checkedInput(input: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    if (value === null || value === undefined) continue;
    const type = TYPES[name];
    if (type !== undefined && typeOf(value) !== type) {
      throw new SqsError("SerializationException", `${name} must be a ${type}, not a ${typeOf(value)}.`);
    }
    checked[name] = name === "Entries" ? (value as readonly unknown[]).map(checkedEntry) : value;
  }
  return checked;
}

function checkedEntry(entry: unknown): unknown {
  if (typeOf(entry) === "map") return checkedInput(entry as Readonly<Record<string, unknown>>);
  throw new SqsError("SerializationException", `An entry must be a map, not a ${typeOf(entry)}.`);
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
  return typeof value === "object" && value !== null ? "map" : typeof value;
}
