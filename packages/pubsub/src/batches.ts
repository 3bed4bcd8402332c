import type { v1 } from "@google-cloud/pubsub";
import { chunksOf, type LeaseholdError, type Outcome, type SendOutcome } from "@leasehold/core/driver";
import { MAX_ENTRY_BYTES } from "./capabilities.ts";
import { CONTROL_TIMEOUT_MS, callOptions, ready } from "./client.ts";
import { failed, fromPubsub, outcomeOf, outcomeOfVerdict, verdictsOf } from "./errors.ts";
import { bytesOf, type PublishEntry } from "./messages.ts";

/** A topic, and who publishes to it. */
export interface TopicTarget {
  readonly publisher: v1.PublisherClient;
  /** Full name. */
  readonly topic: string;
  readonly signal?: AbortSignal | undefined;
}

/** A subscription, and who settles on it. */
export interface SubscriptionTarget {
  readonly control: v1.SubscriberClient;
  /** Full name. */
  readonly subscription: string;
  /** Are answers a proof, and do errors speak of single ack ids (PS-04)? */
  readonly exactlyOnce: boolean;
}

/** A second for each megabyte that goes up, beside what any call may take. */
const BYTES_PER_MS = 1_000;
/** The service takes 512 KiB; the rest is for the subscription's name and for framing (PS-26). */
const MAX_ACK_BYTES = 480 * 1_024;
/**
 * With exactly-once delivery the answer may name every ack id with its verdict, in a trailer of HTTP/2, in base64. The HTTP/2 of
 * Node takes none of more than 64 KiB: the call would then end without any answer, at its deadline. Measured, not documented.
 */
const MAX_VERDICT_BYTES = 40_000;
/** A verdict, and the framing of its entry. */
const VERDICT_BYTES = 48;
/** What an ack id takes beside itself. */
const FRAME_BYTES = 4;

/**
 * Publishes in order, in as few calls as bytes allow. After a call that failed the rest is not sent: it would overtake what is to be
 * sent again.
 */
export async function publishBatch(
  target: TopicTarget,
  entries: readonly PublishEntry[],
): Promise<readonly SendOutcome[]> {
  const outcomes: SendOutcome[] = [];
  let broken: LeaseholdError | undefined;
  for (const chunk of chunksOf(entries, bytesOf, MAX_ENTRY_BYTES)) {
    if (broken !== undefined) {
      const error = broken;
      outcomes.push(...chunk.map(() => failed(error)));
      continue;
    }
    const answer = await publish(target, chunk);
    if ("error" in answer) broken = answer.error;
    outcomes.push(...chunk.map((_, index) => sentOf(answer, index)));
  }
  return outcomes;
}

type PublishAnswer = { readonly messageIds: readonly string[] } | { readonly error: LeaseholdError };

async function publish(
  { publisher, topic, signal }: TopicTarget,
  entries: readonly PublishEntry[],
): Promise<PublishAnswer> {
  const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
  const options = callOptions(CONTROL_TIMEOUT_MS + Math.ceil(bytes / BYTES_PER_MS), signal);
  try {
    const client = await ready(publisher);
    const [{ messageIds }] = await client.publish({ topic, messages: [...entries] }, options);
    return { messageIds: messageIds ?? [] };
  } catch (error) {
    return { error: fromPubsub(error, `publishing to ${topic}`, "pubsub.topics.publish") };
  }
}

function sentOf(answer: PublishAnswer, index: number): SendOutcome {
  if ("error" in answer) {
    const { error } = answer;
    return outcomeOf(error).status === "unconfirmed" ? { status: "unconfirmed", error } : failed(error);
  }
  const messageId = answer.messageIds[index];
  if (messageId !== undefined) return { status: "confirmed", messageId };
  return { status: "unconfirmed", error: fromPubsub("the answer does not mention this message", "publishing") };
}

