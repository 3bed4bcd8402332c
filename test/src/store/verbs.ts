import type { TaskRecord } from "@leasehold/core/driver";
import type { StoreHarness } from "./harness.ts";
import { effect, effectsState, type HolderWrite, LEASE_MS, RECOVER_MS, RETENTION_MS, receiptOf } from "./support.ts";

type Answer = Promise<{ readonly outcome: string; readonly record?: TaskRecord }>;

/** One verb of a holder, with what it needs beside the frame of a write. */
export interface HolderVerb {
  readonly name: string;
  /** `queue` and `fence` are those of the record. */
  call(harness: StoreHarness, write: HolderWrite, record: { readonly queue: string; readonly fence: number }): Answer;
}

/** Each writes what is allowed under any live lease without open effects. */
export const holderVerbs: readonly HolderVerb[] = [
  {
    name: "renew",
    call: ({ store }, write) =>
      store.renew({ ...write, leaseMs: LEASE_MS, state: { ...write.state, stage: "external_call", claim_count: 1 } }),
  },
  {
    name: "beginEffect",
    call: ({ store }, write) =>
      store.beginEffect({
        ...write,
        leaseMs: LEASE_MS,
        effect: "publish",
        state: { ...write.state, ...effectsState({ publish: effect() }) },
      }),
  },
  {
    name: "recordCommitted",
    call: ({ store }, write) =>
      store.recordCommitted({
        ...write,
        leaseMs: LEASE_MS,
        effect: "publish",
        state: {
          ...write.state,
          stage: "verify",
          ...effectsState({ publish: effect({ state: "committed", external_id: "2451" }) }),
        },
      }),
  },
  {
    name: "recordFailed",
    call: ({ store }, write) =>
      store.recordFailed({
        ...write,
        leaseMs: LEASE_MS,
        effect: "publish",
        state: { ...write.state, ...effectsState({ publish: effect({ state: "failed" }) }) },
      }),
  },
  {
    name: "recordReceipt",
    call: ({ store }, write) =>
      store.recordReceipt({
        ...write,
        leaseMs: LEASE_MS,
        effect: "publish",
        state: {
          ...write.state,
          ...effectsState({ publish: effect({ state: "verified", receipt: receiptOf(write.taskId) }) }),
        },
      }),
  },
  {
    name: "settle",
    call: ({ store }, write, { fence }) =>
      store.settle({
        ...write,
        fence,
        result: '{"url":"/2451"}',
        receipt: receiptOf(write.taskId),
        retentionMs: RETENTION_MS,
      }),
  },
  {
    name: "settle with a large result",
    call: ({ store }, write, { fence }) =>
      store.settle({
        ...write,
        fence,
        result: JSON.stringify({ html: `${write.token}${"x".repeat(2_000)}` }),
        receipt: receiptOf(write.taskId),
        retentionMs: RETENTION_MS,
      }),
  },
  {
    name: "release",
    call: ({ store }, write, { queue }) =>
      store.release({
        ...write,
        queue,
        notBefore: write.at + 10_000,
        recoverAfterMs: RECOVER_MS,
        lastError: "503 from wordpress",
      }),
  },
  {
    name: "deadLetter",
    call: ({ store }, write) =>
      store.deadLetter({
        ...write,
        endReason: "permanent: no such draft",
        lastError: "no such draft",
        retentionMs: RETENTION_MS,
      }),
  },
  {
    name: "park",
    call: ({ store }, write) =>
      store.park({ ...write, endReason: "unresolved: look at wordpress", lastError: "not found" }),
  },
  {
    name: "endCancelled",
    call: ({ store }, write) =>
      store.endCancelled({ ...write, endReason: "cancelled: asked", retentionMs: RETENTION_MS }),
  },
];

/** The verb of this name. */
export function holderVerb(name: string): HolderVerb {
  const verb = holderVerbs.find((one) => one.name === name);
  if (verb === undefined) throw new Error(`no holder verb ${name}`);
  return verb;
}
