import assert from "node:assert/strict";
import { test } from "node:test";
import { createDispositions } from "./dispositions.ts";

/** A link that writes what was said within one turn in one frame, as the library below the SDK does. */
function createLink(): { readonly frames: readonly (readonly string[])[]; say(outcome: string): Promise<string> } {
  const frames: string[][] = [];
  let open: string[] | undefined;
  return {
    frames,
    /** The SDK has promises of its own before it says anything. */
    async say(outcome) {
      for (let hop = 0; hop < 12; hop++) await Promise.resolve();
      if (open === undefined) {
        const frame: string[] = [];
        open = frame;
        process.nextTick(() => {
          frames.push(frame);
          open = undefined;
        });
      }
      open.push(outcome);
      return outcome;
    },
  };
}

const outcomeOf = (said: string): "complete" | "other" => (said.startsWith("complete") ? "complete" : "other");

test("completes of one breath share a frame, and nothing else does", async () => {
  const said = ["complete 1", "complete 2", "abandon 3", "complete 4", "dead-letter 5", "dead-letter 6", "complete 7"];
  for (const start of [(run: () => void) => run(), setImmediate, process.nextTick, queueMicrotask]) {
    const link = createLink();
    const dispositions = createDispositions();
    const answers = await new Promise<readonly string[]>((resolve) => {
      start(() => {
        resolve(Promise.all(said.map((one) => dispositions.say(outcomeOf(one), () => link.say(one)))));
      });
    });
    assert.deepEqual(answers, said);
    await new Promise(setImmediate);
    assert.deepEqual(link.frames, [
      ["complete 1", "complete 2"],
      ["abandon 3"],
      ["complete 4"],
      ["dead-letter 5"],
      ["dead-letter 6"],
      ["complete 7"],
    ]);
  }
});

test("a call that fails, or is never answered, holds up none of the others", async () => {
  const dispositions = createDispositions();
  const failing = dispositions.say("other", () => Promise.reject(new Error("refused")));
  void dispositions.say("other", () => new Promise(() => undefined));
  const last = dispositions.say("complete", async () => "said");
  await assert.rejects(failing, /refused/);
  assert.equal(await last, "said");
});
