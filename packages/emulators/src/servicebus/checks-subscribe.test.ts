import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ServiceBusReceivedMessage } from "@azure/service-bus";
import { createHandClock } from "../hand-clock.ts";
import { openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const SECOND = 1_000;
const LOCK_MS = 60 * SECOND;

describe("subscribe() of the SDK on the Service Bus server", () => {
  it("1.2: messages come as they are sent, and are completed after their handler", async (test) => {
    const { queue } = await openServicebus(test);
    const { open, send, acts } = queue();
    const seen: string[] = [];
    const subscription = open().subscribe({
      processMessage: async ({ body }) => void seen.push(String(body)),
      processError: async ({ error }) => assert.ifError(error),
    });
    await send("a", "b");
    await until(() => seen.length === 2);
    await send("c");
    await until(() => seen.length === 3 && acts.messageIds().length === 0);
    assert.deepEqual(seen, ["a", "b", "c"]);
    await subscription.close();
  });

  it("SB-31: a handler that throws abandons, until the deliveries are too many", async (test) => {
    const { queue } = await openServicebus(test);
    const { open, send, one, deadLetters } = queue({ maxDeliveryCount: 3 });
    const counts: (number | undefined)[] = [];
    const sources: string[] = [];
    const subscription = open().subscribe({
      async processMessage({ deliveryCount }) {
        counts.push(deliveryCount);
        throw new Error("no luck");
      },
      processError: async ({ errorSource }) => void sources.push(errorSource),
    });
    await send("a");
    assert.equal((await one(deadLetters())).deadLetterReason, "MaxDeliveryCountExceeded");
    assert.deepEqual(counts, [0, 1, 2]);
    assert.deepEqual(new Set(sources), new Set(["processMessageCallback"]));
    await subscription.close();
  });

  it("1.3: no more is locked than handlers may run at once", async (test) => {
    const { queue } = await openServicebus(test);
    const { open, sender, acts } = queue();
    const gates: (() => void)[] = [];
    const subscription = open().subscribe(
      {
        processMessage: () => new Promise((resolve) => void gates.push(resolve)),
        processError: async ({ error }) => assert.ifError(error),
      },
      { maxConcurrentCalls: 2 },
    );
    await sender().sendMessages(Array.from({ length: 5 }, (_, index) => ({ body: index })));
    for (let left = 5; left > 0; left--) {
      await until(() => gates.length > 0 && acts.counts().inFlight === Math.min(2, left));
      assert.equal(acts.counts().visible, Math.max(0, left - 2));
      gates.shift()?.();
      await until(() => acts.messageIds().length === left - 1);
    }
    await subscription.close();
  });

  it("SB-09: the SDK renews the lock of a handler that takes longer, so that it is delivered once", async (test) => {
    // The server is behind, so that its locks seem to be over soon: the SDK goes by the machine's time.
    const clock = createHandClock(Date.now() - LOCK_MS + 2 * SECOND);
    const { queue, servicebus } = await openServicebus(test, { clock });
    const { open, send, acts } = queue();
    const counts: (number | undefined)[] = [];
    let finish: (() => void) | undefined;
    const subscription = open({ maxAutoLockRenewalDurationInMs: 300 * SECOND }).subscribe({
      processMessage({ deliveryCount }) {
        counts.push(deliveryCount);
        return new Promise((resolve) => {
          finish = resolve;
        });
      },
      processError: async ({ error }) => assert.ifError(error),
    });
    await send("a");
    for (let round = 1; round <= 5; round++) {
      await until(() => servicebus.calls.of("RenewLock").calls >= round);
      assert.equal(servicebus.calls.of("RenewLock").open, 0);
      clock.advance(SECOND / 2);
    }
    assert.equal(acts.counts().inFlight, 1);
    finish?.();
    await until(() => acts.messageIds().length === 0);
    assert.deepEqual(counts, [0]);
    await subscription.close();
  });

  it("SB-09: a renewal that fails is reported, and ends the renewing", async (test) => {
    const clock = createHandClock(Date.now() - LOCK_MS + 2 * SECOND);
    const { queue, servicebus } = await openServicebus(test, { clock });
    const { open, send, acts } = queue();
    const errors: unknown[] = [];
    const gates: (() => void)[] = [];
    const subscription = open({ maxAutoLockRenewalDurationInMs: 300 * SECOND }).subscribe({
      processMessage: () => new Promise((resolve) => void gates.push(resolve)),
      processError: async ({ error, errorSource }) => void errors.push([errorSource, Reflect.get(error, "code")]),
    });
    await send("a");
    await until(() => gates.length === 1);
    // A machine that is slow has seen renewals that went well by now.
    clock.advance(LOCK_MS);
    await until(() => errors.length === 1);
    const renewals = servicebus.calls.of("RenewLock").calls;
    gates[0]?.();
    await until(() => errors.length === 2 && gates.length === 2);
    assert.equal(servicebus.calls.of("RenewLock").calls, renewals);
    assert.deepEqual(errors, [
      ["renewLock", "MessageLockLost"],
      ["complete", "MessageLockLost"],
    ]);
    gates[1]?.();
    await until(() => acts.messageIds().length === 0);
    await subscription.close();
  });

  it("SB-09: the SDK renews the lock of a session, so that it stays with its holder", async (test) => {
    const clock = createHandClock(Date.now() - LOCK_MS + 2 * SECOND);
    const { queue, servicebus, client } = await openServicebus(test, { clock });
    const { path, send, one } = queue({ requiresSession: true });
    await send({ body: "a", sessionId: "a" });
    const a = await client.acceptSession(path, "a", { maxAutoLockRenewalDurationInMs: 300 * SECOND });
    const message = await one(a);
    for (let round = 1; round <= 5; round++) {
      await until(() => servicebus.calls.of("RenewSessionLock").calls >= round);
      clock.advance(SECOND / 2);
    }
    await a.completeMessage(message);
    assert.equal(message.deliveryCount, 0);
    await a.close();
  });

  it("1.2: a subscriber in a session gets its messages one after another", async (test) => {
    const { queue } = await openServicebus(test);
    const { session, sender, acts } = queue({ requiresSession: true });
    const seen: unknown[] = [];
    const a = await session("a");
    const subscription = a.subscribe({
      processMessage: async ({ body }) => void seen.push(String(body)),
      processError: async ({ error }) => assert.ifError(error),
    });
    const texts = Array.from({ length: 10 }, (_, index) => `message ${index}`);
    await sender().sendMessages(texts.map((text) => ({ body: Buffer.from(text), sessionId: "a" })));
    await until(() => acts.messageIds().length === 0);
    assert.deepEqual(seen, texts);
    await subscription.close();
  });

  it("1.2: a subscriber goes on after a forced detach", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path, open, send, acts } = queue();
    const seen: ServiceBusReceivedMessage[] = [];
    const subscription = open().subscribe({
      processMessage: async (message) => void seen.push(message),
      processError: async () => undefined,
    });
    await send("before");
    await until(() => acts.messageIds().length === 0);
    assert.ok(servicebus.detach(path) >= 1);
    await send("after");
    await until(() => acts.messageIds().length === 0);
    assert.deepEqual(
      seen.map(({ body }) => String(body)),
      ["before", "after"],
    );
    await subscription.close();
  });
});
