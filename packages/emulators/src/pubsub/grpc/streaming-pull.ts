import type { handleBidiStreamingCall, ServerDuplexStream } from "@grpc/grpc-js";
import type { Call } from "../../calls.ts";
import type { Broker } from "../broker/broker.ts";
import type { Subscription } from "../broker/subscription.ts";
import { invalid, type PubsubError } from "../errors.ts";
import type { Gate } from "./gate.ts";
import { errorResponse } from "./status.ts";
import { receivedMessage } from "./subscriber.ts";

interface StreamingPullRequest {
  readonly subscription: string;
  readonly ackIds: string[];
  readonly modifyDeadlineSeconds: number[];
  readonly modifyDeadlineAckIds: string[];
  readonly streamAckDeadlineSeconds: number;
  readonly maxOutstandingMessages: string;
  readonly maxOutstandingBytes: string;
  readonly protocolVersion: string;
}

const [MIN_DEADLINE_SECONDS, MAX_DEADLINE_SECONDS] = [10, 600];

/**
 * A stream of messages. The first request says how; later ones may acknowledge, change deadlines, or only show that somebody is
 * there, which protocol version 1 wants answered. Messages stay leased when the stream ends.
 */
export function streamingPull(broker: Broker, gate: Gate): handleBidiStreamingCall<StreamingPullRequest, object> {
  return (stream) => {
    const ended: (() => void)[] = [];
    let subscription: Subscription | undefined;
    let leaseMs = 0;
    let keepsAlive = false;

    function end(error?: unknown): void {
      for (const each of ended.splice(0)) each();
      if (error !== undefined && !stream.destroyed) stream.emit("error", errorResponse(error));
    }

    async function begin(request: StreamingPullRequest): Promise<void> {
      const call: Call = { operation: "StreamingPull", input: request as never, entries: 1 };
      ended.push(gate.arrive(call));
      const passage = await gate.enter(call, stream);
      if (!passage.passes) {
        if (passage.error !== undefined) stream.emit("error", passage.error);
        return end();
      }
      if (stream.cancelled) return end();
      setDeadline(request.streamAckDeadlineSeconds, true);
      subscription = broker.subscription(request.subscription);
      keepsAlive = Number(request.protocolVersion) >= 1;
      // At once, so that the client knows what it deals with before the first message.
      send(stream, subscription, []);
      ended.push(
        subscription.open({
          maxMessages: Number(request.maxOutstandingMessages),
          maxBytes: Number(request.maxOutstandingBytes),
          leaseMs: () => leaseMs,
          deliver: (handOvers) => subscription && send(stream, subscription, handOvers.map(receivedMessage)),
          fail: (error: PubsubError) => end(error),
        }),
      );
      apply(request, subscription);
    }

    function setDeadline(seconds: number, isFirst: boolean): void {
      if (seconds === 0 && !isFirst) return;
      if (seconds < MIN_DEADLINE_SECONDS || seconds > MAX_DEADLINE_SECONDS) {
        throw invalid("stream_ack_deadline_seconds must be between 10 and 600 seconds");
      }
      leaseMs = seconds * 1_000;
    }

    function goOn(request: StreamingPullRequest, on: Subscription): void {
      if (request.subscription !== "") throw invalid("subscription can be set on the first request of a stream only");
      setDeadline(request.streamAckDeadlineSeconds, false);
      apply(request, on);
      if (keepsAlive) stream.write({});
    }

    let begun: Promise<void> | undefined;
    stream.on("data", (request: StreamingPullRequest) => {
      begun = begun === undefined ? begin(request) : begun.then(() => subscription && goOn(request, subscription));
      begun.catch(end);
    });
    stream.on("error", () => end());
    stream.on("cancelled", () => end());
    stream.on("end", () => {
      end();
      stream.end();
    });
  };
}

function apply({ ackIds, modifyDeadlineAckIds, modifyDeadlineSeconds }: StreamingPullRequest, on: Subscription): void {
  if (modifyDeadlineAckIds.length !== modifyDeadlineSeconds.length) {
    throw invalid("modify_deadline_seconds and modify_deadline_ack_ids must have the same length");
  }
  if (ackIds.length > 0) on.acknowledge(ackIds);
  modifyDeadlineAckIds.forEach((ackId, index) => {
    on.modifyAckDeadline([ackId], modifyDeadlineSeconds[index] ?? 0);
  });
}

function send(
  stream: ServerDuplexStream<unknown, object>,
  subscription: Subscription,
  messages: readonly object[],
): void {
  const { enableExactlyOnceDelivery, enableMessageOrdering } = subscription.config();
  stream.write({
    receivedMessages: messages,
    subscriptionProperties: {
      exactlyOnceDeliveryEnabled: enableExactlyOnceDelivery === true,
      messageOrderingEnabled: enableMessageOrdering === true,
    },
  });
}
