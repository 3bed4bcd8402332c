import { parseTime } from "../clock.ts";
import { ringMessage } from "../envelope/message.ts";
import { fromUnknown } from "../errors.ts";
import type { TaskRecord } from "../record/record.ts";
import type { Runtime } from "./runtime.ts";

export interface Ring {
  /** For the measure: `lost`, `lapsed`, `released`, `resumed`, `reopened`. */
  readonly cause: string;
  /** Longer than the broker holds a sent message: not sent, the recovery loop rings at the time. */
  readonly delayMs?: number;
}

/**
 * Sends a message that says "look at this task". Never throws: `check_at` is set, so what could not be sent is rung by the
 * recovery loop.
 */
export async function sendRing(
  runtime: Pick<Runtime, "driver" | "telemetry">,
  record: TaskRecord,
  ring: Ring,
): Promise<boolean> {
  const { driver, telemetry } = runtime;
  const delayMs = ring.delayMs ?? 0;
  if (delayMs > driver.capabilities.maxSendDelayMs) return false;
  const checkAt = record.check_at === undefined ? 0 : parseTime(record.check_at);
  try {
    const label = { queue: driver.queue, provider: driver.provider, type: record.task_type, taskId: record.task_id };
    const [outcome] = await telemetry.send(label, () => driver.send([ringMessage(record, checkAt, { delayMs })]));
    if (outcome?.status !== "confirmed") {
      telemetry.callFailed("ring", outcome?.status === "failed" ? outcome.code : "unconfirmed");
      return false;
    }
    telemetry.ring(driver.queue, ring.cause);
    return true;
  } catch (error) {
    telemetry.callFailed("ring", fromUnknown(error, "ring").code);
    return false;
  }
}
