import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KEY } from "./attributes.ts";
import { createSeries, MAX_VALUES, OTHER } from "./series.ts";

describe("series", () => {
  it("makes the same attributes once", () => {
    const root = createSeries();
    const commit = root.with(KEY.taskType, "publish").with(KEY.stage, "commit");
    assert.deepEqual(commit.attributes, { "leasehold.task.type": "publish", "leasehold.stage": "commit" });
    assert.equal(root.with(KEY.taskType, "publish").with(KEY.stage, "commit").attributes, commit.attributes);
    assert.notEqual(root.with(KEY.taskType, "publish").with(KEY.stage, "verify").attributes, commit.attributes);
    assert.deepEqual(root.attributes, {});
  });

  it("stops growing when values flood in, and keeps those it knows", () => {
    const root = createSeries();
    for (let index = 0; index < MAX_VALUES; index++) root.with(KEY.taskType, `type-${index}`);
    const late = root.with(KEY.taskType, "one-too-many");
    assert.deepEqual(late.attributes, { "leasehold.task.type": OTHER });
    assert.equal(root.with(KEY.taskType, "another"), late);
    assert.deepEqual(root.with(KEY.taskType, "type-0").attributes, { "leasehold.task.type": "type-0" });
    assert.deepEqual(root.with(KEY.stage, "commit").attributes, { "leasehold.stage": "commit" });
  });
});
