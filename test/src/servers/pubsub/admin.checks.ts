import assert from "node:assert/strict";
import { type Bench, ONCE, queueOf } from "./bench.ts";
import type { CheckGroup } from "./check.ts";

const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const OUT_OF_RANGE = 11;

const create = ({ subscriber, name }: Bench, request: object) =>
  subscriber.createSubscription({ name: name("subscriptions"), ...request }, ONCE);

export const admin: CheckGroup = {
  subject: "admin",
  checks: [
    {
      name: "proto CreateTopic: a topic is made, shown, and there only once",
      async run({ publisher, name }) {
        const topic = name("topics");
        const [made] = await publisher.createTopic({ name: topic, labels: { team: "a" } }, ONCE);
        assert.equal(made.name, topic);
        const [shown] = await publisher.getTopic({ topic }, ONCE);
        assert.deepEqual([shown.name, shown.labels], [topic, { team: "a" }]);
        await assert.rejects(publisher.createTopic({ name: topic }, ONCE), { code: ALREADY_EXISTS });
      },
    },
    {
      name: "proto DeleteTopic: a topic that is deleted, or never was, is NOT_FOUND",
      async run({ publisher, topic, name }) {
        const deleted = await topic();
        await publisher.deleteTopic({ topic: deleted }, ONCE);
        for (const missing of [deleted, name("topics")]) {
          await assert.rejects(publisher.getTopic({ topic: missing }, ONCE), { code: NOT_FOUND });
          await assert.rejects(publisher.deleteTopic({ topic: missing }, ONCE), { code: NOT_FOUND });
          await assert.rejects(publisher.publish({ topic: missing, messages: [{ data: "YQ==" }] }, ONCE), {
            code: NOT_FOUND,
          });
        }
      },
    },
    {
      name: "proto Topic.name: 3 to 255 characters that begin with a letter, and not with goog",
      async run({ publisher, project }) {
        for (const id of ["ab", "1abc", "a b c", "googabc", "a".repeat(256), ""]) {
          const request = { name: `projects/${project}/topics/${id}` };
          await assert.rejects(publisher.createTopic(request, ONCE), { code: INVALID_ARGUMENT }, id);
        }
      },
    },
    {
      name: "proto Subscription.name: 3 to 255 characters that begin with a letter, and not with goog",
      async run(bench) {
        const topic = await bench.topic();
        for (const id of ["ab", "1abc", "a b c", "googabc", "a".repeat(256), ""]) {
          const name = `projects/${bench.project}/subscriptions/${id}`;
          await assert.rejects(create(bench, { name, topic }), { code: INVALID_ARGUMENT }, id);
        }
      },
    },
    {
      name: "error texts: what is missing, and what is there already, is named as the service names it",
      async run(bench) {
        const { publisher, subscriber, queue, name } = bench;
        const id = (resource: string) => resource.split("/").at(-1);
        const missing = name("topics");
        await assert.rejects(publisher.getTopic({ topic: missing }, ONCE), {
          details: `Resource not found (resource=${id(missing)}).`,
        });
        const subscription = name("subscriptions");
        await assert.rejects(subscriber.pull({ subscription, maxMessages: 1 }, ONCE), {
          details: `Resource not found (resource=${id(subscription)}).`,
        });
        const made = await queue();
        await assert.rejects(create(bench, { topic: made.topic, name: made.subscription }), {
          details: `Resource already exists in the project (resource=${id(made.subscription)}).`,
        });
      },
    },
    {
      name: "proto Subscription: a subscription is made, shown with its settings, and there only once",
      async run(bench) {
        const { subscriber, topic, name } = bench;
        const [main, dead] = [await topic(), await topic()];
        const request = {
          name: name("subscriptions"),
          topic: main,
          ackDeadlineSeconds: 600,
          enableMessageOrdering: true,
          enableExactlyOnceDelivery: true,
          deadLetterPolicy: { deadLetterTopic: dead, maxDeliveryAttempts: 7 },
          retryPolicy: { minimumBackoff: { seconds: 1, nanos: 500_000_000 }, maximumBackoff: { seconds: 20 } },
        };
        await create(bench, request);
        const [shown] = await subscriber.getSubscription({ subscription: request.name }, ONCE);
        assert.equal(shown.topic, main);
        assert.equal(shown.ackDeadlineSeconds, 600);
        assert.ok(shown.enableMessageOrdering && shown.enableExactlyOnceDelivery);
        assert.equal(shown.deadLetterPolicy?.deadLetterTopic, dead);
        assert.equal(shown.deadLetterPolicy?.maxDeliveryAttempts, 7);
        const { minimumBackoff, maximumBackoff } = shown.retryPolicy ?? {};
        assert.deepEqual([Number(minimumBackoff?.seconds), minimumBackoff?.nanos], [1, 500_000_000]);
        assert.equal(Number(maximumBackoff?.seconds), 20);
        await assert.rejects(create(bench, request), { code: ALREADY_EXISTS });
      },
    },
    {
      name: "PS-03: the ack deadline is 10 s unless another is asked for",
      async run({ queue, subscriber }) {
        const { subscription } = await queue({ ackDeadlineSeconds: 0 });
        const [{ ackDeadlineSeconds }] = await subscriber.getSubscription({ subscription }, ONCE);
        assert.equal(ackDeadlineSeconds, 10);
      },
    },
    {
      name: "PS-03: an ack deadline under 10 s is refused",
      async run(bench) {
        const topic = await bench.topic();
        for (const ackDeadlineSeconds of [5, 9]) {
          await assert.rejects(create(bench, { topic, ackDeadlineSeconds }), { code: INVALID_ARGUMENT });
        }
      },
    },
    {
      name: "PS-03: an ack deadline over 600 s, or under 0, is refused",
      async run(bench) {
        const topic = await bench.topic();
        for (const ackDeadlineSeconds of [601, -1]) {
          await assert.rejects(create(bench, { topic, ackDeadlineSeconds }), { code: INVALID_ARGUMENT });
        }
      },
    },
    {
      name: "PS-41: 5 to 100 deliveries before the dead letter; none given are 5",
      async run(bench) {
        const [topic, deadLetterTopic] = [await bench.topic(), await bench.topic()];
        for (const maxDeliveryAttempts of [4, 101, -1]) {
          const deadLetterPolicy = { deadLetterTopic, maxDeliveryAttempts };
          await assert.rejects(create(bench, { topic, deadLetterPolicy }), { code: OUT_OF_RANGE });
        }
        const [{ deadLetterPolicy }] = await create(bench, { topic, deadLetterPolicy: { deadLetterTopic } });
        assert.equal(deadLetterPolicy?.maxDeliveryAttempts, 5);
      },
    },
    {
      name: "proto CreateSubscription: its topic has to be there",
      async run(bench) {
        await assert.rejects(create(bench, { topic: bench.name("topics") }), { code: NOT_FOUND });
      },
    },
    {
      name: "proto DeadLetterPolicy: the dead-letter topic has to be there",
      async run(bench) {
        const deadLetterPolicy = { deadLetterTopic: bench.name("topics"), maxDeliveryAttempts: 5 };
        await assert.rejects(create(bench, { topic: await bench.topic(), deadLetterPolicy }), { code: NOT_FOUND });
      },
    },
    {
      name: "PS-44: back-off of 0 to 600 s, the least not more than the most; 10 and 600 s where none is given",
      async run(bench) {
        const topic = await bench.topic();
        for (const [minimum, maximum] of [
          [20, 10],
          [0, 601],
          [601, 601],
          [-1, 10],
        ]) {
          const retryPolicy = { minimumBackoff: { seconds: minimum }, maximumBackoff: { seconds: maximum } };
          const refused = create(bench, { topic, retryPolicy });
          await assert.rejects(refused, { code: INVALID_ARGUMENT }, `${minimum} to ${maximum} s`);
        }
        const [{ retryPolicy }] = await create(bench, { topic, retryPolicy: {} });
        assert.equal(Number(retryPolicy?.minimumBackoff?.seconds), 10);
        assert.equal(Number(retryPolicy?.maximumBackoff?.seconds), 600);
      },
    },
    {
      name: "proto ListTopicSubscriptions, ListSubscriptions, ListTopics: page by page",
      async run(bench) {
        const { publisher, subscriber, queue, project } = bench;
        const first = await queue();
        const [{ name: second }] = await create(bench, { topic: first.topic });
        const own = [first.subscription, second].sort();
        const [listed] = await publisher.listTopicSubscriptions({ topic: first.topic, pageSize: 1 });
        assert.deepEqual(listed.sort(), own);
        const [subscriptions] = await subscriber.listSubscriptions({ project: `projects/${project}`, pageSize: 2 });
        const names = subscriptions.map(({ name }) => name);
        assert.ok(own.every((name) => names.includes(name)));
        assert.equal(new Set(names).size, names.length);
        const [topics] = await publisher.listTopics({ project: `projects/${project}`, pageSize: 2 });
        assert.ok(topics.some(({ name }) => name === first.topic));
      },
    },
    {
      name: "proto UpdateSubscription: what the mask names changes, and nothing else",
      async run({ queue, subscriber }) {
        const { subscription: name, topic } = await queue({ ackDeadlineSeconds: 20 });
        const subscription = { name, topic, ackDeadlineSeconds: 30, labels: { team: "b" } };
        await subscriber.updateSubscription({ subscription, updateMask: { paths: ["ack_deadline_seconds"] } }, ONCE);
        const [shown] = await subscriber.getSubscription({ subscription: name }, ONCE);
        assert.deepEqual([shown.ackDeadlineSeconds, shown.labels], [30, {}]);
        const updateMask = { paths: ["no_such_field"] };
        await assert.rejects(subscriber.updateSubscription({ subscription, updateMask }, ONCE), {
          code: INVALID_ARGUMENT,
        });
      },
    },
    {
      name: "proto DeleteSubscription: every call on a subscription that is gone is NOT_FOUND",
      async run({ queue, subscriber }) {
        const { subscription, send, one, ack, modify, look } = await queue();
        await send("a");
        const { ackId } = await one();
        await subscriber.deleteSubscription({ subscription }, ONCE);
        const gone = { code: NOT_FOUND };
        await assert.rejects(subscriber.getSubscription({ subscription }, ONCE), gone);
        await assert.rejects(subscriber.deleteSubscription({ subscription }, ONCE), gone);
        await assert.rejects(look(), gone);
        await assert.rejects(ack(ackId), gone);
        await assert.rejects(modify(10, ackId), gone);
      },
    },
    {
      name: "proto Subscription.topic: a subscription outlives its topic, and keeps what it has",
      async run(bench) {
        const { publisher, subscriber, queue } = bench;
        const { topic, subscription, send } = await queue();
        await send("a");
        await publisher.deleteTopic({ topic }, ONCE);
        const [shown] = await subscriber.getSubscription({ subscription }, ONCE);
        assert.equal(shown.topic, "_deleted-topic_");
        assert.equal((await queueOf(bench, topic, subscription).one()).text, "a");
      },
    },
  ],
};
