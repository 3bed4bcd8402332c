import type { handleBidiStreamingCall, ServerErrorResponse } from "@grpc/grpc-js";
import type { Call } from "../../calls.ts";
import type { Fault } from "../../faults.ts";
import type { Broker } from "../broker/broker.ts";
import type { Subscription } from "../broker/subscription.ts";
import { invalid } from "../errors.ts";
import type { Gate } from "./gate.ts";
import { errorResponse } from "./status.ts";
import { type Settlements, settle } from "./stream-settlements.ts";
import { receivedMessage } from "./subscriber.ts";

interface StreamingPullRequest extends Settlements {
  readonly subscription: string;
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
    const atEnd: (() => void)[] = [];
    let isOver = false;
    let subscription: Subscription | undefined;
    let leaseMs = 0;
    let keepsAlive = false;
    /** What a fault keeps from going out. */
    let held: object[] | undefined;

    function end(error?: ServerErrorResponse): void {
      if (isOver) return;
      isOver = true;
      for (const each of atEnd) each();
      if (error !== undefined && !stream.destroyed) stream.emit("error", error);
    }

    function send(response: object): void {
      if (held === undefined) stream.write(response);
      else held.push(response);
    }

    async function letOut(fault: Fault): Promise<void> {
      if (!(await gate.leave(stream, fault))) return;
      const responses = held ?? [];
      held = undefined;
      if (!isOver) for (const response of responses) stream.write(response);
    }

    async function begin(request: StreamingPullRequest): Promise<void> {
      const call: Call = { operation: "StreamingPull", input: request as never, entries: 1 };
      atEnd.push(gate.arrive(call));
      const passage = await gate.enter(call, stream);
      if (isOver) return;
      if (!passage.passes) {
        if (passage.error !== undefined) end(passage.error);
        return;
      }
      setDeadline(request.streamAckDeadlineSeconds, true);
      const found = broker.subscription(request.subscription);
      subscription = found;
      keepsAlive = Number(request.protocolVersion) >= 1;
      if (passage.fault !== undefined) held = [];
      // At once, so that the client knows what it deals with before the first message.
      send(messagesOf(found, []));
      atEnd.push(
        found.open({
          maxMessages: Number(request.maxOutstandingMessages),
          maxBytes: Number(request.maxOutstandingBytes),
          leaseMs: () => leaseMs,
          deliver: (handOvers) => send(messagesOf(found, handOvers.map(receivedMessage))),
          fail: (error) => end(errorResponse(error)),
        }),
      );
      if (passage.fault !== undefined) void letOut(passage.fault);
      answerSettlements(request, found);
    }

    function setDeadline(seconds: number, isFirst: boolean): void {
      if (seconds === 0 && !isFirst) return;
      if (seconds < MIN_DEADLINE_SECONDS || seconds > MAX_DEADLINE_SECONDS) {
        throw invalid("stream_ack_deadline_seconds must be between 10 and 600 seconds");
      }
      leaseMs = seconds * 1_000;
    }

    function answerSettlements(request: StreamingPullRequest, on: Subscription): boolean {
      const confirmations = settle(request, on);
      if (confirmations !== undefined) send(confirmations);
      return confirmations !== undefined;
    }

    function goOn(request: StreamingPullRequest): void {
      if (isOver || subscription === undefined) return;
      if (request.subscription !== "") throw invalid("subscription can be set on the first request of a stream only");
      setDeadline(request.streamAckDeadlineSeconds, false);
      const isAnswered = answerSettlements(request, subscription);
      if (keepsAlive && !isAnswered) send({});
    }

    let begun: Promise<void> | undefined;
    stream.on("data", (request: StreamingPullRequest) => {
      begun = begun === undefined ? begin(request) : begun.then(() => goOn(request));
      begun.catch((error: unknown) => end(errorResponse(error)));
    });
    stream.on("error", () => end());
    stream.on("cancelled", () => end());
    stream.on("end", () => {
      end();
      stream.end();
    });
  };
}

function messagesOf(subscription: Subscription, receivedMessages: readonly object[]): object {
  const { enableExactlyOnceDelivery, enableMessageOrdering } = subscription.config();
  return {
    receivedMessages,
    subscriptionProperties: {
      exactlyOnceDeliveryEnabled: enableExactlyOnceDelivery === true,
      messageOrderingEnabled: enableMessageOrdering === true,
    },
  };
}