/** Acknowledges, in as few calls as bytes allow. */
export async function acknowledgeBatch(
  target: SubscriptionTarget,
  tokens: readonly string[],
): Promise<readonly Outcome[]> {
  const { control, subscription } = target;
  const doing = `acknowledging on ${subscription}`;
  const outcomes = await outcomesOf(target, tokens, doing, async (ackIds) => {
    const client = await ready(control);
    await client.acknowledge({ subscription, ackIds }, callOptions(CONTROL_TIMEOUT_MS));
  });
  return tokens.map((token) => outcomes.get(token) as Outcome);
}

export interface DeadlineChange {
  readonly token: string;
  /** From now. 0: to be delivered again at once. */
  readonly seconds: number;
}

/** Sets ack deadlines: one call has one deadline, so there is a call for each that occurs. They go side by side (PS-08). */
export async function changeBatch(
  target: SubscriptionTarget,
  changes: readonly DeadlineChange[],
): Promise<readonly Outcome[]> {
  const { control, subscription } = target;
  const doing = `setting ack deadlines on ${subscription}`;
  const groups = [...Map.groupBy(changes, (change) => change.seconds)];
  const answers = await Promise.all(
    groups.map(async ([ackDeadlineSeconds, group]) => {
      const tokens = group.map((change) => change.token);
      const outcomes = await outcomesOf(target, tokens, doing, async (ackIds) => {
        const client = await ready(control);
        await client.modifyAckDeadline({ subscription, ackIds, ackDeadlineSeconds }, callOptions(CONTROL_TIMEOUT_MS));
      });
      return [ackDeadlineSeconds, outcomes] as const;
    }),
  );
  const bySeconds = new Map(answers);
  return changes.map(({ token, seconds }) => bySeconds.get(seconds)?.get(token) as Outcome);
}

/** What a call that went well proves. */
export function appliedOf({ exactlyOnce }: Pick<SubscriptionTarget, "exactlyOnce">): Outcome {
  return { status: exactlyOnce ? "confirmed" : "unconfirmed" };
}

/** The outcome of each ack id. One that is there twice is sent once: the second would be judged as stale. */
async function outcomesOf(
  target: SubscriptionTarget,
  tokens: readonly string[],
  doing: string,
  call: (ackIds: string[]) => Promise<void>,
): Promise<ReadonlyMap<string, Outcome>> {
  const [bytesOfToken, maxBytes] = target.exactlyOnce
    ? [(token: string) => Buffer.byteLength(token) + VERDICT_BYTES, MAX_VERDICT_BYTES]
    : [(token: string) => Buffer.byteLength(token) + FRAME_BYTES, MAX_ACK_BYTES];
  const chunks = chunksOf([...new Set(tokens)], bytesOfToken, maxBytes);
  const answers = await Promise.all(chunks.map((chunk) => outcomesOfChunk(chunk)));
  return new Map(answers.flat());

  async function outcomesOfChunk(ackIds: readonly string[]): Promise<(readonly [string, Outcome])[]> {
    try {
      await call([...ackIds]);
      return ackIds.map((ackId) => [ackId, appliedOf(target)]);
    } catch (error) {
      const callError = fromPubsub(error, doing, "pubsub.subscriptions.consume");
      const verdicts = verdictsOf(error);
      if (verdicts.size > 0) return ackIds.map((ackId) => [ackId, outcomeOfVerdict(verdicts.get(ackId), callError)]);
      // One malformed id costs all that came with it, and nothing was applied (PS-02): the halves are asked for themselves.
      if (callError.code !== "InvalidArgument" || ackIds.length === 1) {
        return ackIds.map((ackId) => [ackId, outcomeOf(callError)]);
      }
      const middle = Math.ceil(ackIds.length / 2);
      const former = await outcomesOfChunk(ackIds.slice(0, middle));
      return [...former, ...(await outcomesOfChunk(ackIds.slice(middle)))];
    }
  }
}
