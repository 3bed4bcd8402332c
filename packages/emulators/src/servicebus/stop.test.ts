import assert from "node:assert/strict";
import { it } from "node:test";
import type { EmulatorClock } from "../clock.ts";
import { createHandClock } from "../hand-clock.ts";
import { openAmqp } from "../testing/amqp.ts";
import { until } from "../testing/until.ts";
import { startServicebus } from "./start.ts";

it("a server that is stopped leaves no timer, whatever was under way", async (test) => {
  const hand = createHandClock();
  const timers = new Set<object>();
  const clock: EmulatorClock = {
    now: hand.now,
    setTimer(delayMs, callback) {
      const timer = hand.setTimer(delayMs, () => {
        timers.delete(timer);
        callback();
      });
      timers.add(timer);
      return {
        cancel() {
          timers.delete(timer);
          timer.cancel();
        },
      };
    },
  };
  const servicebus = await startServicebus({ clock, tokenLifetimeMs: 3_600_000 });
  servicebus.createQueue("queue");
  const amqp = await openAmqp(test, servicebus);
  const [sender, receiver] = [await amqp.sender("queue"), await amqp.receiver("queue")];
  await sender.send({ body: "locked" });
  await sender.send({ body: "expires", ttl: 60_000 });
  receiver.grant(1);
  await receiver.next();
  servicebus.faults.add({ operation: "Receive", delayMs: 60_000 });
  receiver.grant(1);
  await until(() => servicebus.calls.of("Receive").calls === 2);
  assert.ok(timers.size > 0);
  await servicebus.stop();
  assert.equal(timers.size, 0);
});
