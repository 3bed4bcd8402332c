import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isLeaseholdError } from "./errors.ts";
import { openQueue, openStore } from "./open.ts";

const refusedAs = (code: "InvalidArgument" | "Unsupported", message: RegExp) => (error: unknown) =>
  isLeaseholdError(error, code) && message.test(error.message);

test("memory queues and stores of one name are one", async () => {
  const [left, right, other] = await Promise.all([
    openQueue("memory://open-test"),
    openQueue("memory://open-test"),
    openQueue("memory://open-test-2"),
  ]);
  assert.deepEqual([left.provider, left.queue], ["memory", "open-test"]);
  await left.send([{ id: "1", body: "x", contentType: "text/plain" }]);
  assert.deepEqual(await other.receive({ max: 1, waitMs: 0, leaseMs: 1_000 }), []);
  const [delivery] = await right.receive({ max: 1, waitMs: 0, leaseMs: 1_000 });
  assert.equal(delivery?.body, "x");
  for (const queue of [left, right, other]) await queue.close();

  const stores = await Promise.all([
    openStore("memory://open-test"),
    openStore("memory://open-test"),
    openStore("memory://open-test-2"),
  ]);
  await stores[0].create({
    taskId: "t",
    type: "x",
    queue: "q",
    input: "1",
    inputHash: "h",
    idempotencyKey: "t",
    at: 0,
    recoverAfterMs: 1,
    retentionMs: 1,
    token: "token",
  });
  const found = await Promise.all(stores.map((store) => store.get("t")));
  assert.deepEqual(
    found.map((record) => record?.task_id),
    ["t", "t", undefined],
  );
  for (const store of stores) await store.close();
});

test("a malformed URL is refused with the forms there are", async () => {
  const urls = [
    "",
    "memory",
    "memory:",
    "memory://",
    "memory://a b",
    "memory://a/b",
    "://x",
    "../x://y",
    "@scope/x://y",
    "SQS://x",
    "core://x",
    "emulators://x",
    "sqs:// x",
  ];
  for (const url of [...urls, undefined, 5, new URL("memory://x")] as string[]) {
    await assert.rejects(
      openQueue(url),
      refusedAs("InvalidArgument", /^url: got .+, expected .+memory:\/\//),
      String(url),
    );
    await assert.rejects(
      openStore(url),
      refusedAs("InvalidArgument", /^url: got .+, expected .+memory:\/\//),
      String(url),
    );
  }
});

test("a package that is not installed is named, with the command that installs it", async () => {
  for (const open of [openQueue, openStore]) {
    await assert.rejects(open("nosuchcloud://key:secret@queue"), (error) => {
      assert.ok(isLeaseholdError(error, "Unsupported"));
      assert.equal(
        error.message,
        'url: got the scheme "nosuchcloud", which needs the package @leasehold/nosuchcloud, and that is not installed; run: npm install @leasehold/nosuchcloud',
      );
      return true;
    });
  }
});

test("a package of the program is found although core cannot see it", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-open-"));
  const scope = "@leasehold";
  const program = process.argv[1];
  context.after(async () => {
    if (program !== undefined) process.argv[1] = program;
    await rm(folder, { recursive: true });
  });
  const install = async (scheme: string, source: string): Promise<void> => {
    const path = join(folder, "node_modules", scope, scheme);
    await mkdir(path, { recursive: true });
    await writeFile(
      join(path, "package.json"),
      JSON.stringify({ name: `${scope}/${scheme}`, type: "module", exports: "./index.js" }),
    );
    await writeFile(join(path, "index.js"), source);
  };
  await install("fakequeue", "export const openQueue = (url, options) => ({ url, options });");
  await install("needy", `import "${scope}/not-there"; export const openQueue = 1;`);
  await install("broken", "throw new Error('broken inside');");
  process.argv[1] = join(folder, "program.js");

  assert.deepEqual(await openQueue("fakequeue://x", { region: "eu" }), {
    url: "fakequeue://x",
    options: { region: "eu" },
  });
  await assert.rejects(openStore("fakequeue://x"), refusedAs("Unsupported", /@leasehold\/fakequeue has none/));
  for (const [scheme, message] of [
    ["needy", /loading @leasehold\/needy failed: .*not-there/],
    ["broken", /loading @leasehold\/broken failed: broken inside/],
  ] as const) {
    await assert.rejects(
      openQueue(`${scheme}://x`),
      (error) => isLeaseholdError(error, "Unknown") && message.test(error.message) && error.cause instanceof Error,
    );
  }
});
