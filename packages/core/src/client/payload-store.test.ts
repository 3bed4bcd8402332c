import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { MAX_INPUT_BYTES } from "../envelope/envelope.ts";
import { isLeaseholdError } from "../errors.ts";
import { loadInput, type PayloadStore } from "./payload-store.ts";
import { eventOf, setup } from "./setup.fixture.ts";

const TEXT = { type: "text", input: z.string() };
const LARGE = "ä".repeat(MAX_INPUT_BYTES);

function createBucket(): PayloadStore & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    put: async (key, text) => {
      kept.set(key, text);
    },
    get: async (key) => kept.get(key),
  };
}

test("a large input goes to the payload store, a small one does not", async () => {
  const bucket = createBucket();
  const { client, receive, store } = setup({ client: { payloadStore: bucket } });
  const { task: small } = await client.enqueue(TEXT, "small");
  assert.equal(bucket.kept.size, 0);
  assert.equal(await loadInput(store, bucket, small.task_id, small.payload_ref), '"small"');
  const { task } = await client.enqueue(TEXT, LARGE);
  assert.deepEqual([...bucket.kept.keys()], [`${task.task_id}/${task.input_hash}`]);
  assert.equal(await loadInput(store, bucket, task.task_id, task.payload_ref), JSON.stringify(LARGE));
  const events = (await receive()).map(eventOf);
  assert.equal(events.find(({ id }) => id === task.task_id)?.dataref, task.input_hash);
});

test("an input that looks like a pointer is none", async () => {
  const bucket = createBucket();
  const { client, store } = setup({ client: { payloadStore: bucket } });
  const { task } = await client.enqueue(TEXT, "@payload-store task/hash");
  assert.equal(await loadInput(store, bucket, task.task_id, task.payload_ref), '"@payload-store task/hash"');
});

test("a worker without the payload store says what is missing; a payload that is gone is gone", async () => {
  const bucket = createBucket();
  const { client, store } = setup({ client: { payloadStore: bucket } });
  const { task } = await client.enqueue(TEXT, LARGE);
  await assert.rejects(
    loadInput(store, undefined, task.task_id, task.payload_ref),
    (error) => isLeaseholdError(error, "InvalidArgument") && /payloadStore/.test(error.message),
  );
  bucket.kept.clear();
  assert.equal(await loadInput(store, bucket, task.task_id, task.payload_ref), undefined);
  assert.equal(await loadInput(store, bucket, task.task_id, "payload#other#hash"), undefined);
});

test("an input that the payload store does not take leaves no task behind", async () => {
  const failing: PayloadStore = {
    put: async () => Promise.reject(new Error("bucket is gone")),
    get: async () => undefined,
  };
  const { client, receive, store } = setup({ client: { payloadStore: failing } });
  await assert.rejects(
    client.enqueue(TEXT, LARGE, { agentRunId: "run" }),
    (error) => isLeaseholdError(error, "Unknown") && /bucket is gone/.test(error.message),
  );
  assert.deepEqual((await store.listByRun("run")).items, []);
  assert.deepEqual(await receive(), []);
});
