import type { Message, Properties } from "../../broker/message.ts";
import type { Outcome } from "../../broker/settlement.ts";
import { invalidField } from "../../errors.ts";
import { type Fields, integerOf, isMap } from "../fields.ts";
import { bytesToGuid, guidToBytes } from "../guid.ts";
import { joinMessage } from "../join.ts";
import { TYPE_LONG, TYPE_TIMESTAMP, types } from "../rhea.ts";
import { splitMessage } from "../split.ts";
import { inboxIn, type Operation, queueIn } from "./operation.ts";

/** What `disposition-status` can be. The service's own spelling of deferred is wrong. */
const DISPOSITIONS: Readonly<Record<string, Outcome["kind"]>> = {
  completed: "complete",
  abandoned: "abandon",
  defered: "defer",
  deferred: "defer",
  suspended: "dead-letter",
  unlocked: "release",
};

/** Operations on messages, by their names after `com.microsoft:`. */
export const messageOperations: Readonly<Record<string, Operation>> = {
  "renew-lock"(input) {
    const until = queueIn(input).settlement.renew(lockTokens(input.fields));
    return { expirations: types.wrap_array(until.map(Math.floor), TYPE_TIMESTAMP) };
  },
  "schedule-message"(input) {
    const contents = input.fields.list("messages").map((entry) => {
      const bytes = isMap(entry) ? entry["message"] : undefined;
      if (!Buffer.isBuffer(bytes)) throw invalidField("Each of the messages has to be a map with a binary message.");
      return splitMessage(bytes);
    });
    return { "sequence-numbers": types.wrap_array(inboxIn(input).schedule(contents), TYPE_LONG) };
  },
  "cancel-scheduled-message"(input) {
    inboxIn(input).cancelScheduled(sequenceNumbers(input.fields));
    return {};
  },
  "peek-message"(input) {
    const { fields } = input;
    const from = fields.integer("from-sequence-number");
    const sessionId = fields.optionalText("session-id");
    const found = queueIn(input).settlement.peek(from, fields.integer("message-count"), sessionId);
    if (found.length === 0) return undefined;
    const isBodyLeftOut = fields.flag("omit-message-body");
    return { messages: found.map((message) => ({ message: joinMessage(message, undefined, { isBodyLeftOut }) })) };
  },
  "receive-by-sequence-number"(input) {
    const { fields } = input;
    const mode = fields.integer("receiver-settle-mode");
    if (mode !== 0 && mode !== 1) throw invalidField("The field receiver-settle-mode has to be 0 or 1.");
    const sessionId = fields.optionalText("session-id");
    const hold = sessionId === undefined ? undefined : input.hold(sessionId);
    const found = queueIn(input).settlement.receiveDeferred(sequenceNumbers(fields), mode === 1, hold);
    return { messages: found.map(received) };
  },
  "update-disposition"(input) {
    const { fields } = input;
    const outcome = outcomeIn(fields);
    for (const token of lockTokens(fields)) queueIn(input).settlement.settle(token, outcome);
    return {};
  },
  "batch-delete-messages"(input) {
    const { fields } = input;
    const before = fields.time("enqueued-time-utc");
    const count = queueIn(input).settlement.discard(fields.integer("message-count"), before);
    return { "message-count": types.wrap_int(count) };
  },
};

/** The kind of settlement that a request asks for; `undefined` when it is none. */
export function dispositionOf(status: unknown): Outcome["kind"] | undefined {
  return typeof status === "string" && Object.hasOwn(DISPOSITIONS, status) ? DISPOSITIONS[status] : undefined;
}

function outcomeIn(fields: Fields): Outcome {
  const kind = dispositionOf(fields.text("disposition-status"));
  if (kind === undefined)
    throw invalidField(`The field disposition-status has to be one of ${Object.keys(DISPOSITIONS)}.`);
  const reason = fields.optionalText("deadletter-reason");
  const description = fields.optionalText("deadletter-description");
  const properties: Properties = {
    ...fields.optionalMap("properties-to-modify"),
    ...(reason === undefined ? {} : { DeadLetterReason: reason }),
    ...(description === undefined ? {} : { DeadLetterErrorDescription: description }),
  };
  return { kind, properties };
}

function received(message: Message): object {
  const { lock, session, dueAt } = message;
  if (lock === undefined) return { message: joinMessage(message, undefined) };
  const bytes = joinMessage(message, session?.lockedUntil ?? dueAt, { hasToken: true });
  return { message: bytes, "lock-token": types.wrap_uuid(guidToBytes(lock.token)) };
}

function lockTokens(fields: Fields): readonly string[] {
  return fields.list("lock-tokens").map((value) => {
    const token = Buffer.isBuffer(value) ? bytesToGuid(value) : undefined;
    if (token === undefined) throw invalidField("The field lock-tokens has to be an array of UUIDs.");
    return token;
  });
}

function sequenceNumbers(fields: Fields): readonly number[] {
  return fields.list("sequence-numbers").map((value) => {
    const sequenceNumber = integerOf(value);
    if (sequenceNumber === undefined) throw invalidField("The field sequence-numbers has to be an array of longs.");
    return sequenceNumber;
  });
}
