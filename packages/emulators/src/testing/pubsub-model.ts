/** What a subscription of Pub/Sub may do, as plainly as it can be said: every step looks at everything. */
import assert from "node:assert/strict";

export interface ModelRules {
  readonly isOrdered: boolean;
  readonly isExact: boolean;
  readonly staleAck: "applied" | "ignored";
  /** Absent: no dead-letter policy. */
  readonly maxAttempts?: number;
  /** Absent: no retry policy. */
  readonly backoff?: { readonly minimumMs: number; readonly maximumMs: number };
}

/** Somebody who receives. */
export interface ModelHolder {
  /** 0: without limit. */
  readonly maxMessages: number;
  readonly isStream: boolean;
  isOpen: boolean;
}

interface ModelMessage {
  /** Counts what came in, twins included. */
  readonly number: number;
  readonly id: string;
  readonly key: string;
  state: "ready" | "leased" | "delayed";
  /** When the lease, or the delay, is over. */
  until: number;
  ackId: string | undefined;
  holder: ModelHolder | undefined;
  attempts: number;
  /** The last ack id may still count although its lease is over. */
  ackable: boolean;
}

export interface Model {
  published(id: string, key: string): void;
  delivered(ackId: string, number: number, attempt: number, holder: ModelHolder, leaseMs: number): void;
  /** Leases and delays that are over by now. */
  settleTime(): void;
  /** Answers the ids that exactly-once delivery refuses. */
  acknowledge(ackIds: readonly string[]): ReadonlySet<string>;
  modify(ackIds: readonly string[], seconds: number): ReadonlySet<string>;
  expire(id: string): boolean;
  duplicate(id: string): boolean;
  remove(id: string): boolean;
  ids(): readonly string[];
  counts(): { readonly visible: number; readonly inFlight: number; readonly delayed: number };
  /** How many were moved away by the count. */
  buried(): number;
  /** What somebody new could be given now. */
  free(): readonly string[];
  /** What a stream that is open has a right to now. */
  dueTo(stream: ModelHolder): readonly string[];
}

export function createModel(rules: ModelRules, now: () => number): Model {
  let messages: readonly ModelMessage[] = [];
  let arrived = 0;
  let buried = 0;

  const isKept = ({ key }: ModelMessage): boolean => rules.isOrdered && key !== "";
  const lineOf = (message: ModelMessage): readonly ModelMessage[] =>
    isKept(message) ? messages.filter(({ key }) => key === message.key) : [message];
  const before = (message: ModelMessage): readonly ModelMessage[] => {
    const line = lineOf(message);
    return line.slice(0, line.indexOf(message));
  };
  const behind = (message: ModelMessage): readonly ModelMessage[] => {
    const line = lineOf(message);
    return line.slice(line.indexOf(message) + 1);
  };
  const heldBy = (holder: ModelHolder): number =>
    messages.filter((message) => message.state === "leased" && message.holder === holder).length;
  const take = (message: ModelMessage): void => {
    messages = messages.filter((other) => other !== message);
  };

  function giveBack(message: ModelMessage, ackable: boolean): void {
    message.state = "ready";
    message.ackable = ackable;
    message.attempts++;
    for (const later of behind(message)) {
      if (later.state !== "leased") continue;
      later.state = "ready";
      later.ackable = true;
    }
    if (rules.maxAttempts !== undefined && message.attempts >= rules.maxAttempts) {
      buried++;
      take(message);
    } else if (rules.backoff !== undefined) {
      const { minimumMs, maximumMs } = rules.backoff;
      message.state = "delayed";
      message.until = now() + Math.min(maximumMs, minimumMs * 2 ** (message.attempts - 1));
    }
  }

  /** Newest first, each once. Exactly-once: what is not leased under its id is refused. */
  function change(ackIds: readonly string[], apply: (message: ModelMessage) => void): ReadonlySet<string> {
    const refused = new Set<string>();
    const named = new Set(ackIds);
    for (const message of messages.toReversed()) {
      if (message.ackId === undefined || !named.delete(message.ackId)) continue;
      if (rules.isExact && message.state !== "leased") refused.add(message.ackId);
      else apply(message);
    }
    for (const ackId of named) refused.add(ackId);
    return refused;
  }

  function free(): readonly ModelMessage[] {
    return messages.filter((message) => message.state === "ready" && before(message).length === 0);
  }

  return {
    published(id, key) {
      const fresh = { state: "ready", until: 0, ackId: undefined, holder: undefined, attempts: 0 } as const;
      messages = [...messages, { number: ++arrived, id, key, ackable: false, ...fresh }];
    },
    delivered(ackId, number, attempt, holder, leaseMs) {
      const message = messages.find((one) => one.number === number);
      assert.ok(message, `${number} is delivered and is gone`);
      const { id } = message;
      assert.equal(message.state, "ready", `${id} is delivered and is ${message.state}`);
      assert.ok(messages.every((other) => other.ackId !== ackId));
      for (const earlier of before(message)) {
        assert.equal(earlier.state, "leased", `${id} is delivered before ${earlier.id}`);
        assert.equal(earlier.holder, holder, `${id} is delivered beside the holder of ${earlier.id}`);
      }
      if (holder.isStream) assert.ok(holder.isOpen, `${id} is delivered to a stream that has gone`);
      assert.equal(attempt, rules.maxAttempts === undefined ? 0 : message.attempts + 1);
      Object.assign(message, { state: "leased", until: now() + leaseMs, ackId, holder, ackable: true });
      assert.ok(holder.maxMessages === 0 || heldBy(holder) <= holder.maxMessages);
    },
    settleTime() {
      for (;;) {
        const over = messages.filter(({ state, until }) => state !== "ready" && until <= now());
        const [first] = over.toSorted((one, other) => one.until - other.until);
        if (first === undefined) return;
        if (first.state === "leased") giveBack(first, true);
        else first.state = "ready";
      }
    },
    acknowledge: (ackIds) =>
      change(ackIds, (message) => {
        const isLate = message.state !== "leased";
        if (!isLate || (message.ackable && rules.staleAck === "applied")) take(message);
      }),
    modify: (ackIds, seconds) =>
      change(ackIds, (message) => {
        if (message.state !== "leased") return;
        if (seconds === 0) giveBack(message, false);
        else message.until = now() + seconds * 1_000;
      }),
    expire(id) {
      const message = messages.find((one) => one.id === id);
      if (message === undefined || message.state === "ready") return false;
      if (message.state === "leased") giveBack(message, true);
      else message.state = "ready";
      return true;
    },
    duplicate(id) {
      const message = messages.find((one) => one.id === id);
      if (message === undefined || rules.isExact || isKept(message)) return false;
      this.published(id, message.key);
      return true;
    },
    remove(id) {
      const message = messages.find((one) => one.id === id);
      if (message !== undefined) take(message);
      return message !== undefined;
    },
    ids: () => messages.map(({ id }) => id),
    counts() {
      const of = (wanted: ModelMessage["state"]): number => messages.filter(({ state }) => state === wanted).length;
      return { visible: of("ready"), inFlight: of("leased"), delayed: of("delayed") };
    },
    buried: () => buried,
    free: () => free().map(({ id }) => id),
    dueTo(stream) {
      if (stream.maxMessages > 0 && heldBy(stream) >= stream.maxMessages) return [];
      const follows = messages.filter((message) => {
        const [earlier] = before(message);
        return (
          message.state === "ready" &&
          earlier?.holder === stream &&
          before(message).every(({ state }) => state === "leased")
        );
      });
      return [...free(), ...follows].map(({ id }) => id);
    },
  };
}
