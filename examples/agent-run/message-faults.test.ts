import assert from "node:assert/strict";
import { test } from "node:test";
import type { QueueDriver } from "@leasehold/core";
import type { FaultKind } from "./faults.ts";
import { withMessageFaults } from "./message-faults.ts";
import { startMemoryServer } from "./servers/memory.ts";
import { startPubsubServer } from "./servers/pubsub.ts";
import type { QueueServer } from "./servers/queue-server.ts";
import { startServicebusServer } from "./servers/servicebus.ts";
import { startSqsServer } from "./servers/sqs.ts";

const SERVERS: Readonly<Record<string, () => Promise<QueueServer>>> = {
  memory: startMemoryServer,
  sqs: startSqsServer,
  pubsub: startPubsubServer,
  servicebus: startServicebusServer,
};

/** The bodies of what comes until nothing more does, sorted. Each is completed. */
async function received(queue: QueueDriver, expected: number): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (;;) {
    // What is expected is waited for; that nothing follows, only as long as a message takes that is there.
    const waitMs = bodies.length < expected ? 10_000 : 300;
    const deliveries = await queue.receive({ max: 1, waitMs, leaseMs: 10_000 });
    if (deliveries.length === 0) return bodies.sort();
    await queue.settle(deliveries.map((delivery) => ({ verb: "complete", delivery })));
    bodies.push(...deliveries.map(({ body }) => body));
  }
}

for (const [name, start] of Object.entries(SERVERS))
  test(`on ${name} one message vanishes, one comes twice, and the others come as they were sent`, async () => {
    const server = await start();
    try {
      const targets: Partial<Record<FaultKind, string>> = { lost_message: "a", doubled_message: "b" };
      const happened = new Map<FaultKind, string>();
      const queue = withMessageFaults(server, (kind) => targets[kind], happened);
      const messages = ["a", "b", "c"].map((id) => ({
        id,
        body: JSON.stringify({ id }),
        contentType: "application/cloudevents+json",
      }));
      const outcomes = await queue.send(messages);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["confirmed", "confirmed", "confirmed"],
      );
      assert.deepEqual(Object.fromEntries(happened), targets);
      const [, twice, once] = messages.map(({ body }) => body);
      assert.deepEqual(await received(server.queue, 3), [twice, twice, once]);
    } finally {
      await server.stop();
    }
  });
