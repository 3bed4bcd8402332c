import assert from "node:assert/strict";
import { test } from "node:test";
import type { CaseResult } from "../suite/run.ts";
import { type ReferenceClient, runClient } from "./clients.ts";
import { peerOf } from "./run.ts";
import { type ReferenceServer, referenceServers } from "./servers.ts";
import { cacheFolder, referenceFolder, runTool } from "./tools.ts";

const told = (results: readonly CaseResult[]) => results.map(({ name, status, reason }) => [name, status, reason]);

function server(start: ReferenceServer["start"], more: Partial<ReferenceServer> = {}): ReferenceServer {
  return { name: "other", what: "", targets: ["sqs"], divergences: [], start, ...more };
}

test("a server whose toolchain is missing is a skip that says so, one for each target", async () => {
  const missing = server(async () => ({ missing: "there is no Go" }), { targets: ["sqs", "sqs/fifo"] });
  const results = await peerOf(missing).run({});
  assert.deepEqual(
    results.map(({ target, status, reason }) => [target, status, reason]),
    [
      ["other sqs", "skipped", "not run: there is no Go"],
      ["other sqs/fifo", "skipped", "not run: there is no Go"],
    ],
  );
});

test("a server that is installed and does not start has failed", async () => {
  const broken = server(async () => {
    throw new Error("it ended before it listened");
  });
  assert.deepEqual(told(await peerOf(broken).run({})), [
    ["all", "failed", "did not start: it ended before it listened"],
  ]);
});

test("a server is stopped at the end, also when nothing is run on it", async () => {
  let stopped = 0;
  const place = { endpoint: "http://127.0.0.1:9" };
  const started = server(async () => ({ place, stop: async () => void stopped++ }));
  assert.deepEqual(await peerOf(started).run({ only: "no case is called so" }), []);
  assert.equal(stopped, 1);
});

function client(script: string): ReferenceClient {
  return {
    name: "python",
    what: "",
    prepare: async () => ({ program: process.execPath, parameters: ["-e", script] }),
    serve: async () => ({ environment: { SERVER: "here" }, stop: async () => {} }),
  };
}

test("a client's steps are cases, and the step that ends it is one that failed", async () => {
  const good = client('console.log("ok send"); console.log("ok " + process.env.SERVER)');
  assert.deepEqual(told(await runClient(good, {})), [
    ["send", "passed", undefined],
    ["here", "passed", undefined],
  ]);
  const bad = client('console.log("ok send"); console.error("lost"); process.exitCode = 1');
  const [, failed] = await runClient(bad, {});
  assert.equal(failed?.status, "failed");
  assert.match(failed?.reason ?? "", /lost/);
});

test("a client that says nothing has failed", async () => {
  assert.deepEqual(told(await runClient(client(""), {})), [["all", "failed", "ended well, and told of no step"]]);
});

test("a tool that is not there has failed, with its name", async () => {
  const { ok, output } = await runTool("no-such-tool", []);
  assert.equal(ok, false);
  assert.match(output, /no-such-tool/);
});

test("what is installed is kept outside of the tree", () => {
  assert.ok(!cacheFolder().startsWith(referenceFolder.replace(/test.reference$/, "")));
});

test("no server declares the same case twice for one target", () => {
  for (const { name, divergences } of referenceServers) {
    const keys = divergences.flatMap((one) => one.targets.map((target) => `${target}: ${one.case}`));
    assert.equal(new Set(keys).size, keys.length, name);
  }
});
