import type { v1 } from "@google-cloud/pubsub";
import type { Clock } from "@leasehold/core/driver";
import { createClients, type PubsubClients } from "@leasehold/pubsub";

type AnyClient = v1.SubscriberClient | v1.PublisherClient;
type Call = (request: unknown, options?: CallOptions) => Promise<unknown>;
interface CallOptions {
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly otherArgs?: object;
}

/** How clients of the embedded server are made where a case moves time. */
export interface PlayedClients {
  /** `127.0.0.1:<port>` */
  readonly endpoint: string;
  readonly project: string;
  readonly clock: Clock;
  /** Sent with each call. Default: none. */
  readonly token?: string;
}

/** What drivers and targets call. */
const CALLS: ReadonlySet<string | symbol> = new Set([
  "pull",
  "acknowledge",
  "modifyAckDeadline",
  "publish",
  "getSubscription",
  "createTopic",
  "createSubscription",
  "listTopicSubscriptions",
]);
/** Of a call, ms of real time: so long that a slow machine ends none. */
const PATIENCE_MS = 120_000;
/** As the service, and gRPC itself, say that a call's time is over. */
const DEADLINE_EXCEEDED = 4;

/** The driver's own clients, where the deadline of a call is one of played time. */
export function createPlayedClients({ endpoint, project, clock, token }: PlayedClients): PubsubClients {
  const { poll, control, publisher } = createClients({ apiEndpoint: endpoint, projectId: project, emulatorMode: true });
  // No credentials of the SDK bring a token over a connection without TLS.
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const play = <Client extends AnyClient>(client: Client) => playedClient(client, clock, headers);
  return { poll: play(poll), control: play(control), publisher: play(publisher) };
}

function playedClient<Client extends AnyClient>(client: Client, clock: Clock, headers: object): Client {
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (!CALLS.has(name)) return member.bind(target);
      return withDeadline(clock, headers, member.bind(target) as Call);
    },
  });
}

function withDeadline(clock: Clock, headers: object, call: Call): Call {
  return async (request, { timeout = PATIENCE_MS, signal, ...options } = {}) => {
    const late = new AbortController();
    const timer = clock.setTimer(timeout, () => late.abort());
    const ending = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    try {
      return await call(request, { ...options, timeout: PATIENCE_MS, signal: ending, otherArgs: { headers } });
    } catch (error) {
      if (!late.signal.aborted || signal?.aborted === true) throw error;
      throw Object.assign(new Error("4 DEADLINE_EXCEEDED: Deadline exceeded"), { code: DEADLINE_EXCEEDED });
    } finally {
      timer.cancel();
    }
  };
}

interface Stub {
  waitForReady(deadline: number, callback: (error?: Error) => void): void;
}

/** Awaits that every connection is there: after a break gRPC waits before it tries again, in real time. */
export async function connected(sets: readonly PubsubClients[]): Promise<void> {
  await Promise.all(sets.flatMap(({ poll, control, publisher }) => [poll, control, publisher]).map(ready));
}

async function ready(client: AnyClient): Promise<void> {
  const stub = (await client.initialize()) as unknown as Stub;
  await new Promise<void>((resolve, reject) => {
    stub.waitForReady(Date.now() + PATIENCE_MS, (error) => (error ? reject(error) : resolve()));
  });
}

export async function closeAll(sets: readonly PubsubClients[]): Promise<void> {
  await Promise.all(sets.flatMap(({ poll, control, publisher }) => [poll.close(), control.close(), publisher.close()]));
}
