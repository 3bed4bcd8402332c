import { type BatchEntry, checkEntries, checkRange, refusal, renderFailure, runBatch } from "../batch.ts";
import type { Broker, NamedQueue } from "../broker.ts";
import { missingParameter, SqsError } from "../errors.ts";
import type { Message } from "../message.ts";
import type { Queue } from "../queue.ts";
import { MAX_MESSAGE_BYTES, MAX_VISIBILITY_SECONDS, MAX_WAIT_SECONDS } from "../queue-attributes.ts";
import { renderMessage, type Wanted } from "../render.ts";
import { createSender, messageSize, type Prepared, type Sender, type SendInput } from "../send.ts";
import { type Caller, type Operations, queueOf } from "./operation.ts";

interface ForQueue {
  readonly QueueUrl?: string;
}

interface ReceiveInput extends ForQueue {
  readonly MaxNumberOfMessages?: number;
  readonly VisibilityTimeout?: number;
  readonly WaitTimeSeconds?: number;
  readonly ReceiveRequestAttemptId?: string;
  readonly AttributeNames?: readonly string[];
  readonly MessageSystemAttributeNames?: readonly string[];
  readonly MessageAttributeNames?: readonly string[];
}

interface HandleEntry extends BatchEntry {
  readonly ReceiptHandle?: string;
  readonly VisibilityTimeout?: number;
}

interface Batch<T> extends ForQueue {
  readonly Entries?: readonly T[];
}

/** SQS-42. */
const MAX_RECEIVE = 10;

/** Operations on messages, single and in batches. */
export function messageOperations(broker: Broker): Operations {
  const senders = new WeakMap<Queue, Sender>();

  function senderOf({ queue }: NamedQueue): Sender {
    let sender = senders.get(queue);
    if (sender === undefined) {
      sender = createSender(queue, () => broker.clock.now());
      senders.set(queue, sender);
    }
    return sender;
  }

  return {
    SendMessage(input: SendInput & ForQueue) {
      const sender = senderOf(queueOf(broker, input));
      sender.checkIds(input);
      const [output] = sender.send([sender.prepare(input)]);
      return output as object;
    },
    SendMessageBatch: (input: Batch<SendInput & BatchEntry>) => sendBatch(senderOf(queueOf(broker, input)), input),
    ReceiveMessage: (input: ReceiveInput, caller) => receive(queueOf(broker, input).queue, input, caller),
    DeleteMessage(input: HandleEntry & ForQueue) {
      remove(queueOf(broker, input).queue, input);
      return {};
    },
    DeleteMessageBatch(input: Batch<HandleEntry>) {
      const { queue } = queueOf(broker, input);
      return runBatch(checkEntries(input.Entries, "DeleteMessageBatchRequestEntry"), (entry) => remove(queue, entry));
    },
    ChangeMessageVisibility(input: HandleEntry & ForQueue) {
      changeVisibility(queueOf(broker, input).queue, input);
      return {};
    },
    ChangeMessageVisibilityBatch(input: Batch<HandleEntry>) {
      const { queue } = queueOf(broker, input);
      const entries = checkEntries(input.Entries, "ChangeMessageVisibilityBatchRequestEntry");
      return runBatch(entries, (entry) => changeVisibility(queue, entry));
    },
  };
}

function sendBatch(sender: Sender, input: Batch<SendInput & BatchEntry>): object {
  const entries = checkEntries(input.Entries, "SendMessageBatchRequestEntry");
  const total = entries.reduce((sum, entry) => sum + messageSize(entry), 0);
  if (total > MAX_MESSAGE_BYTES) {
    throw new SqsError(
      "BatchRequestTooLong",
      `Batch requests cannot be longer than ${MAX_MESSAGE_BYTES} bytes. You have sent ${total} bytes.`,
    );
  }
  for (const entry of entries) sender.checkIds(entry);
  const accepted: Prepared[] = [];
  const ids: (string | undefined)[] = [];
  const Failed: object[] = [];
  for (const entry of entries) {
    const error = refusal(() => {
      accepted.push(sender.prepare(entry));
      ids.push(entry.Id);
    });
    if (error !== undefined) Failed.push(renderFailure(entry, error));
  }
  const outputs = sender.send(accepted);
  return { Successful: outputs.map((output, index) => ({ Id: ids[index], ...output })), Failed };
}

function receive(queue: Queue, input: ReceiveInput, caller: Caller): object | Promise<object> {
  checkRange("MaxNumberOfMessages", input.MaxNumberOfMessages, 1, MAX_RECEIVE);
  checkRange("VisibilityTimeout", input.VisibilityTimeout, 0, MAX_VISIBILITY_SECONDS);
  checkRange("WaitTimeSeconds", input.WaitTimeSeconds, 0, MAX_WAIT_SECONDS);
  const { visibilityMs, receiveWaitMs } = queue.settings();
  const wanted: Wanted = {
    systemNames: [...(input.MessageSystemAttributeNames ?? []), ...(input.AttributeNames ?? [])],
    names: input.MessageAttributeNames ?? [],
  };
  const answer = (messages: readonly Message[]): object => ({
    // Left out when there is none (SQS-29).
    Messages:
      messages.length === 0
        ? undefined
        : messages.map((message) => renderMessage(message, queue.handleOf(message), wanted)),
  });
  const received = queue.receive({
    max: input.MaxNumberOfMessages ?? 1,
    visibilityMs: input.VisibilityTimeout === undefined ? visibilityMs : input.VisibilityTimeout * 1_000,
    waitMs: input.WaitTimeSeconds === undefined ? receiveWaitMs : input.WaitTimeSeconds * 1_000,
    attemptId: input.ReceiveRequestAttemptId,
    onGone: caller.onGone,
  });
  return received instanceof Promise ? received.then(answer) : answer(received);
}

function remove(queue: Queue, { ReceiptHandle: handle }: HandleEntry): void {
  if (handle === undefined) throw missingParameter("ReceiptHandle");
  queue.remove(handle);
}

function changeVisibility(queue: Queue, { ReceiptHandle: handle, VisibilityTimeout: seconds }: HandleEntry): void {
  if (handle === undefined) throw missingParameter("ReceiptHandle");
  if (seconds === undefined) throw missingParameter("VisibilityTimeout");
  checkRange("VisibilityTimeout", seconds, 0, MAX_VISIBILITY_SECONDS);
  queue.changeVisibility(handle, seconds);
}
