import type { protos, v1 } from "@google-cloud/pubsub";
import { type Delivery, deliveryOf } from "./delivery.ts";
import type { Until } from "./until.ts";

export type StreamAnswer = protos.google.pubsub.v1.IStreamingPullResponse;

/** One StreamingPull, without what the high-level client does on top. */
export interface Stream {
  /** Every answer so far, those without messages included. */
  readonly answers: readonly StreamAnswer[];
  /** Everything delivered so far. */
  deliveries(): readonly Delivery[];
  /** Resolves once so many were delivered, with the first of them. */
  take(count: number): Promise<readonly Delivery[]>;
  write(request: object): void;
  /** The error that the server ended it with. */
  ended(): Promise<StreamError>;
  /** Cancels it, as a client that goes away does. */
  cancel(): Promise<void>;
}

export interface StreamError {
  readonly code?: number;
  readonly message: string;
}

/** Opens a stream with this first request. */
export function openStream(subscriber: v1.SubscriberClient, until: Until, first: object): Stream {
  const call = subscriber.streamingPull();
  const answers: StreamAnswer[] = [];
  let error: StreamError | undefined;
  call.on("data", (answer: StreamAnswer) => answers.push(answer));
  call.on("error", (reason: StreamError) => {
    error ??= reason;
  });
  call.on("end", () => {
    error ??= { code: 0, message: "the server ended the stream without an error" };
  });
  call.write(first);
  const deliveries = (): readonly Delivery[] =>
    answers.flatMap(({ receivedMessages }) => (receivedMessages ?? []).map(deliveryOf));
  const ended = async (): Promise<StreamError> => {
    await until(() => error !== undefined);
    return error ?? { message: "" };
  };
  return {
    answers,
    deliveries,
    async take(count) {
      await until(() => deliveries().length >= count || error !== undefined);
      if (deliveries().length < count) throw new Error(`the stream ended: ${error?.message}`);
      return deliveries().slice(0, count);
    },
    write: (request) => {
      call.write(request);
    },
    ended,
    async cancel() {
      call.cancel();
      await ended();
    },
  };
}
