import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHandClock } from "../../hand-clock.ts";
import { createModel, type ModelHolder, type ModelRules } from "../../testing/pubsub-model.ts";
import { PubsubError } from "../errors.ts";
import { createBroker } from "./broker.ts";
import type { HandOver } from "./entry.ts";

const SECOND = 1_000;
/** Every lease and every delay is a multiple of it: what a step brings comes at its end. */
const STEP_MS = 500;
const TOPIC = "projects/local/topics/topic";
const GRAVE = "projects/local/topics/grave";
const NAME = "projects/local/subscriptions/subscription";
const GRAVES = "projects/local/subscriptions/graves";
const KEYS = ["", "a", "a", "b"];

/** Numbers that look like chance and come again for the same seed. https://en.wikipedia.org/wiki/Xorshift */
function createDice(seed: number) {
  let state = seed * 2_654_435_761;
  const upTo = (count: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % count;
  };
  return {
    upTo,
    pick: <T>(from: readonly T[]): T | undefined => from[upTo(from.length)],
    chance: (oneIn: number): boolean => upTo(oneIn) === 0,
  };
}

type Dice = ReturnType<typeof createDice>;

function rulesOf(dice: Dice): ModelRules {
  return {
    isOrdered: dice.chance(2),
    isExact: dice.chance(2),
    staleAck: dice.chance(2) ? "applied" : "ignored",
    ...(dice.chance(2) && { maxAttempts: 5 }),
    ...(dice.chance(2) && { backoff: { minimumMs: SECOND, maximumMs: 4 * SECOND } }),
  };
}

/** A broker and its model side by side, and everybody who receives. */
function open(rules: ModelRules) {
  const clock = createHandClock();
  const broker = createBroker(clock, { staleAck: rules.staleAck });
  broker.createTopic({ name: TOPIC });
  broker.createTopic({ name: GRAVE });
  broker.createSubscription({ name: GRAVES, topic: GRAVE });
  broker.createSubscription({
    name: NAME,
    topic: TOPIC,
    enableMessageOrdering: rules.isOrdered,
    enableExactlyOnceDelivery: rules.isExact,
    ...(rules.maxAttempts && { deadLetterPolicy: { deadLetterTopic: GRAVE, maxDeliveryAttempts: rules.maxAttempts } }),
    ...(rules.backoff && {
      retryPolicy: {
        minimumBackoff: { seconds: rules.backoff.minimumMs / SECOND },
        maximumBackoff: { seconds: rules.backoff.maximumMs / SECOND },
      },
    }),
  });
  const subscription = broker.subscription(NAME);
  const acts = subscription.acts();
  const model = createModel(rules, clock.now);
  /** Hand-overs that the model has not heard of: it learns first what led to them. */
  const news: (() => void)[] = [];
  const ackIds: string[] = [];
  const pulls = new Set<{ readonly leave: () => void }>();
  const streams = new Set<{ readonly holder: ModelHolder; readonly leave: () => void }>();

  function hear(handOvers: readonly HandOver[], holder: ModelHolder, leaseMs: number): void {
    for (const { ackId, deliveryAttempt } of handOvers) {
      ackIds.unshift(ackId);
      // Twins have one id and two numbers.
      const number = Number.parseInt(ackId, 36);
      news.push(() => model.delivered(ackId, number, deliveryAttempt, holder, leaseMs));
    }
  }

  const pullHolder = (maxMessages: number): ModelHolder => ({ maxMessages, isStream: false, isOpen: true });

  return {
    broker,
    clock,
    model,
    acts,
    pulls,
    streams,
    ackIds,
    publish(keys: readonly string[]): void {
      const messages = keys.map((orderingKey) => ({ data: Buffer.from("."), orderingKey }));
      broker.publish(TOPIC, messages).forEach((id, index) => {
        model.published(id, keys[index] ?? "");
      });
    },
    pullNow(max: number): void {
      hear(subscription.pullNow(max), pullHolder(max), 10 * SECOND);
    },
    wait(max: number): void {
      const pull: { leave: () => void } = { leave: () => undefined };
      pulls.add(pull);
      void subscription
        .pull(max, (gone) => {
          pull.leave = gone;
        })
        .then((handOvers) => {
          pulls.delete(pull);
          hear(handOvers, pullHolder(max), 10 * SECOND);
        });
    },
    listen(maxMessages: number, leaseMs: number): void {
      const holder = { maxMessages, isStream: true, isOpen: true };
      const leave = subscription.open({
        maxMessages,
        maxBytes: 0,
        leaseMs: () => leaseMs,
        deliver: (handOvers) => hear(handOvers, holder, leaseMs),
        fail: (error) => assert.fail(error),
      });
      streams.add({ holder, leave });
    },
    settle(ids: readonly string[], seconds: number | undefined): void {
      let refused: readonly string[] = [];
      try {
        if (seconds === undefined) subscription.acknowledge(ids);
        else subscription.modifyAckDeadline(ids, seconds);
      } catch (error) {
        assert.ok(error instanceof PubsubError && error.ackFailures !== undefined, String(error));
        refused = Object.keys(error.ackFailures);
      }
      const expected = seconds === undefined ? model.acknowledge(ids) : model.modify(ids, seconds);
      assert.deepEqual(new Set(refused), rules.isExact ? expected : new Set());
    },
    /** The model hears of everything; then the two agree, and nobody waits for what is there. */
    async compare(): Promise<void> {
      // Pulls that wait are answered in a later turn.
      await new Promise((resolve) => setImmediate(resolve));
      for (const tell of news.splice(0)) tell();
      assert.deepEqual(acts.messageIds(), model.ids());
      assert.deepEqual(acts.counts(), model.counts());
      assert.equal(broker.subscription(GRAVES).acts().messageIds().length, model.buried());
      if (pulls.size > 0) assert.deepEqual(model.free(), []);
      for (const { holder } of streams) assert.deepEqual(model.dueTo(holder), []);
    },
  };
}

