import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { findGooglePubsub, startGooglePubsub } from "./google-pubsub.ts";

/** A folder with files of these names, all of them executable. */
function folderOf(test: TestContext, ...names: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-peers-"));
  test.after(() => rmSync(folder, { recursive: true }));
  for (const name of names) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "");
    chmodSync(path, 0o755);
  }
  return folder;
}

describe("finding Google's Pub/Sub emulator", () => {
  it("takes the jar that is named, and says so when it is not there", (test) => {
    const folder = folderOf(test, "own.jar", "java");
    const jar = join(folder, "own.jar");
    assert.deepEqual(findGooglePubsub({ PATH: folder, PUBSUB_EMULATOR_JAR: jar }), { java: join(folder, "java"), jar });
    assert.deepEqual(findGooglePubsub({ PATH: folder, PUBSUB_EMULATOR_JAR: `${jar}.no` }), {
      missing: `Google's Pub/Sub emulator is not installed: PUBSUB_EMULATOR_JAR names ${jar}.no, which cannot be read.`,
    });
  });

  it("takes the newest version of the SDK that gcloud belongs to, through its link", (test) => {
    const library = "platform/pubsub-emulator/lib";
    const versions = ["0.8.9", "0.8.20"].map((version) => `${library}/cloud-pubsub-emulator-${version}-all.jar`);
    const folder = folderOf(test, ...versions, "bin/gcloud", "path/java");
    symlinkSync(join(folder, "bin/gcloud"), join(folder, "path/gcloud"));
    const java = join(folder, "path/java");
    assert.deepEqual(findGooglePubsub({ PATH: join(folder, "path") }), { java, jar: join(folder, versions[1] ?? "") });
  });

  it("says so when there is no java", (test) => {
    const folder = folderOf(test, "own.jar");
    assert.deepEqual(findGooglePubsub({ PATH: folder, PUBSUB_EMULATOR_JAR: join(folder, "own.jar") }), {
      missing: "Google's Pub/Sub emulator is not installed: there is no java on the PATH to run it with.",
    });
  });
});

const skip = findGooglePubsub().missing ?? false;

describe("running Google's Pub/Sub emulator", { skip }, () => {
  it("listens once it is started, and is gone once it is stopped", async () => {
    const peer = await startGooglePubsub();
    assert.ok(peer.missing === undefined);
    const port = Number(peer.endpoint.split(":")[1]);
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.destroy();
    await peer.stop();
    await peer.stop();
    await assert.rejects(once(connect(port, "127.0.0.1"), "connect"), { code: "ECONNREFUSED" });
  });

  it("tells why one that does not start does not", async (test) => {
    const jar = join(folderOf(test, "broken.jar"), "broken.jar");
    await assert.rejects(startGooglePubsub({ ...process.env, PUBSUB_EMULATOR_JAR: jar }), /broken\.jar ended before/);
  });
});

describe("a tied process", () => {
  it("ends when the process that started it is killed", async (test) => {
    const server = createServer().listen(0, "127.0.0.1");
    test.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const child = `import("node:net").then((net) => net.connect(${port}, "127.0.0.1"))`;
    const source = `import { spawnTied } from ${JSON.stringify(import.meta.resolve("./tied-process.ts"))};
      spawnTied(process.execPath, ["-e", ${JSON.stringify(child)}]);`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", source], { stdio: "inherit" });
    test.after(() => parent.kill("SIGKILL"));
    const [socket] = (await once(server, "connection")) as [Socket];
    parent.kill("SIGKILL");
    await once(
      socket.resume().on("error", () => undefined),
      "close",
    );
  });
});
