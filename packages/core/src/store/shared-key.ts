import { LeaseholdError } from "../errors.ts";
import { expiry, requireCount, requireTaskId, requireText } from "./arguments.ts";
import type { Condition, Item, ItemStore } from "./items.ts";
import { sharedKeyKey } from "./keys.ts";
import type { ClaimKeyOutcome, ClaimKeyRequest, KeyOwner } from "./task-store.ts";

/**
 * Names the owner of an effect key that tasks share. A later lease of the owner's task takes it along; another task takes it
 * over only from exactly the owner that it read and judged, so an owner that came back meanwhile, under a higher fence, keeps it.
 */
export async function claimKey(items: ItemStore, request: ClaimKeyRequest): Promise<ClaimKeyOutcome> {
  const { owner, from } = request;
  requireText(request.system, "system");
  requireText(request.key, "key", Number.POSITIVE_INFINITY);
  requireTaskId(owner.task_id);
  requireCount(owner.fence, "owner.fence", 1);
  const item: Item = {
    task_id: owner.task_id,
    fence: owner.fence,
    expire_at: expiry(request.at, 2 * request.retentionMs),
  };
  const condition: Condition = {
    any:
      from === undefined ? [{ absent: "task_id" }, sameTask(owner, "<=")] : [sameTask(from, "="), sameTask(owner, "=")],
  };
  const outcome = await items.put(sharedKeyKey(request.system, request.key), item, condition);
  if (outcome.applied) return { outcome: "claimed", fresh: outcome.old === undefined };
  if (outcome.old !== undefined) return { outcome: "held", owner: ownerOf(outcome.old, request) };
  // Only a takeover can find nothing: the owner's item has expired since it was read.
  if (from !== undefined) return claimKey(items, withoutFrom(request));
  throw new LeaseholdError("Unknown", `the claim of a shared key in ${request.system} was refused, and nobody owns it`);
}

function sameTask(owner: KeyOwner, is: "=" | "<="): Condition {
  return {
    all: [
      { field: "task_id", is: "=", value: owner.task_id },
      { field: "fence", is, value: owner.fence },
    ],
  };
}

function withoutFrom({ from: _, ...request }: ClaimKeyRequest): ClaimKeyRequest {
  return request;
}

function ownerOf(item: Item, request: ClaimKeyRequest): KeyOwner {
  const { task_id, fence } = item;
  if (typeof task_id === "string" && typeof fence === "number") return { task_id, fence };
  throw new LeaseholdError(
    "Unknown",
    `the owner of shared key ${request.key.slice(0, 80)} in ${request.system} does not parse: expected task_id and fence`,
    {
      details: { field: "task_id" },
    },
  );
}
