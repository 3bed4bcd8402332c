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
    create: (task) => create(items, task),
    acquire: (request) => acquire(items, request),
    renew: async (write) => writePlainly(items, write, { set: renewal(write) }),
    beginEffect: (write) => beginEffect(items, write),
    recordCommitted: (write) => recordEffect(items, write, "committed"),
    recordFailed: (write) => recordEffect(items, write, "failed"),
    recordReceipt: (write) => recordEffect(items, write, "verified"),
    settle: (write) => settle(items, write),
    release: (write) => release(items, write),
    deadLetter: (write) => deadLetter(items, write),
    park: (write) => park(items, write),
    endCancelled: (write) => endCancelled(items, write),
    resume: (request) => resume(items, request),
    reopen: (request) => reopen(items, request),
    cancel: (request) => cancel(items, request),
    async get(taskId) {
      const item = await items.get(taskKey(taskId));
      return item === undefined ? undefined : parseRecord(item, taskId);
    },
    payload: (taskId, payloadRef) => payload(items, taskId, payloadRef),
    result: (record) => result(items, record),
    listByRun: (agentRunId, page) => listByRun(items, agentRunId, page),
    listByStatus: (status, page) => listByStatus(items, status, page),
    dueForCheck: (request) => dueForCheck(items, request),
    moveCheck: (request) => moveCheck(items, request),
    claimKey: (request) => claimKey(items, request),
    close: () => items.close(),
  };
}
