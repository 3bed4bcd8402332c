import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery, ExtendItem, Outcome, SettleItem } from "@leasehold/core/driver";
import { type FaultRule, startPubsub } from "@leasehold/emulators";
import { createPubsubQueue } from "@leasehold/pubsub";
import { createDice, type Dice } from "../simulation/random.ts";

const LETTERS = "letters";

/** What may go wrong with a call; a hang would cost the time-out of the driver. */
function faultOf(dice: Dice): Omit<FaultRule, "operation" | "nth"> | undefined {
  if (dice.chance(0.4)) return undefined;
  return dice.pick([
    { drop: "before" },
    { drop: "after" },
    { error: { code: "UNAVAILABLE" } },
    { error: { code: "RESOURCE_EXHAUSTED" } },
    { error: { code: "INTERNAL" } },
    { error: { code: "NOT_FOUND" } },
  ] as const);
}

/** A queue under faults; `held` are its messages as the broker knows them. */
async function open(exactlyOnce: boolean, seed: number) {
  const server = await startPubsub();
  server.createTopic("dead");
  server.createSubscription(LETTERS, { topic: "dead" });
  server.createTopic("orders");
  server.createSubscription("orders", { topic: "orders", enableExactlyOnceDelivery: exactlyOnce });
  const queue = createPubsubQueue({
    project: server.projectId,
    topic: "orders",
    subscription: "orders",
    exactlyOnce,
    deadLetterTopic: "dead",
    deadLetterSubscription: LETTERS,
    client: {
      projectId: server.projectId,
      apiEndpoint: server.endpoint,
      emulatorMode: true,
      "grpc.initial_reconnect_backoff_ms": 10,
      "grpc.max_reconnect_backoff_ms": 10,
    },
  });
  const acts = server.acts("orders");
  return { server, queue, acts, letters: server.acts(LETTERS), dice: createDice(seed, "outcomes") };
}

/** Again until it is answered: a connection that broke is made anew. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

for (const exactlyOnce of [true, false]) {
  test(`what an outcome says is so in the broker, whatever happens to the calls: ${exactlyOnce ? "exactly once" : "at least once"}`, async () => {
    const { server, queue, acts, letters, dice } = await open(exactlyOnce, 1);
    const seen = new Map<string, number>();
    try {
      for (let round = 0; round < 60; round++) {
        server.faults.clear();
        await insist(async () => {
          const outcomes = await queue.send(
            [1, 2, 3].map((number) => ({ id: `${round}-${number}`, body: "{}", contentType: "application/json" })),
          );
          if (outcomes.some(({ status }) => status !== "confirmed")) throw new Error("not sent");
        });
        const held: Delivery[] = [];
        await insist(async () => {
          held.push(...(await queue.receive({ max: 100, waitMs: 0, leaseMs: 60_000 })));
          if (held.length < 3) throw new Error("not received");
        });
        // One of them is the broker's again, and its token is stale.
        if (dice.chance(0.5)) acts.expire((held[0] as Delivery).messageId);
        const before = new Set(acts.messageIds());
        const stale = new Set(acts.counts().visible > 0 ? [(held[0] as Delivery).token] : []);
        const lettersBefore = letters.messageIds().length;
        for (const operation of ["Acknowledge", "ModifyAckDeadline", "Publish"]) {
          const fault = faultOf(dice);
          if (fault !== undefined) server.faults.add({ operation, ...fault });
        }
        const items: readonly SettleItem[] = held.map((delivery) => settleOf(delivery, dice));
        const outcomes = await queue.settle(items);
        const there = new Set(acts.messageIds());
        let buried = 0;
        items.forEach((item, index) => {
          const outcome = outcomes[index] as Outcome;
          const { messageId, token } = item.delivery;
          const key = `${item.verb} ${outcome.status}`;
          seen.set(key, (seen.get(key) ?? 0) + 1);
          const isGone = before.has(messageId) && !there.has(messageId);
          const goes = item.verb !== "abandon";
          if (outcome.status === "confirmed") assert.ok(exactlyOnce && (!goes || isGone), key);
          if (outcome.status === "failed") assert.ok(!isGone, `${key}, and it is gone`);
          if (outcome.status === "lost") assert.ok(stale.has(token) && !isGone, `${key}, and it was ours`);
          if (outcome.status === "unconfirmed" && outcome.error === undefined && !stale.has(token)) {
            assert.ok(!exactlyOnce && (!goes || isGone), key);
          }
          // A message never goes without its letter.
          if (item.verb === "dead-letter" && isGone) buried++;
        });
        assert.ok(letters.messageIds().length - lettersBefore >= buried, "a message went, and no letter is there");
      }
    } finally {
      await queue.close();
      await server.stop();
    }
    const statuses = [...seen.keys()].map((key) => key.split(" ")[1]);
    for (const status of exactlyOnce ? ["confirmed", "lost", "failed", "unconfirmed"] : ["failed", "unconfirmed"]) {
      assert.ok(statuses.includes(status), `${status} never came: ${[...seen.keys()].join(", ")}`);
    }
  });
}

function settleOf(delivery: Delivery, dice: Dice): SettleItem {
  const verb = dice.pick(["complete", "abandon", "dead-letter"] as const);
  switch (verb) {
    case "complete":
      return { verb, delivery };
    case "abandon":
      return { verb, delivery, delayMs: dice.pick([0, 30_000]), copyId: `copy-${delivery.messageId}` };
    default:
      return { verb, delivery, reason: { code: "poison", text: "of no use" }, copyId: `copy-${delivery.messageId}` };
  }
}

test("a lease that was extended for certain is as long as it was asked for, and a receive hands out none that is not", async () => {
  const { server, queue, acts, dice } = await open(true, 2);
  try {
    for (let round = 0; round < 40; round++) {
      server.faults.clear();
      await insist(() => queue.send([{ id: `${round}`, body: "{}", contentType: "application/json" }]));
      const fault = faultOf(dice);
      if (fault !== undefined) server.faults.add({ operation: "ModifyAckDeadline", ...fault });
      const deliveries = await queue.receive({ max: 100, waitMs: 0, leaseMs: 60_000 }).catch(() => []);
      for (const { leaseMs } of deliveries) assert.ok(leaseMs > 50_000 && leaseMs <= 60_000);
      const items: readonly ExtendItem[] = deliveries.map((delivery) => ({ delivery, leaseMs: 120_000 }));
      const [early] = acts.messageIds();
      if (early !== undefined) acts.expire(early);
      const outcomes = await queue.extend(items);
      const confirmed = outcomes.filter(({ status }) => status === "confirmed").length;
      assert.ok(acts.counts().inFlight >= confirmed);
      for (const id of acts.messageIds()) acts.lose(id);
    }
  } finally {
    await queue.close();
    await server.stop();
  }
});
