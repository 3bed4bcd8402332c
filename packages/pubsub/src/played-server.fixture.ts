import { createServer, type Http2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { protos } from "@google-cloud/pubsub";
import { createClients, type PubsubClients } from "./client.ts";

const { v1 } = protos.google.pubsub;

/** What the server does with a call: `body` is the encoded answer, else the status. */
export type PlayedAnswer =
  | { readonly body: Uint8Array }
  | { readonly status: number; readonly message?: string; readonly infos?: readonly ErrorInfo[] }
  | "cut"
  | "hang";

export interface ErrorInfo {
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A call as it arrived. */
export interface PlayedCall {
  /** `Pull`, `Acknowledge`, … */
  readonly method: string;
  /** Encoded. */
  readonly request: Uint8Array;
  /** The deadline that came along, ms from the arrival; `NaN` without one. */
  readonly timeoutMs: number;
}

/** Speaks gRPC as far as it takes to give the vendor's client any answer there may be, and counts what the client does. */
export interface PlayedServer {
  readonly endpoint: string;
  readonly calls: readonly PlayedCall[];
  connect(): PubsubClients;
  /** From now on. Default: an empty answer, which is a good one for each method here. */
  play(answer: (call: PlayedCall) => PlayedAnswer): void;
  /** Empties `calls`. */
  forget(): void;
  close(): Promise<void>;
}

export const EMPTY: PlayedAnswer = { body: new Uint8Array() };

export async function playServer(): Promise<PlayedServer> {
  const calls: PlayedCall[] = [];
  const sessions = new Set<Http2Session>();
  const made: PubsubClients[] = [];
  let play: (call: PlayedCall) => PlayedAnswer = () => EMPTY;
  const server = createServer({ maxSendHeaderBlockLength: 1_000_000 });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on("error", () => undefined);
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      const method = String(headers[":path"]).split("/").at(-1) ?? "";
      const timeoutMs = msOf(String(headers["grpc-timeout"]));
      const call = { method, request: Buffer.concat(chunks).subarray(5), timeoutMs };
      calls.push(call);
      respond(stream, play(call));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint,
    calls,
    connect() {
      const clients = createClients({ apiEndpoint: endpoint, projectId: "my-project" });
      made.push(clients);
      return clients;
    },
    play(answer) {
      play = answer;
    },
    forget() {
      calls.length = 0;
    },
    async close() {
      for (const { poll, control, publisher } of made) {
        await Promise.all([poll.close(), control.close(), publisher.close()]);
      }
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** `20S`, `1500m`, `2M` */
function msOf(timeout: string): number {
  const unitMs = { m: 1, S: 1_000, M: 60_000, H: 3_600_000 }[timeout.slice(-1)];
  return unitMs === undefined ? Number.NaN : Number(timeout.slice(0, -1)) * unitMs;
}

function respond(stream: ServerHttp2Stream, answer: PlayedAnswer): void {
  if (answer === "hang") return;
  if (answer === "cut") {
    stream.session?.destroy();
    return;
  }
  const headers = { ":status": 200, "content-type": "application/grpc" };
  if ("status" in answer) {
    const { status, message = "", infos = [] } = answer;
    const details = infos.length > 0 && { "grpc-status-details-bin": detailsOf(status, infos).toString("base64") };
    stream.respond(
      { ...headers, "grpc-status": status, "grpc-message": encodeURI(message), ...details },
      { endStream: true },
    );
    return;
  }
  stream.respond(headers, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  const length = Buffer.alloc(5);
  length.writeUInt32BE(answer.body.length, 1);
  stream.end(Buffer.concat([length, answer.body]));
}

/** A `google.rpc.Status` with an `ErrorInfo` for each: field 1 a code, field 3 the details, each an `Any`. */
function detailsOf(status: number, infos: readonly ErrorInfo[]): Buffer {
  const details = infos.map(({ reason, metadata }) => {
    const entries = Object.entries(metadata).map(([key, value]) =>
      field(3, field(1, text(key)), field(2, text(value))),
    );
    const info = Buffer.concat([field(1, text(reason)), field(2, text("pubsub.googleapis.com")), ...entries]);
    return field(3, field(1, text("type.googleapis.com/google.rpc.ErrorInfo")), field(2, info));
  });
  return Buffer.concat([Buffer.from([8, status]), ...details]);
}

function field(number: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const length: number[] = [];
  let rest = content.length;
  for (; rest > 127; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), content]);
}

function text(value: string): Buffer {
  return Buffer.from(value);
}

/** The answer to a pull that has these messages, each with its ack id as its body. */
export function pulled(...ackIds: readonly string[]): PlayedAnswer {
  const receivedMessages = ackIds.map((ackId, index) => ({
    ackId,
    message: {
      data: Buffer.from(ackId),
      messageId: String(index),
      publishTime: { seconds: 1_700_000_000, nanos: 5_999_999 },
    },
  }));
  return { body: v1.PullResponse.encode({ receivedMessages }).finish() };
}

/** The answer to a publish. */
export function published(...messageIds: readonly string[]): PlayedAnswer {
  return { body: v1.PublishResponse.encode({ messageIds: [...messageIds] }).finish() };
}

/** What an error of exactly-once delivery says (PS-04). */
export function refusedIds(...maps: readonly Readonly<Record<string, string>>[]): PlayedAnswer {
  return { status: 3, infos: maps.map((metadata) => ({ reason: "EXACTLY_ONCE_ACKID_FAILURE", metadata })) };
}

export const readPull = (call: PlayedCall) => v1.PullRequest.decode(call.request);
export const readAcknowledge = (call: PlayedCall) => v1.AcknowledgeRequest.decode(call.request);
export const readChange = (call: PlayedCall) => v1.ModifyAckDeadlineRequest.decode(call.request);
export const readPublish = (call: PlayedCall) => v1.PublishRequest.decode(call.request);
