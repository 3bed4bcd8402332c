/** A queue, seen from its `$management`. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { BrokerActs } from "../broker-acts.ts";
import type { HandClock } from "../hand-clock.ts";
import type { ServicebusEmulator } from "../servicebus/start.ts";
import { type AmqpClient, type AmqpReceiver, openAmqp, type Reply, uuids } from "./amqp.ts";
import { openServicebus } from "./servicebus.ts";
import { lockTokenOf } from "./wire.ts";

export interface DeskFixture {
  readonly servicebus: ServicebusEmulator;
  readonly clock: HandClock;
  readonly amqp: AmqpClient;
  readonly acts: BrokerActs;
  readonly receiver: AmqpReceiver;
  /** Each is the body of a message, and its id. */
  send(...ids: readonly string[]): Promise<void>;
  /** Sends one and receives it. Answers its lock token. */
  lock(id?: string): Promise<string>;
  request(operation: string, body: unknown, more?: Readonly<Record<string, unknown>>): Promise<Reply>;
  /** `update-disposition` of one. Answers the status. */
  settle(status: string, token: string, more?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Answers the status. */
  renew(token: string): Promise<unknown>;
  deadLetterIds(): readonly string[];
}

export async function openDesk(test: TestContext): Promise<DeskFixture> {
  const { queue, servicebus, clock } = await openServicebus(test);
  const { path, acts } = queue();
  const amqp = await openAmqp(test, servicebus);
  const sender = await amqp.sender(path);
  const receiver = await amqp.receiver(path);
  let last = 0;

  async function send(...ids: readonly string[]): Promise<void> {
    for (const id of ids) assert.equal(await sender.send({ body: id, message_id: id }), undefined);
  }

  return {
    servicebus,
    clock,
    amqp,
    acts,
    receiver,
    send,
    async lock(id = `locked-${++last}`) {
      await send(id);
      receiver.grant(1);
      const { delivery, message } = await receiver.next();
      assert.equal(message.message_id, id);
      return lockTokenOf(delivery.tag as Buffer);
    },
    request: (operation, body, more) => amqp.request(path, operation, body, more),
    async settle(status, token, more = {}) {
      const { properties } = await amqp.request(path, "update-disposition", {
        "lock-tokens": uuids(token),
        "disposition-status": status,
        ...more,
      });
      return properties["statusCode"];
    },
    async renew(token) {
      return (await amqp.renewLock(path, token)).properties["statusCode"];
    },
    deadLetterIds: () => servicebus.acts(`${path}/$DeadLetterQueue`).messageIds(),
  };
}
