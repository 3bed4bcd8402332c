import {
  type BatchResultErrorEntry,
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  SendMessageBatchCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { chunksOf, type LeaseholdError, type Outcome, type SendOutcome } from "@leasehold/core/driver";
import { MAX_MESSAGE_BYTES } from "./capabilities.ts";
import { fromSqs, outcomeOf } from "./errors.ts";
import { bytesOf, type SendEntry } from "./messages.ts";

/** Where a batch goes, and how an error speaks of it. */
export interface BatchTarget {
  readonly control: SQSClient;
  readonly queueUrl: string;
  readonly signal?: AbortSignal | undefined;
}

/** What an entry that SQS took means: without proof on a standard queue (SQS-09). */
type Applied = Outcome & { readonly status: "confirmed" | "unconfirmed" };

interface BatchAnswer {
  readonly Successful?:
    | readonly { readonly Id?: string | undefined; readonly MessageId?: string | undefined }[]
    | undefined;
  readonly Failed?: readonly BatchResultErrorEntry[] | undefined;
}

/**
 * Sends in order, in as few calls as count and bytes allow (SQS-43). After a call that failed as a whole the rest is not
 * sent: it would overtake what is to be sent again.
 */
export async function sendBatch(target: BatchTarget, entries: readonly SendEntry[]): Promise<readonly SendOutcome[]> {
  const outcomes: SendOutcome[] = [];
  let broken: LeaseholdError | undefined;
  for (const chunk of chunksOf(entries, bytesOf, MAX_MESSAGE_BYTES)) {
    if (broken !== undefined) {
      const error = broken;
      outcomes.push(...chunk.map((): SendOutcome => ({ status: "failed", code: error.code, error })));
      continue;
    }
    const Entries = chunk.map((entry, index) => ({ ...entry, Id: String(index) }));
    const answers = await answersOf(chunk.length, "sending", async () =>
      target.control.send(new SendMessageBatchCommand({ QueueUrl: target.queueUrl, Entries }), optionsOf(target)),
    );
    broken = answers.callError;
    outcomes.push(...answers.entries.map(sentOf));
  }
  return outcomes;
}

export async function deleteBatch(
  { control, queueUrl }: BatchTarget,
  tokens: readonly string[],
  applied: Applied,
): Promise<readonly Outcome[]> {
  if (tokens.length === 0) return [];
  const Entries = tokens.map((ReceiptHandle, index) => ({ ReceiptHandle, Id: String(index) }));
  const answers = await answersOf(tokens.length, "deleting", () =>
    control.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries })),
  );
  return answers.entries.map((answer) => ("error" in answer ? outcomeOf(answer.error) : applied));
}

export interface VisibilityChange {
  readonly token: string;
  /** From now. 0: visible at once. */
  readonly seconds: number;
}

export async function changeBatch(
  { control, queueUrl }: BatchTarget,
  changes: readonly VisibilityChange[],
  applied: Applied,
): Promise<readonly Outcome[]> {
  if (changes.length === 0) return [];
  const Entries = changes.map(({ token, seconds }, index) => ({
    Id: String(index),
    ReceiptHandle: token,
    VisibilityTimeout: seconds,
  }));
  const answers = await answersOf(changes.length, "changing visibility", () =>
    control.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries })),
  );
  return answers.entries.map((answer) => ("error" in answer ? outcomeOf(answer.error) : applied));
}

type EntryAnswer = { readonly messageId?: string } | { readonly error: LeaseholdError };

interface BatchAnswers {
  readonly entries: readonly EntryAnswer[];
  /** The call failed as a whole. */
  readonly callError?: LeaseholdError;
}

/** Status 200 says nothing of an entry (SQS-40): each has its own answer, and one without is an answer that got lost. */
async function answersOf(count: number, doing: string, call: () => Promise<BatchAnswer>): Promise<BatchAnswers> {
  let answer: BatchAnswer;
  try {
    answer = await call();
  } catch (error) {
    const callError = fromSqs(error, doing);
    return { entries: Array.from({ length: count }, () => ({ error: callError })), callError };
  }
  const entries: EntryAnswer[] = Array.from({ length: count }, () => ({
    error: fromSqs({ message: "the answer does not mention this entry" }, doing),
  }));
  for (const { Id, MessageId } of answer.Successful ?? []) {
    entries[Number(Id)] = MessageId === undefined ? {} : { messageId: MessageId };
  }
  for (const failed of answer.Failed ?? []) entries[Number(failed.Id)] = { error: fromSqs(failed, doing) };
  return { entries };
}

function sentOf(answer: EntryAnswer): SendOutcome {
  if (!("error" in answer)) return { status: "confirmed", ...answer };
  const outcome = outcomeOf(answer.error);
  if (outcome.status === "unconfirmed") return { status: "unconfirmed", error: answer.error };
  return { status: "failed", code: answer.error.code, error: answer.error };
}

function optionsOf({ signal }: BatchTarget): { readonly abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}
