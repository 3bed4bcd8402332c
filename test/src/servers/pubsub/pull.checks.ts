import assert from "node:assert/strict";
import { type Bench, ONCE, type Queue } from "./bench.ts";
import type { CheckGroup } from "./check.ts";

const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;

/** All that is there, by pulls that do not wait: two in a row that bring nothing end it. */
async function drain({ look }: Queue): Promise<readonly string[]> {
  const texts: string[] = [];
  for (let empty = 0; empty < 2; ) {
    const found = await look();
    empty = found.length === 0 ? empty + 1 : 0;
    texts.push(...found.map(({ text }) => text));
  }
  return texts;
}

async function refuses({ queue, subscriber }: Bench, maxMessages: number): Promise<void> {
  const { subscription } = await queue();
  const refused = subscriber.pull({ subscription, maxMessages, returnImmediately: true }, ONCE);
  await assert.rejects(refused, { code: INVALID_ARGUMENT });
}

export const pulling: CheckGroup = {
  subject: "pull",
  checks: [
    {
      name: "proto PullRequest: how many messages are asked for has to be said",
      run: (bench) => refuses(bench, 0),
    },
    {
      name: "proto PullRequest: fewer than none cannot be asked for",
      run: (bench) => refuses(bench, -1),
    },
    {
      name: "proto Pull: NOT_FOUND where there is no such subscription",
      async run({ subscriber, name }) {
        const subscription = name("subscriptions");
        await assert.rejects(subscriber.pull({ subscription, maxMessages: 1 }, ONCE), { code: NOT_FOUND });
      },
    },
    {
      name: "proto PullRequest: no more messages than were asked for, and none twice while they are leased",
      async run({ queue }) {
        const made = await queue();
        await made.send("a", "b", "c", "d", "e");
        const first = await made.look(2);
        assert.ok(first.length <= 2);
        const others = await made.take(5 - first.length);
        const texts = [...first, ...others].map(({ text }) => text);
        assert.deepEqual(texts.sort(), ["a", "b", "c", "d", "e"]);
        assert.deepEqual(await drain(made), []);
      },
    },
    {
      name: "proto PullRequest: a pull waits, and is woken by a message",
      async run({ queue, subscriber }) {
        const { subscription, send } = await queue();
        let isOver = false;
        const pull = subscriber.pull({ subscription, maxMessages: 10 }, ONCE).finally(() => {
          isOver = true;
        });
        // A call to the same server that is over after the pull arrived.
        await subscriber.getSubscription({ subscription }, ONCE);
        assert.equal(isOver, false);
        const [id] = await send("a");
        const [{ receivedMessages }] = await pull;
        assert.deepEqual(
          receivedMessages?.map(({ message }) => message?.messageId),
          [id],
        );
      },
    },
    {
      name: "proto PullRequest: a pull that waits is woken by a message given back, and by a lease that ran out",
      async run({ queue }) {
        const { send, one, modify } = await queue();
        await send("a");
        const first = await one();
        const givenBack = one();
        await modify(0, first.ackId);
        const second = await givenBack;
        const ranOut = one();
        await modify(1, second.ackId);
        assert.equal((await ranOut).text, "a");
      },
    },
    {
      name: "PS-28: a pull of an empty subscription ends empty, or by its deadline, and not at once",
      async run({ queue, subscriber }) {
        const { subscription } = await queue();
        const startMs = performance.now();
        const [{ receivedMessages }] = await subscriber
          .pull({ subscription, maxMessages: 1 }, { ...ONCE, timeout: 3_000 })
          .catch((error: { readonly code?: number }) => {
            assert.equal(error.code, DEADLINE_EXCEEDED);
            return [{ receivedMessages: [] }] as const;
          });
        assert.deepEqual(receivedMessages, []);
        assert.ok(performance.now() - startMs > 500);
      },
    },
    {
      name: "proto PullRequest: a pull that shall not wait ends at once with nothing",
      async run({ queue }) {
        const { look } = await queue();
        assert.deepEqual(await look(), []);
      },
    },
    {
      name: "proto Pull: of pulls that wait side by side one gets a message, and the others wait on",
      async run({ queue }) {
        const { send, one } = await queue();
        const waiting = [one(), one(), one()];
        for (const text of ["a", "b", "c"]) await send(text);
        const texts = (await Promise.all(waiting)).map(({ text }) => text);
        assert.deepEqual(texts.sort(), ["a", "b", "c"]);
      },
    },
    {
      name: "proto Pull: a pull that was cancelled takes no message",
      async run({ queue, subscriber }) {
        const { subscription, send, one } = await queue({ ackDeadlineSeconds: 600 });
        const abort = new AbortController();
        const pull = subscriber.pull({ subscription, maxMessages: 1 }, { ...ONCE, signal: abort.signal });
        const cancelled = assert.rejects(pull);
        await subscriber.getSubscription({ subscription }, ONCE);
        abort.abort();
        await cancelled;
        // The server knows of it once a later call of the same connection is answered.
        await subscriber.getSubscription({ subscription }, ONCE);
        // Were it leased to the pull that is gone, nobody would get it for ten minutes.
        await send("a");
        assert.equal((await one()).text, "a");
      },
    },
  ],
};
