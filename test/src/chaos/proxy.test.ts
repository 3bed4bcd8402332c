import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { startProxy } from "./proxy.ts";

/** An echo behind a proxy, and a way to connect. */
async function setup(context: TestContext) {
  const echo = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  const proxy = await startProxy((echo.address() as AddressInfo).port);
  context.after(async () => {
    await proxy.close();
    echo.close();
  });
  const open = async (): Promise<Socket> => {
    const socket = connect(proxy.port, "127.0.0.1");
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  };
  const say = async (socket: Socket, text: string): Promise<string> => {
    const answered = once(socket, "data");
    socket.write(text);
    return String((await answered)[0]);
  };
  return { proxy, open, say };
}

test("bytes pass both ways, and late when they are held up", async (context) => {
  const { proxy, open, say } = await setup(context);
  const socket = await open();
  assert.equal(await say(socket, "one"), "one");
  assert.equal(proxy.passed, 6);
  proxy.latencyMs = 5;
  assert.equal(await say(socket, "two"), "two");
});

test("bytes keep their order while the latency changes", async (context) => {
  const { proxy, open } = await setup(context);
  const socket = await open();
  const heard: Buffer[] = [];
  socket.on("data", (bytes: Buffer) => heard.push(bytes));
  const said: string[] = [];
  for (const latencyMs of [40, 0, 20, 1, 0]) {
    proxy.latencyMs = latencyMs;
    const text = `after ${latencyMs} ms;`;
    said.push(text);
    const { passed } = proxy;
    socket.write(text);
    while (proxy.passed === passed) await new Promise((resolve) => setImmediate(resolve));
  }
  const all = said.join("");
  while (Buffer.concat(heard).length < all.length) await once(socket, "data");
  assert.equal(Buffer.concat(heard).toString(), all);
});

test("a cut ends every connection, and a new one passes", async (context) => {
  const { proxy, open, say } = await setup(context);
  const socket = await open();
  await say(socket, "one");
  const closed = closeOf(socket);
  assert.equal(proxy.cut(), 1);
  await closed;
  assert.equal(await say(await open(), "two"), "two");
});

test("a frozen connection stays open and brings nothing; thawed, it is gone", async (context) => {
  const { proxy, open, say } = await setup(context);
  const socket = await open();
  await say(socket, "one");
  const { passed } = proxy;
  let heard = false;
  socket.once("data", () => {
    heard = true;
  });
  proxy.freeze();
  socket.write("two");
  // What went the same way has arrived at the proxy when a connection made after it is open.
  await open();
  assert.equal(socket.destroyed, false);
  const closed = closeOf(socket);
  proxy.thaw();
  await closed;
  assert.equal(heard, false);
  assert.equal(proxy.passed, passed);
});

/** Broken off is closed as well: `once` would reject. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}
