import { acquire } from "./acquire.ts";
import { cancel } from "./cancel.ts";
import { dueForCheck, moveCheck } from "./checks.ts";
import { create } from "./create.ts";
import { beginEffect, recordEffect } from "./effects.ts";
import { deadLetter, endCancelled, park, release, settle } from "./ends.ts";
import { renewal, writePlainly } from "./holder-write.ts";
import type { ItemStore } from "./items.ts";
import { taskKey } from "./keys.ts";
import { listByRun, listByStatus } from "./lists.ts";
import { parseRecord } from "./parse.ts";
import { payload, result } from "./payload.ts";
import { reopen, resume } from "./resume.ts";
import { claimKey } from "./shared-key.ts";
import type { TaskStore } from "./task-store.ts";

/** Makes the task store over a database: every rule of the lease is here, the database knows single items and conditions. */
export function createTaskStore(options: { readonly items: ItemStore }): TaskStore {
  const { items } = options;
  return {
    create: async (task) => create(items, task),
    acquire: async (request) => acquire(items, request),
    renew: async (write) => writePlainly(items, write, { set: renewal(write) }),
    beginEffect: async (write) => beginEffect(items, write),
    recordCommitted: async (write) => recordEffect(items, write, "committed"),
    recordFailed: async (write) => recordEffect(items, write, "failed"),
    recordReceipt: async (write) => recordEffect(items, write, "verified"),
    settle: async (write) => settle(items, write),
    release: async (write) => release(items, write),
    deadLetter: async (write) => deadLetter(items, write),
    park: async (write) => park(items, write),
    endCancelled: async (write) => endCancelled(items, write),
    resume: async (request) => resume(items, request),
    reopen: async (request) => reopen(items, request),
    cancel: async (request) => cancel(items, request),
    async get(taskId) {
      const item = await items.get(taskKey(taskId));
      return item === undefined ? undefined : parseRecord(item, taskId);
    },
    payload: async (taskId, payloadRef) => payload(items, taskId, payloadRef),
    result: async (record) => result(items, record),
    listByRun: async (agentRunId, page) => listByRun(items, agentRunId, page),
    listByStatus: async (status, page) => listByStatus(items, status, page),
    dueForCheck: async (request) => dueForCheck(items, request),
    moveCheck: async (request) => moveCheck(items, request),
    claimKey: async (request) => claimKey(items, request),
    close: async () => items.close(),
  };
}
