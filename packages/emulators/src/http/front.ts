import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { type Call, createCallBook } from "../calls.ts";
import { type EmulatorClock, steadyClock, wait } from "../clock.ts";
import { createFaultPlan, type Fault, type FaultError } from "../faults.ts";
import { openPort } from "../port.ts";
import type { Emulator, HttpEmulatorOptions } from "../shape.ts";

/** An answer, ready to be written. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
}

/** A call with what the transport knows of it. */
export interface Request extends Call {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Calls back when the client has gone before it was answered. */
  onGone(listener: () => void): void;
}

/** What is behind the front: it knows the service, and nothing of connections, faults and counters. */
export interface Service {
  /** Applies the call. A rejection is a bug of the service and answered with status 500. */
  handle(request: Request): Promise<Reply> | Reply;
  /** How many entries the input of a batch has; 1 for every other call. */
  entries(operation: string, input: () => Call["input"]): number;
  /** The answer to a caller with another access key. */
  refuseKey(): Reply;
  /** How the service says such an error. */
  renderError(error: FaultError): Reply;
  /** The emulator ends: timers and waiting calls end with it. */
  close(): void;
}

/** Idle connections are kept for longer than any client does, so that none is cut just when the client uses it again. */
const KEEP_ALIVE_MS = 120_000;

/** Starts a service on 127.0.0.1. The one shape of all emulators over HTTP is made here. */
export async function startFront(service: Service, options: HttpEmulatorOptions): Promise<Emulator> {
  const clock = options.clock ?? steadyClock;
  const calls = createCallBook();
  const faults = createFaultPlan(options.faults ?? [], options.latencyMs ?? 0);
  const dateHeader = createDateHeader(options.dateSkewMs ?? 0);
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (incoming, response) => {
    const chunks: Buffer[] = [];
    // A client that goes away in the middle of its request has sent none.
    incoming.on("error", () => response.destroy());
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      answer(requestOf(incoming, response, body, service), response).catch((error: unknown) => {
        write(response, { status: 500, headers: { "content-type": "text/plain" }, body: String(error) });
      });
    });
  });
  server.headersTimeout = 0;

  async function answer(request: Request, response: ServerResponse): Promise<void> {
    options.onCall?.(request);
    const ended = calls.begin(request);
    response.once("close", ended);
    const fault = faults.next(request);
    const delayMs = faults.latencyMs + (fault?.delayMs ?? 0);
    if (delayMs > 0) await wait(clock, delayMs);
    if (fault?.drop === "before") return cut(response);
    if (fault?.hang === "before") return;
    const reply = await apply(request, fault);
    await deliver(response, reply, fault, clock);
    ended();
  }

  async function apply(request: Request, fault: Fault | undefined): Promise<Reply> {
    if (fault?.error !== undefined) return service.renderError(fault.error);
    if (options.accessKeyId !== undefined && accessKeyOf(request.headers) !== options.accessKeyId) {
      return service.refuseKey();
    }
    return service.handle(request);
  }

  async function deliver(response: ServerResponse, reply: Reply, fault: Fault | undefined, on: EmulatorClock) {
    if (fault?.answerDelayMs !== undefined) await wait(on, fault.answerDelayMs);
    if (fault?.drop === "after") return cut(response);
    if (fault?.hang === "after") return;
    write(response, reply);
  }

  function write(response: ServerResponse, reply: Reply): void {
    if (response.destroyed) return;
    response.writeHead(reply.status, {
      ...reply.headers,
      date: dateHeader(),
      "content-length": Buffer.byteLength(reply.body),
    });
    response.end(reply.body);
  }

  const port = await openPort(server, options.port ?? 0, () => server.closeAllConnections());
  return {
    endpoint: `http://127.0.0.1:${port.number}`,
    calls,
    faults,
    pause: port.pause,
    resume: port.resume,
    async stop() {
      service.close();
      await port.stop();
    },
  };
}

function requestOf(incoming: IncomingMessage, response: ServerResponse, body: Buffer, service: Service): Request {
  const { headers, method = "GET", url = "/" } = incoming;
  const target = headers["x-amz-target"];
  const operation = typeof target === "string" ? target.slice(target.lastIndexOf(".") + 1) : "";
  let parsed: { readonly input: Call["input"] } | undefined;
  // Parsed when somebody looks, and once: a service that parses for itself shall not pay twice.
  const input = (): Call["input"] => {
    parsed ??= { input: parse(body) };
    return parsed.input;
  };
  return {
    operation,
    get input() {
      return input();
    },
    entries: service.entries(operation, input),
    method,
    url,
    headers,
    body,
    onGone(listener) {
      if (response.destroyed) return listener();
      response.once("close", () => {
        if (!response.writableEnded) listener();
      });
    },
  };
}

function parse(body: Buffer): Call["input"] {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** The key id that the request was signed with, if it was. */
function accessKeyOf(headers: IncomingHttpHeaders): string | undefined {
  return /Credential=([^/,\s]+)\//.exec(headers.authorization ?? "")?.[1];
}

function cut(response: ServerResponse): void {
  response.socket?.destroy();
}

/** The header has whole seconds, so it is made once a second. */
function createDateHeader(skewMs: number): () => string {
  let second = Number.NaN;
  let text = "";
  return () => {
    const ms = Date.now() + skewMs;
    const now = Math.floor(ms / 1_000);
    if (now !== second) {
      second = now;
      text = new Date(ms).toUTCString();
    }
    return text;
  };
}
