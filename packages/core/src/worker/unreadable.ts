import { createHash } from "node:crypto";
import { MAX_INPUT_BYTES } from "../envelope/envelope.ts";
import { foreignTaskId } from "../envelope/ids.ts";
import type { Delivery } from "../queue/driver.ts";
import { canonicalJson, clipBytes, sha256Hex } from "../util/json.ts";
import type { Runtime } from "./runtime.ts";

/** Bytes of the end reason. */
const MAX_REASON_BYTES = 512;

/** The task id of a message that is no task: the same each time that it comes. */
export function unreadableTaskId(queue: string, delivery: Delivery): string {
  return foreignTaskId(
    queue,
    "leasehold:unreadable",
    delivery.messageId || createHash("sha256").update(delivery.body).digest("hex"),
  );
}

/**
 * Keeps a message that cannot be read, where the broker has no dead-letter queue: as a dead-lettered record of its own, with the
 * body as its input. Made again by the same message it changes nothing. Throws what the store throws.
 */
export async function keepUnreadable(runtime: Runtime, delivery: Delivery, code: string, text: string): Promise<void> {
  const { clock, driver, entropy, owner, settings, store } = runtime;
  const taskId = unreadableTaskId(driver.queue, delivery);
  const input = canonicalJson(
    { body: clipBytes(delivery.body, MAX_INPUT_BYTES / 2), content_type: delivery.contentType ?? null },
    "message",
  );
  const token = entropy.token();
  const at = clock.now();
  const created = await store.create({
    taskId,
    type: "unreadable",
    queue: driver.queue,
    input,
    inputHash: sha256Hex(input),
    idempotencyKey: taskId,
    at,
    recoverAfterMs: settings.recoverAfterMs,
    retentionMs: settings.retentionMs,
    token,
    lease: { owner, leaseMs: settings.receiveLeaseMs },
  });
  if (created.outcome === "exists" && created.record.status !== "leased") return;
  await store.deadLetter({
    taskId,
    token: created.record.lease_token ?? token,
    seq: (created.record.lease_seq ?? 0) + 1,
    at,
    endReason: `${code}: ${clipBytes(text, MAX_REASON_BYTES)}`,
    retentionMs: settings.retentionMs,
  });
}
