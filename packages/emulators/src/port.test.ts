import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { startDynamodb } from "./dynamodb/start.ts";
import { startPubsub } from "./pubsub/start.ts";
import { startServicebus } from "./servicebus/start.ts";
import type { Emulator } from "./shape.ts";
import { startSqs } from "./sqs/start.ts";

function isOpen({ endpoint }: Emulator): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(/:(\d+)$/.exec(endpoint)?.[1]), "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

const starts: Readonly<Record<string, () => Promise<Emulator>>> = {
  dynamodb: startDynamodb,
  pubsub: startPubsub,
  servicebus: startServicebus,
  sqs: startSqs,
};

for (const [name, start] of Object.entries(starts)) {
  describe(`the port of ${name}`, () => {
    it("is as it was asked for last, however fast", async () => {
      const emulator = await start();
      await emulator.pause();
      assert.equal(await isOpen(emulator), false);
      await Promise.all([emulator.resume(), emulator.pause()]);
      assert.equal(await isOpen(emulator), false);
      await Promise.all([emulator.resume(), emulator.resume()]);
      assert.equal(await isOpen(emulator), true);
      await emulator.stop();
    });

    it("is closed for good once it is stopped, even while it opens", async () => {
      const emulator = await start();
      await emulator.pause();
      await Promise.all([emulator.resume(), emulator.stop()]);
      assert.equal(await isOpen(emulator), false);
      await assert.rejects(emulator.resume(), /was stopped/);
      await emulator.stop();
    });
  });
}
