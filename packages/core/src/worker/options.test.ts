import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createMemoryItems } from "../memory/items.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import { createTaskStore } from "../store/create-task-store.ts";
import { defineTask } from "../task/define-task.ts";
import { createWorker } from "./create-worker.ts";

const good = {
  queue: createMemoryQueue({ name: "options" }),
  store: createTaskStore({ items: createMemoryItems() }),
  tasks: [defineTask({ type: "any", input: z.object({}), run: () => undefined })],
};
const make = (options: unknown) => () => createWorker(options as Parameters<typeof createWorker>[0]);
const refusedWith = (message: RegExp) => ({ code: "InvalidArgument", message });

test("options that cannot work are refused when the worker is made, by name", () => {
  assert.throws(
    make(undefined),
    refusedWith(/^worker: got nothing, expected an object with any of queue, store, tasks/),
  );
  assert.throws(
    make({ ...good, concurency: 3 }),
    refusedWith(/^worker: got the field "concurency", expected an object with any of .*concurrency/),
  );
  assert.throws(
    make({ ...good, tasks: [] }),
    refusedWith(/^worker\.tasks: got a list of 0, expected a list of at least one task/),
  );
  assert.throws(
    make({ ...good, tasks: [...good.tasks, ...good.tasks] }),
    refusedWith(/^worker\.tasks: got "any", expected each task type once/),
  );
  assert.throws(
    make({ ...good, queue: {} }),
    refusedWith(/^worker\.queue: got object, expected a queue, as openQueue opens it/),
  );
  assert.throws(
    make({ ...good, store: "memory://a" }),
    refusedWith(/^worker\.store: got "memory:\/\/a", expected a store, as openStore opens it/),
  );
  assert.throws(
    make({ ...good, concurrency: 0 }),
    refusedWith(/^worker\.concurrency: got 0, expected a whole number from 1 up/),
  );
  assert.throws(
    make({ ...good, recoverAfter: "10ms" }),
    refusedWith(/^worker\.recoverAfter: got 10, expected at least 1000 ms/),
  );
  assert.throws(make({ ...good, stop: "soon" }), refusedWith(/^stop: expected a duration.*got "soon"/));
});

test("run without a signal says what it needs", async () => {
  const worker = createWorker(good);
  for (const options of [undefined, {}, { signal: new AbortController() }]) {
    await assert.rejects(
      worker.run(options as Parameters<typeof worker.run>[0]),
      refusedWith(/^run\.signal: got .*, expected an AbortSignal/),
    );
  }
});
