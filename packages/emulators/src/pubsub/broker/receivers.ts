import type { PubsubError } from "../errors.ts";
import type { Entry, HandOver, Receiver } from "./entry.ts";
import { createReceiver, type Shelf } from "./shelf.ts";

/** A pull that found nothing yet. */
interface WaitingPull {
  readonly max: number;
  readonly end: (handOvers: readonly HandOver[]) => void;
  readonly fail: (error: PubsubError) => void;
}

/** A client that is sent what comes, for as long as it is there. */
export interface StreamRequest {
  /** 0: without limit. Of messages that are leased to this stream. */
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly leaseMs: () => number;
  readonly deliver: (handOvers: readonly HandOver[]) => void;
  /** The subscription is gone. */
  readonly fail: (error: PubsubError) => void;
}

/** Those who wait for messages of one subscription: pulls in the order in which they came, then streams in turn. */
export interface Receivers {
  /** Resolves with what is there, or comes, or with nothing once `onGone` has called back. */
  pull(max: number, onGone: (listener: () => void) => void): Promise<readonly HandOver[]>;
  /** What is there now. */
  pullNow(max: number): readonly HandOver[];
  /** Answers how to end it. */
  open(stream: StreamRequest): () => void;
  /** Lets each take what it can. */
  serve(): void;
  /** All end with this. */
  fail(error: PubsubError): void;
}

/** What one answer to a stream holds at most, as on the service: so that one stream does not take all at once. */
const STREAM_BATCH = 100;
/** https://cloud.google.com/pubsub/quotas#resource_limits: what a pull answers at most. */
const PULL_BYTES = 10_000_000;

/** `handOver` is asked at once: an ack id is of the lease that was just made, and of no later one. */
export function createReceivers(
  shelf: Shelf,
  pullLeaseMs: () => number,
  handOver: (entry: Entry) => HandOver,
): Receivers {
  const pulls = new Set<WaitingPull>();
  const streams = new Map<Receiver, StreamRequest>();

  function pullNow(max: number): readonly HandOver[] {
    const receiver = createReceiver();
    const entries = shelf.take(receiver, max, PULL_BYTES, pullLeaseMs());
    // An answer is all that a pull gets: nothing more of a line that it holds now.
    shelf.leave(receiver);
    return entries.map(handOver);
  }

  function serveStream(receiver: Receiver, { maxMessages, maxBytes, leaseMs, deliver }: StreamRequest): boolean {
    const messages = Math.min(maxMessages > 0 ? maxMessages - receiver.messages : STREAM_BATCH, STREAM_BATCH);
    const bytes = maxBytes > 0 ? maxBytes - receiver.bytes : Number.POSITIVE_INFINITY;
    if (messages <= 0 || bytes <= 0) return false;
    const entries = shelf.take(receiver, messages, bytes, leaseMs());
    if (entries.length > 0) deliver(entries.map(handOver));
    return entries.length > 0;
  }

  function serveStreams(): void {
    for (let left = streams.size; left > 0; ) {
      const [first] = streams;
      if (first === undefined) return;
      const [receiver, stream] = first;
      // To the end of the row: the next round begins with another one.
      streams.delete(receiver);
      streams.set(receiver, stream);
      left = serveStream(receiver, stream) ? streams.size : left - 1;
    }
  }

  return {
    pullNow,
    pull: (max, onGone) =>
      new Promise((resolve, reject) => {
        const pull: WaitingPull = {
          max,
          end(handOvers) {
            if (pulls.delete(pull)) resolve(handOvers);
          },
          fail(error) {
            if (pulls.delete(pull)) reject(error);
          },
        };
        pulls.add(pull);
        onGone(() => pull.end([]));
      }),
    open(stream) {
      const receiver = createReceiver();
      streams.set(receiver, stream);
      return () => {
        streams.delete(receiver);
        shelf.leave(receiver);
      };
    },
    serve() {
      for (const pull of pulls) {
        const handOvers = pullNow(pull.max);
        if (handOvers.length === 0) break;
        pull.end(handOvers);
      }
      serveStreams();
    },
    fail(error) {
      for (const pull of pulls) pull.fail(error);
      for (const [receiver, stream] of streams) {
        streams.delete(receiver);
        stream.fail(error);
      }
    },
  };
}
