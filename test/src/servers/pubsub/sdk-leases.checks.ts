import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Duration, SubscriptionCloseBehaviors } from "@google-cloud/pubsub";
import type { CheckGroup } from "./check.ts";
import { listen, textsOf } from "./listen.ts";

const NOT_FOUND = 5;
const SECOND = 1_000;

export const sdkLeases: CheckGroup = {
  subject: "high-level client, leases",
  checks: [
    {
      name: "PS-06: a handler that takes longer than the subscription's ack deadline keeps its message: the client asks for more",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ ackDeadlineSeconds: 10 });
        // The client asks again when as little as a tenth of it is left: of a minute that is enough for a slow machine.
        const options = {
          minAckDeadline: Duration.from({ seconds: 60 }),
          maxAckDeadline: Duration.from({ seconds: 60 }),
        };
        const { messages, subscription } = listen(bench, queue, options);
        await queue.send("a");
        await until(() => messages.length === 1);
        await sleep(10.5 * SECOND);
        assert.equal(messages.length, 1);
        messages[0]?.ack();
        await subscription.close();
        assert.deepEqual(await queue.look(), []);
      },
    },
    {
      name: "PS-05: after maxExtensionTime the client lets go of a message without a word, and it comes again",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ ackDeadlineSeconds: 10 });
        const options = {
          minAckDeadline: Duration.from({ seconds: 10 }),
          maxAckDeadline: Duration.from({ seconds: 10 }),
          maxExtensionTime: Duration.from({ seconds: 1 }),
        };
        const { messages, subscription, errors } = listen(bench, queue, options);
        await queue.send("a");
        await until(() => messages.length === 2);
        assert.equal(messages[0]?.id, messages[1]?.id);
        assert.deepEqual(errors, []);
        await subscription.close();
      },
    },
    {
      name: "PS-27: no more messages in handlers than flow control allows",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue();
        const flowControl = { maxMessages: 2, allowExcessMessages: false };
        const { messages, subscription } = listen(bench, queue, { flowControl, streamingOptions: { maxStreams: 1 } });
        await queue.send("a", "b", "c", "d", "e");
        for (let settled = 0; settled < 5; settled++) {
          await until(() => messages.length >= Math.min(settled + 2, 5));
          await sleep(0.2 * SECOND);
          assert.equal(messages.length, Math.min(settled + 2, 5));
          messages[settled]?.ack();
        }
        await subscription.close();
        assert.equal(textsOf(messages).split(" ").sort().join(), "a,b,c,d,e");
      },
    },
    {
      name: "PS-24: close() as it is by default nacks what is in handlers",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ ackDeadlineSeconds: 600 });
        const { messages, subscription } = listen(bench, queue);
        await queue.send("a");
        await until(() => messages.length === 1);
        await subscription.close();
        const again = await queue.one();
        assert.equal(again.id, messages[0]?.id);
      },
    },
    {
      name: "PS-24: close() that waits for processing lets handlers end, and their acks count",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ ackDeadlineSeconds: 600 });
        const closeOptions = {
          behavior: SubscriptionCloseBehaviors.WaitForProcessing,
          timeout: Duration.from({ seconds: 20 }),
        };
        const { messages, subscription } = listen(bench, queue, { closeOptions });
        await queue.send("a");
        await until(() => messages.length === 1);
        const closed = subscription.close();
        await sleep(0.2 * SECOND);
        messages[0]?.ack();
        await closed;
        await queue.send("marker");
        const next = await queue.one();
        assert.equal(next.text, "marker");
        assert.deepEqual(await queue.look(), []);
      },
    },
    {
      name: "proto StreamingPull: an error event where there is no such subscription, or it is deleted",
      async run(bench) {
        const { until } = bench;
        const missing = listen(bench, { subscription: bench.name("subscriptions") });
        await until(() => missing.errors.length > 0);
        assert.equal(missing.errors[0]?.code, NOT_FOUND);
        const queue = await bench.queue();
        const deleted = listen(bench, queue, {}, (message) => message.ack());
        await queue.send("a");
        await until(() => deleted.messages.length === 1);
        await bench.sdk().subscription(queue.subscription).delete();
        await until(() => deleted.errors.length > 0);
        assert.equal(deleted.errors[0]?.code, NOT_FOUND);
        await Promise.all([missing.subscription.close(), deleted.subscription.close()]);
      },
    },
  ],
};
