import type { EmulatorClock } from "../../clock.ts";
import { notAllowed, ServicebusError } from "../errors.ts";
import { createDuplicateWindow } from "./duplicates.ts";
import type { Content } from "./message.ts";

/** Where senders send to: a queue, or a topic. */
export interface Inbox {
  readonly maxMessageBytes: number;
  /** Takes all or none. Throws when one cannot be sent here. Duplicates are dropped without a word (SB-34, SB-44). */
  send(contents: readonly Content[]): void;
  /** As `send`; answers the sequence number by which each can be cancelled until its time has come. */
  schedule(contents: readonly Content[]): readonly number[];
  cancelScheduled(sequenceNumbers: readonly number[]): void;
}

export interface InboxRules {
  readonly maxMessageBytes: number;
  readonly duplicateDetectionWindowMs: number;
  readonly requiresSession: boolean;
  /** Stores one, at once or for `scheduledAt`. Answers its sequence number. */
  store(content: Content, scheduledAt: number | undefined): number;
  cancelScheduled(sequenceNumbers: readonly number[]): void;
  changed(): void;
}

export function createInbox(clock: EmulatorClock, rules: InboxRules): Inbox {
  const window = createDuplicateWindow(rules.duplicateDetectionWindowMs);

  function check(content: Content): void {
    if (content.bytes > rules.maxMessageBytes) {
      throw new ServicebusError(
        "amqp:link:message-size-exceeded",
        `The message has ${content.bytes} bytes; the limit is ${rules.maxMessageBytes}.`,
      );
    }
    if (rules.requiresSession && content.sessionId === undefined) {
      throw notAllowed("The session id was not set on a message, and the entity requires sessions.");
    }
  }

  function take(content: Content): number {
    const now = clock.now();
    const earlier = window.earlier(content.id, now);
    if (earlier !== undefined) return earlier;
    const { scheduledAt } = content;
    const sequenceNumber = rules.store(
      content,
      scheduledAt !== undefined && scheduledAt > now ? scheduledAt : undefined,
    );
    window.note(content.id, sequenceNumber, now);
    return sequenceNumber;
  }

  function schedule(contents: readonly Content[]): readonly number[] {
    for (const content of contents) check(content);
    const sequenceNumbers = contents.map(take);
    rules.changed();
    return sequenceNumbers;
  }

  return {
    maxMessageBytes: rules.maxMessageBytes,
    send: (contents) => void schedule(contents),
    schedule,
    cancelScheduled: rules.cancelScheduled,
  };
}
