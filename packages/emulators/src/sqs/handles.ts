import { randomUUID } from "node:crypto";
import { SqsError } from "./errors.ts";
import type { Message } from "./message.ts";

/** What a receipt handle says: which message, and which receive of it. */
export interface Receipt {
  readonly number: number;
  readonly receive: number;
}

/** Makes and reads the receipt handles of one queue. Another queue's handles and garbage are told apart (SQS-12). */
export interface Handles {
  of(message: Message): string;
  /** Throws `ReceiptHandleIsInvalid`. */
  read(handle: string): Receipt;
}

export function createHandles(): Handles {
  const key = randomUUID();
  const pattern = new RegExp(`^${key}:(\\d+):(\\d+)$`);
  return {
    of: ({ number, receiveCount }) => Buffer.from(`${key}:${number}:${receiveCount}`, "latin1").toString("base64"),
    read(handle) {
      const bytes = Buffer.from(handle, "base64");
      const match = pattern.exec(bytes.toString("latin1"));
      // Node reads past what is no base64, so a handle with something cut off or put on would pass for the whole one.
      if (match !== null && bytes.toString("base64") === handle)
        return { number: Number(match[1]), receive: Number(match[2]) };
      throw new SqsError(
        "ReceiptHandleIsInvalid",
        `The input receipt handle "${handle}" is not a valid receipt handle.`,
      );
    },
  };
}
