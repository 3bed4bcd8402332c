import { createHash, randomUUID } from "node:crypto";
import { invalid } from "../errors.ts";
import type { Entry } from "./entry.ts";

/** Which hand-over an ack id is of. */
export interface AckTarget {
  readonly number: number;
  readonly delivery: number;
}

export interface AckIds {
  of(entry: Entry): string;
  /** Throws INVALID_ARGUMENT for text that this subscription gave to nobody. */
  read(ackId: string): AckTarget;
}

/** Ack ids are as long as those of the service, about 180 characters, so that limits by bytes are met as there (PS-01). */
const MARK_LENGTH = 160;

/** `secret`: makes ids of one subscription nobody else's. */
export function createAckIds(secret: string = randomUUID()): AckIds {
  function markOf(number: number, delivery: number): string {
    const hash = createHash("sha512").update(`${secret} ${number} ${delivery}`).digest("hex");
    return (hash + hash).slice(0, MARK_LENGTH);
  }

  return {
    of: ({ number, deliveries }) => `${number.toString(36)}-${deliveries.toString(36)}-${markOf(number, deliveries)}`,
    read(ackId) {
      const [number = "", delivery = "", mark] = ackId.split("-");
      const target = { number: Number.parseInt(number, 36), delivery: Number.parseInt(delivery, 36) };
      if (mark !== markOf(target.number, target.delivery))
        throw invalid(`Invalid ack id (ack_id=${ackId.slice(0, 200)})`);
      return target;
    },
  };
}
