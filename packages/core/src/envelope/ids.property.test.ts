import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { copyId, deriveTaskId, effectKey, foreignTaskId, MAX_MESSAGE_ID, ringId, taskIdOf } from "./ids.ts";

const runs = { numRuns: 500, seed: 1 };
const anything = fc.string({ unit: "binary", maxLength: 300 });
const taskId = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const TASK_ID = /^[A-Za-z0-9_-]{1,64}$/;
const MESSAGE_ID = new RegExp(`^[\\x21-\\x7e]{1,${MAX_MESSAGE_ID}}$`);

describe("task ids", () => {
  test("are taken by every store, whatever they are made from", () => {
    fc.assert(
      fc.property(anything, anything, anything, (queue, type, key) => {
        assert.match(deriveTaskId(queue, type, key), TASK_ID);
        assert.match(foreignTaskId(queue, type, key), TASK_ID);
      }),
      runs,
    );
  });

  test("differ when any part differs, also where the parts put together are the same", () => {
    fc.assert(
      fc.property(fc.tuple(anything, anything, anything), fc.tuple(anything, anything, anything), (one, other) => {
        fc.pre(one.some((part, index) => part.toWellFormed() !== other[index]?.toWellFormed()));
        assert.notEqual(deriveTaskId(...one), deriveTaskId(...other));
      }),
      runs,
    );
    fc.assert(
      fc.property(anything, anything, fc.nat(), (queue, text, place) => {
        fc.pre(text.isWellFormed() && text.length > 1);
        const at = 1 + (place % (text.length - 1));
        fc.pre(text.slice(0, at).isWellFormed());
        assert.notEqual(deriveTaskId(queue, text.slice(0, at), text.slice(at)), deriveTaskId(queue, text, ""));
      }),
      runs,
    );
  });

  test("of any event are ids, or are refused with a reason", () => {
    fc.assert(
      fc.property(anything, anything, anything, fc.boolean(), (queue, source, id, own) => {
        const outcome = taskIdOf({ id, source: own ? `leasehold:${queue}` : source }, queue);
        if (outcome.ok) assert.match(outcome.taskId, TASK_ID);
        else assert.ok(outcome.reason.length > 10);
      }),
      runs,
    );
  });
});

describe("message ids", () => {
  test("of copies and rings are taken by every broker", () => {
    fc.assert(
      fc.property(taskId, anything, fc.integer({ min: 0, max: 253_402_300_799_999 }), (task, messageId, checkAt) => {
        assert.match(copyId(task, messageId), MESSAGE_ID);
        assert.match(ringId(task, checkAt), MESSAGE_ID);
      }),
      runs,
    );
  });

  test("of copies of two messages are two", () => {
    fc.assert(
      fc.property(taskId, anything, anything, (task, one, other) => {
        fc.pre(one.toWellFormed() !== other.toWellFormed());
        assert.notEqual(copyId(task, one), copyId(task, other));
      }),
      runs,
    );
  });
});

describe("effect keys", () => {
  test("are printable, short, and the same for the same parts", () => {
    fc.assert(
      fc.property(anything, anything, fc.option(anything, { nil: undefined }), (key, name, item) => {
        assert.match(effectKey(key, name, item), /^[\x21-\x7e]{0,255}$/);
        assert.equal(effectKey(key, name, item), effectKey(key, name, item));
      }),
      runs,
    );
  });
});
