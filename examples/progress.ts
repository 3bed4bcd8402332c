/** A long task that says how far it is, and a client that shows it: the same claims keep the lease and tell the user. */
import { setTimeout as pause } from "node:timers/promises";
import { createClient, createWorker, defineTask, openQueue, openStore } from "@leasehold/core";
import { z } from "zod";

const download = defineTask({
  type: "download_sources",
  input: z.object({ documents: z.number().int().positive() }),
  async run(task) {
    const total = task.input.documents;
    for (let done = 1; done <= total; done++) {
      await pause(400, undefined, { signal: task.signal });
      await task.renew({ stage: "external_call", progress: { done, total, unit: "source documents" } });
    }
    return { downloaded: total };
  },
});

const queue = await openQueue("memory://downloads");
const store = await openStore("memory://downloads");
const client = createClient({ queue, store });
const stopping = new AbortController();
const running = createWorker({ queue, store, tasks: [download] }).run({ signal: stopping.signal });

const { task } = await client.enqueue(download, { documents: 8 });
for await (const update of client.watch(task)) {
  if (update.kind === "claim") console.log(`${update.claim.stage}: ${update.claim.reason}`);
  else console.log(update.end.outcome);
}

stopping.abort();
await running;
