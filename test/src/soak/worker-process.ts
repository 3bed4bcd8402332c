/**
 * The worker of a soak, as a process of its own, so that what is measured is the worker's. Every few seconds it collects its
 * garbage and tells its parent what is left. What it needs comes as JSON in `SOAK_WORKER`: see {@link SoakOrder}.
 */
import { createWorker, defineEffect, defineTask } from "@leasehold/core";
import { createDynamoStore } from "@leasehold/dynamodb";
import { createSqsQueue } from "@leasehold/sqs";
import { z } from "zod";
import { awsConfigOf } from "../chaos/ground.ts";
import type { Sample, SoakOrder } from "./soak.ts";

const { queueUrl, table, queuePort, storePort, sampleMs } = JSON.parse(process.env["SOAK_WORKER"] ?? "{}") as SoakOrder;
const collectGarbage = globalThis.gc;
if (collectGarbage === undefined) throw new Error("start it with --expose-gc");

const queue = createSqsQueue({ queueUrl, client: awsConfigOf(queuePort) });
const store = createDynamoStore({ table, config: awsConfigOf(storePort) });
const made = new Map<string, { readonly id: string }>();
let done = 0;

const note = defineEffect({
  name: "note",
  externalSystem: "notebook",
  guard: "idempotent",
  commit: ({ idempotencyKey }) => {
    made.set(idempotencyKey, { id: idempotencyKey });
  },
  find: ({ idempotencyKey }) => made.get(idempotencyKey),
  verify: ({ id }: { readonly id: string }) => ({ externalId: id, status: "written" }),
});

const soak = defineTask({
  type: "soak",
  input: z.object({ waitMs: z.int(), fails: z.boolean() }),
  lease: "2s",
  backoff: { base: "100ms", cap: "500ms" },
  async run(task) {
    await task.renew({ stage: "external_call", reason: `waiting for ${task.input.waitMs} ms of work` });
    await new Promise((resolve) => setTimeout(resolve, task.input.waitMs));
    if (task.input.fails && task.attempt === 1) throw new Error("the first attempt fails");
    const receipt = await task.effect(note, {});
    // The notebook forgets, so that what grows is the worker's.
    made.delete(task.idempotencyKey);
    done++;
    return { id: receipt.external_id };
  },
});

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
process.once("disconnect", () => stopping.abort());
const sampling = setInterval(() => {
  collectGarbage();
  const { heapUsed, rss, external } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo();
  const timers = resources.filter((name) => name === "Timeout").length;
  const sample: Sample = { done, heapUsed, rss, external, handles: resources.length - timers, timers };
  process.send?.(sample);
}, sampleMs);
try {
  await createWorker({ queue, store, tasks: [soak], concurrency: 50, maxClockSkew: 400 }).run({
    signal: stopping.signal,
  });
} finally {
  clearInterval(sampling);
  await queue.close();
  await store.close();
  if (process.connected) process.disconnect();
}
