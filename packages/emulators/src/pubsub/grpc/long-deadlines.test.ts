import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openPubsub } from "../../testing/pubsub.ts";
import { until } from "../../testing/until.ts";

const HOUR_MS = 3_600_000;

describe("long deadlines", () => {
  it("a call whose deadline is years away is not cut short", async (test) => {
    const { publisher, pubsub, clock } = await openPubsub(test);
    const topic = pubsub.createTopic("topic");
    pubsub.faults.add({ operation: "Publish", delayMs: 1_000 });
    const messages = [{ data: Buffer.from("a") }];
    const publish = publisher.publish({ topic, messages }, { retry: null, timeout: 27_000 * HOUR_MS });
    await until(() => pubsub.calls.of("Publish").open === 1);
    // Longer than the timer that the library makes of it.
    await new Promise((resolve) => setTimeout(resolve, 50));
    clock.advance(1_000);
    const [{ messageIds }] = await publish;
    assert.equal(messageIds?.length, 1);
  });
});
