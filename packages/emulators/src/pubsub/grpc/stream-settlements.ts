import { checkDeadline } from "../broker/settings.ts";
import type { Subscription } from "../broker/subscription.ts";
import { invalid, PubsubError } from "../errors.ts";

/** What a request on a stream may settle. */
export interface Settlements {
  readonly ackIds: readonly string[];
  readonly modifyDeadlineAckIds: readonly string[];
  /** One for each of the ids. */
  readonly modifyDeadlineSeconds: readonly number[];
}

interface Confirmation {
  readonly ackIds: string[];
  readonly invalidAckIds: string[];
}

/**
 * Applies acks and new deadlines. Exactly-once: answers what became of each id, and an id that is none any more does not end the
 * stream (proto StreamingPullResponse; Google's emulator lets it live as well, and says nothing). Else it answers nothing, and
 * throws INVALID_ARGUMENT for text that is no id.
 */
export function settle(settlements: Settlements, on: Subscription): object | undefined {
  const { ackIds, modifyDeadlineAckIds, modifyDeadlineSeconds } = settlements;
  if (modifyDeadlineAckIds.length !== modifyDeadlineSeconds.length) {
    throw invalid("modify_deadline_seconds and modify_deadline_ack_ids must have the same length");
  }
  for (const seconds of modifyDeadlineSeconds) checkDeadline(seconds);
  const isExact = on.config().enableExactlyOnceDelivery === true;

  function each(ids: readonly string[], apply: (ackId: string, index: number) => void): Confirmation {
    const confirmation: Confirmation = { ackIds: [], invalidAckIds: [] };
    ids.forEach((ackId, index) => {
      try {
        apply(ackId, index);
        confirmation.ackIds.push(ackId);
      } catch (error) {
        if (!isExact || !(error instanceof PubsubError)) throw error;
        confirmation.invalidAckIds.push(ackId);
      }
    });
    return confirmation;
  }

  const acknowledged = each(ackIds, (ackId) => on.acknowledge([ackId]));
  const modified = each(modifyDeadlineAckIds, (ackId, index) =>
    on.modifyAckDeadline([ackId], modifyDeadlineSeconds[index] as number),
  );
  if (!isExact || ackIds.length + modifyDeadlineAckIds.length === 0) return undefined;
  return {
    ...(ackIds.length > 0 && { acknowledgeConfirmation: acknowledged }),
    ...(modifyDeadlineAckIds.length > 0 && { modifyAckDeadlineConfirmation: modified }),
  };
}
