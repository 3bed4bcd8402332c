import assert from "node:assert/strict";
import { it } from "node:test";
import { createHidden } from "./hidden.ts";
import { type Content, createMessage, type Message } from "./message.ts";

it("hidden messages come in the order of their time, whatever was added and removed between", () => {
  const hidden = createHidden();
  const present: Message[] = [];
  // A sequence that is the same in each run, with many equal times.
  let state = 1;
  const next = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  for (let number = 1; number <= 2_000; number++) {
    if (present.length > 0 && next(3) === 0) {
      const [removed] = present.splice(next(present.length), 1);
      hidden.remove(removed as Message);
      assert.equal(removed?.hiddenIndex, -1);
    } else {
      const message = createMessage({} as Content, number, { sentAt: 0 });
      message.visibleAt = next(100);
      present.push(message);
      hidden.add(message);
    }
  }
  const expected = present.sort((left, right) => left.visibleAt - right.visibleAt || left.number - right.number);
  for (const message of expected) {
    assert.equal(hidden.first(), message);
    hidden.remove(message);
  }
  assert.equal(hidden.size(), 0);
});
