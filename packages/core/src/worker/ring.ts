import { parseTime } from "../clock.ts";
import { ringMessage } from "../envelope/message.ts";
import { fromUnknown } from "../errors.ts";
import type { TaskRecord } from "../record/record.ts";
import { within } from "../util/timeout.ts";
import type { Runtime } from "./runtime.ts";

export interface Ring {
  /** For the measure: `lost`, `lapsed`, `released`, `resumed`, `reopened`. */
  readonly cause: string;
  /** Longer than the broker holds a sent message: not sent, the recovery loop rings at the time. */
  readonly delayMs?: number;
}

/** A ring without an answer is given up after this, ms. */
const SEND_TIMEOUT_MS = 30_000;

/**
 * Sends a message that says "look at this task". Never throws: `check_at` is set, so what could not be sent is rung by the
 * recovery loop.
 */
export async function sendRing(
  runtime: Pick<Runtime, "clock" | "driver" | "telemetry">,
  record: TaskRecord,
  ring: Ring,
): Promise<boolean> {
  const { clock, driver, telemetry } = runtime;
  const delayMs = ring.delayMs ?? 0;
  if (delayMs > driver.capabilities.maxSendDelayMs) return false;
  const checkAt = record.check_at === undefined ? 0 : parseTime(record.check_at);
  try {
    const label = { queue: driver.queue, provider: driver.provider, type: record.task_type, taskId: record.task_id };
    const message = ringMessage(record, checkAt, { delayMs });
    const [outcome] = await telemetry.send(label, () => within(clock, SEND_TIMEOUT_MS, "ring", driver.send([message])));
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
