import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceBusError, type ServiceBusMessage } from "@azure/service-bus";
import type { Outcome } from "@leasehold/core/driver";
import { eachByKey, type Sender, sendBatch } from "./batches.ts";

/** A sender of the vendor's shape whose batches hold so many messages; `fail` throws for a call, by its place. */
function createSender(
  room: number,
  fail: (call: number) => void = () => undefined,
): Sender & { readonly sent: string[][] } {
  const sent: string[][] = [];
  let calls = 0;
  return {
    sent,
    async createMessageBatch() {
      const ids: string[] = [];
      return {
        ids,
        maxSizeInBytes: 1_000,
        sizeInBytes: 0,
        get count() {
          return ids.length;
        },
        tryAddMessage: (message) => ids.length < room && ids.push(idOf(message as ServiceBusMessage)) > 0,
        _generateMessage: () => Buffer.alloc(0),
        _messageSpanContexts: [],
      };
    },
    async sendMessages(batch) {
      fail(calls++);
      sent.push("ids" in batch ? (batch.ids as string[]) : [idOf(batch as ServiceBusMessage)]);
    },
  };
}

const idOf = ({ messageId }: ServiceBusMessage): string => String(messageId);

const messages = (...ids: readonly string[]): ServiceBusMessage[] =>
  ids.map((id) => ({ body: "", messageId: id, ...(id.includes("/") && { sessionId: id.split("/")[0] as string }) }));

test("messages go in order, in as few calls as bytes and sessions allow", async () => {
  const sender = createSender(2);
  const outcomes = await sendBatch(sender, messages("a", "b", "c", "d", "e"));
  assert.deepEqual(sender.sent, [["a", "b"], ["c", "d"], ["e"]]);
  assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(["confirmed"]));
  const keyed = createSender(10);
  await sendBatch(keyed, messages("k/1", "k/2", "l/1", "k/3"));
  assert.deepEqual(keyed.sent, [["k/1", "k/2"], ["l/1"], ["k/3"]]);
  const tight = createSender(0);
  await sendBatch(tight, messages("a", "b"));
  assert.deepEqual(tight.sent, [["a"], ["b"]], "a message that fits in no batch is tried by itself");
});

test("after a call that failed nothing is sent, since it would overtake", async () => {
  for (const [code, first] of [
    ["ServiceBusy", "failed"],
    ["ServiceTimeout", "unconfirmed"],
  ] as const) {
    const sender = createSender(2, (call) => {
      if (call === 1) throw new ServiceBusError("a text", code);
    });
    const outcomes = await sendBatch(sender, messages("a", "b", "c", "d", "e"));
    assert.deepEqual(sender.sent, [["a", "b"]]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["confirmed", "confirmed", first, first, "failed"],
    );
  }
});

test("items of one key follow each other, and others do not wait for them", async () => {
  const log: string[] = [];
  const turns = new Map<string, () => void>();
  const call = async (item: string): Promise<Outcome> => {
    log.push(item);
    await new Promise<void>((resolve) => {
      turns.set(item, resolve);
    });
    return { status: item === "a2" ? "lost" : "confirmed" };
  };
  const answers = eachByKey(["a1", "b1", "a2"], (item) => item.slice(0, 1), call);
  await new Promise(setImmediate);
  assert.deepEqual(log, ["a1", "b1"]);
  turns.get("b1")?.();
  turns.get("a1")?.();
  await new Promise(setImmediate);
  assert.deepEqual(log, ["a1", "b1", "a2"]);
  turns.get("a2")?.();
  assert.deepEqual(
    (await answers).map(({ status }) => status),
    ["confirmed", "confirmed", "lost"],
  );
});
