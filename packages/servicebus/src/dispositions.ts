/**
 * What may be said on a link in one breath. The AMQP library below the SDK (rhea 3.0) puts the outcomes of adjacent deliveries
 * into one frame when they are given within one turn, and compares them from the third on alone: a message that is abandoned,
 * or dead-lettered, right after its neighbour was completed, is completed as well, and lost. So completes may go together;
 * everything else goes by itself.
 */
export interface Dispositions {
  /** Calls when it may be said; answers what the call answers. */
  say<T>(outcome: "complete" | "other", call: () => Promise<T>): Promise<T>;
}

interface Breath {
  readonly outcome: "complete" | "other";
  /** May be said from here on. */
  readonly ready: Promise<void>;
  /** All of it is on its way. */
  sent: Promise<unknown>;
}

/** From the call to the frame there are promises alone, and one tick; two more in case of a call that is not made from a promise. */
const TICKS = 4;

export function createDispositions(): Dispositions {
  let breath: Breath = { outcome: "complete", ready: Promise.resolve(), sent: Promise.resolve() };
  return {
    say(outcome, call) {
      if (outcome === "other" || breath.outcome === "other") {
        const ready = breath.sent.then(() => undefined);
        breath = { outcome, ready, sent: ready };
      }
      const mine = breath;
      const answer = mine.ready.then(call);
      mine.sent = Promise.all([mine.sent, mine.ready.then(written)]);
      return answer;
    },
  };
}

/** What was said before this was called has been written. */
async function written(): Promise<void> {
  for (let tick = 0; tick < TICKS; tick++) {
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    });
  }
}
