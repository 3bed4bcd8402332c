import assert from "node:assert/strict";
import type { Call } from "@leasehold/emulators";

/** Operations that write items, those of batches, transactions and PartiQL included: these could write without a condition. */
const WRITES = /^(?:Put|Update|Delete)Item$|^BatchWriteItem$|^Transact|Statement/;
const SINGLE: ReadonlySet<string> = new Set(["PutItem", "UpdateItem", "DeleteItem"]);

export interface WriteWatch {
  onCall(call: Pick<Call, "operation" | "input">): void;
  /** Insists that there were writes, and that each had a condition. */
  verify(): void;
}

/** Watches every request to a DynamoDB. */
export function watchWrites(): WriteWatch {
  let writes = 0;
  const unconditional: string[] = [];
  return {
    onCall({ operation, input }) {
      if (!WRITES.test(operation)) return;
      writes += 1;
      const condition = input?.["ConditionExpression"];
      const conditional = SINGLE.has(operation) && typeof condition === "string" && condition !== "";
      if (!conditional) unconditional.push(`${operation} ${JSON.stringify(input?.["Key"] ?? input?.["Item"])}`);
    },
    verify() {
      assert.deepEqual(unconditional, [], "writes without a condition");
      assert.ok(writes > 0, "nothing was written");
    },
  };
}
