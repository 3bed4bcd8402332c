/** Define a task, enqueue it, run it, read its result. Everything in one process; see docs/concepts.md for the words. */
import { createClient, createWorker, defineTask, openQueue, openStore } from "@leasehold/core";
import { z } from "zod";

const countWords = defineTask({
  type: "count_words",
  input: z.object({ text: z.string() }),
  run: (task) => ({ words: task.input.text.split(/\s+/).filter(Boolean).length }),
});

// Another provider is another URL: where it is read from the environment, swapping is one variable.
const queue = await openQueue(process.env["QUEUE_URL"] ?? "memory://quickstart");
const store = await openStore(process.env["STORE_URL"] ?? "memory://quickstart");

const client = createClient({ queue, store });
const { task } = await client.enqueue(countWords, { text: "one lease at a time" }, { key: "first" });

const stopping = new AbortController();
const running = createWorker({ queue, store, tasks: [countWords] }).run({ signal: stopping.signal });

const end = await client.result(task, { timeout: "10s" });
console.log(end.outcome, end.outcome === "settled" ? end.result : end.task.status);

stopping.abort();
await running;