type World = ReturnType<typeof open>;

function some(dice: Dice, ackIds: readonly string[]): readonly string[] {
  // Mostly ids that are new; now and then one that is old, or named twice.
  return Array.from({ length: 1 + dice.upTo(4) }, () => ackIds[dice.upTo(dice.chance(4) ? ackIds.length : 6)]).filter(
    (ackId) => ackId !== undefined,
  );
}

type Step = (world: World, dice: Dice) => void | Promise<void>;

const publish: Step = (world, dice) => {
  world.publish(Array.from({ length: 1 + dice.upTo(4) }, () => dice.pick(KEYS) ?? ""));
};

const settle: Step = (world, dice) => {
  const ids = some(dice, world.ackIds);
  if (ids.length > 0) world.settle(ids, [undefined, 0, 1 + dice.upTo(20)][dice.upTo(3)]);
};

const pass: Step = async (world, dice) => {
  for (let times = dice.upTo(12); times >= 0; times--) {
    world.clock.advance(STEP_MS);
    world.model.settleTime();
    await world.compare();
  }
};

/** What occurs twice occurs twice as often. */
const STEPS: readonly Step[] = [
  publish,
  publish,
  settle,
  settle,
  settle,
  pass,
  (world, dice) => world.pullNow(1 + dice.upTo(4)),
  (world, dice) => {
    if (world.pulls.size < 3) world.wait(1 + dice.upTo(3));
    else dice.pick([...world.pulls])?.leave();
  },
  (world, dice) => {
    if (world.streams.size < 3) world.listen(dice.upTo(4), (10 + 5 * dice.upTo(3)) * SECOND);
  },
  ({ streams }, dice) => closeOne(streams, dice),
  ({ acts, model }, dice) => {
    const id = dice.pick(model.ids()) ?? "";
    assert.equal(acts.expire(id), model.expire(id));
  },
  ({ acts, model }, dice) => {
    const id = dice.pick(model.ids()) ?? "";
    if (dice.chance(2)) assert.equal(acts.lose(id), model.remove(id));
    else assert.equal(acts.duplicate(id), model.duplicate(id));
  },
];

function closeOne(streams: World["streams"], dice: Dice): void {
  const stream = dice.pick([...streams]);
  if (stream === undefined) return;
  stream.holder.isOpen = false;
  stream.leave();
  streams.delete(stream);
}

/** Everybody goes; what is left comes to somebody new, however long it takes. */
async function drain({ model, pulls, streams, clock, ackIds, ...world }: World): Promise<void> {
  for (const { leave } of pulls) leave();
  for (const { holder, leave } of streams) {
    holder.isOpen = false;
    leave();
  }
  streams.clear();
  await world.compare();
  for (let seconds = 0; model.ids().length > 0; seconds++) {
    assert.ok(seconds < 600, `nobody gets ${model.ids().join(", ")}`);
    ackIds.length = 0;
    world.pullNow(1_000);
    await world.compare();
    if (ackIds.length > 0) world.settle([...ackIds], undefined);
    clock.advance(SECOND);
    model.settleTime();
    await world.compare();
  }
}

describe("whatever is done to it, in whatever order", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const dice = createDice(seed);
    const rules = rulesOf(dice);
    it(`seed ${seed}: nothing is lost, delivered while it is leased, or out of order: ${JSON.stringify(rules)}`, async () => {
      const world = open(rules);
      for (let steps = 0; steps < 250; steps++) {
        await dice.pick(STEPS)?.(world, dice);
        await world.compare();
      }
      await drain(world);
      world.broker.close();
    });
  }
});
