import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { type TestContext, test } from "node:test";
import { createTimeline } from "@leasehold/core/memory";
import { playServer } from "./played-server.ts";

const LARGE = "x".repeat(4_000_000);

function play(context: TestContext) {
  const timeline = createTimeline();
  const played = playServer(timeline);
  context.after(() => played.end());
  return { timeline, played };
}

async function listen(context: TestContext, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test("time stands still while a server pushes, whatever is said and however much", async (context) => {
  const { timeline, played } = play(context);
  const clock = timeline.clock();
  const port = await listen(
    context,
    createServer((socket) => {
      socket.resume();
      clock.setTimer(1_000, () => socket.write(LARGE));
    }),
  );
  const client = connect(port, "127.0.0.1");
  context.after(() => client.destroy());
  let bytes = 0;
  client.on("data", (chunk) => {
    bytes += chunk.length;
  });
  await played.wait(999);
  assert.equal(bytes, 0);
  await played.wait(1);
  assert.equal(bytes, LARGE.length);
});

test("a server that keeps a caller waiting is at rest, and wakes it at its time", async (context) => {
  const { timeline, played } = play(context);
  const clock = timeline.clock();
  const server = createHttp2Server();
  server.on("stream", (stream) => {
    stream.respond();
    clock.setTimer(20_000, () => stream.end(LARGE));
  });
  const port = await listen(context, server);
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  context.after(() => session.destroy());
  let length = 0;
  const request = session.request({ ":path": "/" });
  request.on("data", (chunk) => {
    length += chunk.length;
  });
  const started = timeline.now();
  await played.until(once(request, "end"));
  assert.equal(length, LARGE.length);
  assert.equal(timeline.now() - started, 20_000);
});

test("a connection that is cut is at rest once both ends know it", async (context) => {
  const { played } = play(context);
  const port = await listen(
    context,
    createServer((socket) => socket.end("bye")),
  );
  const ends: string[] = [];
  const client = connect(port, "127.0.0.1");
  client.resume();
  client.on("close", () => ends.push("client"));
  await played.rest();
  assert.deepEqual(ends, ["client"]);
  const refused = connect(port, "127.0.0.1").on("error", () => ends.push("refused"));
  refused.destroy(new Error("never mind"));
  await played.rest();
  assert.deepEqual(ends, ["client", "refused"]);
});

test("a call that nothing can end is an error, not a wait for ever", async (context) => {
  const { played } = play(context);
  await assert.rejects(played.until(new Promise(() => undefined)), /no timer is left/);
});
