import assert from "node:assert/strict";
import { test } from "node:test";
import { queueSuites } from "../queue/all.ts";
import { targets } from "../targets/all.ts";
import { engineProblem } from "./engine.ts";
import { containerServers, imageOf, images } from "./servers.ts";

test("without an engine there is one line that says what is missing, and why it was not found", async () => {
  const problem = await engineProblem(async () => {
    throw new Error("Could not find a working container runtime strategy\nTried: unix socket");
  });
  assert.equal(
    problem,
    "Not run: the containers need a Docker engine (Could not find a working container runtime strategy).",
  );
  assert.equal(await engineProblem(async () => "an engine"), undefined);
});

test("every image is of one version, and each can be named otherwise", () => {
  for (const image of Object.values(images)) {
    assert.match(imageOf(image, {}), /:\d[\w.-]*$/);
    assert.equal(imageOf(image, { [image.variable]: "mirror.example/other:1" }), "mirror.example/other:1");
  }
});

test("every container is run with targets that there are, and declares differences of cases that there are", () => {
  const cases = new Set(queueSuites.flatMap((suite) => suite.cases.map(({ name }) => name)));
  for (const server of containerServers) {
    for (const name of server.targets)
      assert.ok(
        targets.some((target) => target.name === name),
        name,
      );
    for (const divergence of server.divergences) {
      assert.ok(cases.has(divergence.case), divergence.case);
      assert.ok(
        divergence.targets.every((name) => server.targets.includes(name)),
        divergence.case,
      );
    }
  }
});
