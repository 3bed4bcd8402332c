import assert from "node:assert/strict";
import { test } from "node:test";
import { createFirstCrashes } from "./crashes-first.ts";
import { createExternalSystem } from "./external-system.ts";
import { type FaultKind, type PlannedFault, systemFaults } from "./faults.ts";
import { startSystem } from "./system-process.ts";

const post = { key: "post", type: "publish_post", input: { draft: "drafts/a", title: "A" } };
const message = { key: "message", type: "send_message", input: { channel: "#docs", text: "Hello" } };
const other = { key: "other", type: "send_message", input: { channel: "#docs", text: "Bye" } };
const plan: readonly PlannedFault[] = [
  { kind: "crash_after_send", call: message, spares: [] },
  { kind: "crash_after_commit", call: post, spares: [] },
];

test("workers die when both writes were applied, and only then do other calls follow", async () => {
  const system = await startSystem(systemFaults(plan, new Set(plan.map(({ kind }) => kind))));
  try {
    const happened = new Map<FaultKind, string>();
    const killed: string[] = [];
    const applied = Promise.withResolvers<number>();
    const crashes = createFirstCrashes({
      plan,
      taskIdOf: ({ key }) => `id-of-${key}`,
      system,
      workers: {
        async kill(name) {
          killed.push(name);
          applied.resolve((await system.ledger()).entries.length);
        },
      },
      happened,
    });
    await Promise.all([crashes.ready(message), crashes.ready(post)]);
    let isReady = false;
    const ready = crashes.ready(other).then(() => {
      isReady = true;
    });
    const { signal } = new AbortController();
    const send = (caller: string) => createExternalSystem(system.url, caller).sendMessage("m", message.input, signal);
    const publish = (caller: string) =>
      createExternalSystem(system.url, caller).publishPost("p", { ...post.input, html: "" }, signal);
    const sent = send("worker-1");
    while ((await system.ledger()).entries.length === 0);
    assert.deepEqual([killed, isReady], [[], false]);

    const published = publish("worker-2");
    assert.equal(await applied.promise, 2);
    await ready;
    assert.deepEqual(killed, ["worker-1", "worker-2"]);
    assert.deepEqual(Object.fromEntries(happened), {
      crash_after_send: "id-of-message",
      crash_after_commit: "id-of-post",
    });
    // Those that were held, and the same again: nobody holds an answer now.
    const posts = [await published, await publish("worker-3")];
    assert.equal(posts[0]?.id, posts[1]?.id);
    assert.notEqual((await sent).id, (await send("worker-3")).id);
    assert.equal(killed.length, 2);
  } finally {
    await system.stop();
  }
});
