/** A task that waits for a person: it parks with the reason, the person decides in their own time, and it goes on. */
import { createClient, createWorker, defineTask, openQueue, openStore, ParkError } from "@leasehold/core";
import { z } from "zod";

const refund = defineTask({
  type: "refund",
  input: z.object({ order: z.string(), amount: z.number() }),
  async run(task) {
    const { order, amount } = task.input;
    // The record keeps the decision: the handler runs again after a resume, perhaps in another process.
    if (amount > 500 && task.resolution === undefined)
      throw new ParkError(`a refund of ${amount} for ${order} needs approval`);
    return { refunded: amount, approvedBy: task.resolution?.by ?? "nobody" };
  },
});

const queue = await openQueue("memory://refunds");
const store = await openStore("memory://refunds");
const client = createClient({ queue, store });
const stopping = new AbortController();
const running = createWorker({ queue, store, tasks: [refund] }).run({ signal: stopping.signal });

const { task } = await client.enqueue(refund, { order: "A-1042", amount: 900 });
const parked = await client.result(task);
console.log(parked.outcome, parked.outcome === "parked" ? parked.reason : "");

await client.resume(task, { decision: "retry", by: "dana", note: "customer called twice" });
const end = await client.result(task);
console.log(end.outcome, end.outcome === "settled" ? end.result : "");

stopping.abort();
await running;
